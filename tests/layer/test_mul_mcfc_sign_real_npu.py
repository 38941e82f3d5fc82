"""MulMCFCSignRealNPU: published values, formula, gate of the sign, penalty, tags."""

import math

import pytest
import torch

from stable_nalu.layer import MulMCFCSignRealNPU
from tests.layer_checks import (
    X,
    assert_equals_loop,
    assert_published,
    assert_runs_equal_singles,
    build_published,
    gates,
    observed,
    randomised,
)
from tests.runs import normal


def test_published_values():
    layer = build_published(MulMCFCSignRealNPU, regualizer_gate=1)
    # The cosine of a rounded pi / 2 is not zero: it is published as it comes out.
    assert layer(X)[0].item() == pytest.approx(-5.87e-8, rel=1e-3)
    layer.g.data.fill_(0.0)
    assert_published(
        layer,
        parameters={
            "mcfc.out_gate.fc.weight": [-1],
            "mcfc.out_gate.fc.bias": [0],
            "mcfc.junction.r": [0.971045, -0.238896],
            "bias": [0],
            "g": [0, 0],
        },
        train=[1.34375, 1.11521],
        penalties={"g-NPU": 0, "W": -1.5},
    )
    layer.reset_parameters()
    assert layer.g.tolist() == [0.5, 0.5]
    assert layer.regualizer()["g-NPU"].item() == 0.5


def test_output_is_the_formula():
    layer = randomised(MulMCFCSignRealNPU(3, 2), -1.5, 1.5)
    gate, J = layer.mcfc.out_gate().tolist(), layer.mcfc.junction().tolist()

    def formula(row, o):
        log, phase = layer.bias[o].item(), 0.0
        for i, v in enumerate(row):
            log += gate[o] * J[i][o] * math.log(abs(v))
            phase += J[i][o] * min(max(layer.g[i].item(), 0), 1) * math.pi * (v < 0)
        return math.exp(log) * math.cos(phase)

    assert_equals_loop(layer, formula, normal(6, 3) * 2)


def test_open_gates_multiply_signs():
    layer = build_published(MulMCFCSignRealNPU)
    layer.mcfc.out_gate.fc.bias.data.fill_(50.0)
    layer.g.data.fill_(1.0)
    x = torch.tensor([[3.0, -5.0], [-3.0, -5.0]])
    assert layer(x).flatten().tolist() == pytest.approx([-15, 15])


def test_gate_is_neither_clipped_after_a_step_nor_penalised_by_default():
    layer = MulMCFCSignRealNPU(2, 1)
    layer.g.data = torch.tensor([-0.25, 1.4])
    layer.optimize(torch.tensor(0.0))
    assert layer.g.tolist() == pytest.approx([-0.25, 1.4])
    assert layer.regualizer_terms() == {"g-NPU": None}


def test_gate_penalty_is_on_the_raw_gate():
    layer = MulMCFCSignRealNPU(2, 1, regualizer_gate=1)
    layer.g.data = torch.tensor([-0.25, 1.4])
    assert layer.regualizer()["g-NPU"].item() == pytest.approx((0.25 + 0.4) / 2)


@pytest.mark.parametrize("runs", [(3,), (2, 3)])
def test_runs_equal_single_layers(runs):
    assert_runs_equal_singles(lambda: MulMCFCSignRealNPU(3, 2, regualizer_gate=1), runs)


@pytest.mark.parametrize("robustness", [False, True])
def test_logged_values(robustness):
    layer = MulMCFCSignRealNPU(2, 1)
    layer.robustness_logging = robustness
    layer.g.data = torch.tensor([1.4, 0.8])
    text, scalar = ("always", "verbose") if robustness else ("verbose", "always")
    assert layer.namespace == "MulMCFC"
    assert gates(layer) == {
        "tensor mulmcfc_bias": text,
        "scalar mulmcfc_bias/sparsity_error": scalar,
        "tensor mulmcfcsignrealnpu_g_hat": text,
        "scalar mulmcfcsignrealnpu_g_hat/sparsity_error": scalar,
    }
    gate, _ = observed(layer)["tensor", "mulmcfcsignrealnpu_g_hat"]
    assert gate.tolist() == pytest.approx([1, 0.8])
