"""RealNPU: published values, formula, both weight penalties, clipping, logged values."""

import math

import pytest
import torch

from stable_nalu.layer import NPULayer, RealNPULayer
from tests.layer_checks import (
    assert_equals_loop,
    assert_published,
    assert_runs_equal_singles,
    build_published,
    gates,
    randomised,
)
from tests.runs import normal

EPS = 2.0**-23


def with_parameters(W_real, g, **options):
    layer = RealNPULayer(2, 1, **options)
    layer.W_real.data = torch.tensor(W_real).unsqueeze(-1)
    layer.g.data = torch.tensor(g)
    return layer


def test_published_values():
    options = {"regualizer_npu_w": 1, "regualizer_gate": 1}
    assert_published(
        build_published(RealNPULayer, npu_Wr_init="xavier-uniform-constrained", **options),
        parameters={"W_real": [-0.411523, -0.36797], "g": [0.5, 0.5]},
        train=[0.658167, 0.872259],
        penalties={"g-NPU": 0.5, "W-NPU": 0.610254},
    )


def test_output_is_the_formula():
    layer = randomised(RealNPULayer(3, 2), -1.5, 1.5)

    def formula(row, o):
        log_magnitude = phase = 0.0
        for i, v in enumerate(row):
            gate = min(max(layer.g[i].item(), 0), 1)
            W = layer.W_real[i, o].item()
            log_magnitude += W * math.log(gate * (abs(v) + EPS) + 1 - gate)
            phase += W * gate * math.pi * (v < 0)
        return math.exp(log_magnitude) * math.cos(phase)

    assert_equals_loop(layer, formula, normal(6, 3) * 2)


def test_equals_an_npu_without_imaginary_weights():
    real, npu = randomised(RealNPULayer(3, 2), -1, 1), NPULayer(3, 2).double()
    npu.W_real.data, npu.g.data = real.W_real.data, real.g.data
    x = normal(6, 3)
    torch.testing.assert_close(real(x), npu(x))


@pytest.mark.parametrize(
    ("kind", "expected"), [("W", (0.3 + 0.75) / 2), ("bias", (0.3 + 0.25) / 2)]
)
def test_weight_penalty_has_two_forms(kind, expected):
    layer = with_parameters([-1.3, 0.25], [0.5, 0.5], regualizer_npu_w=1, realnpu_reg_type=kind)
    assert layer.regualizer().keys() == {"W-NPU"}
    assert layer.regualizer()["W-NPU"].item() == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    ("clip", "W_real", "g"),
    [
        ("none", [-1.5, 1.5], [-0.5, 1.5]),
        ("w", [-1.0, 1.0], [-0.5, 1.5]),
        ("g", [-1.5, 1.5], [0.0, 1.0]),
        ("wg", [-1.0, 1.0], [0.0, 1.0]),
        ("wig", [-1.5, 1.5], [-0.5, 1.5]),
    ],
)
def test_clip_bounds_the_named_parameters_and_wig_none(clip, W_real, g):
    layer = with_parameters([-1.5, 1.5], [-0.5, 1.5], npu_clip=clip)
    layer.optimize(torch.tensor(0.0))
    assert layer.W_real.flatten().tolist() == W_real
    assert layer.g.tolist() == g


@pytest.mark.parametrize("runs", [(3,), (2, 3)])
def test_runs_equal_single_layers(runs):
    options = {"regualizer_npu_w": 1, "regualizer_gate": 1, "realnpu_reg_type": "bias"}
    assert_runs_equal_singles(lambda: RealNPULayer(3, 2, npu_clip="wg", **options), runs)


@pytest.mark.parametrize("robustness", [False, True])
def test_logged_values_swap_their_gates_in_robustness_experiments(robustness):
    layer = RealNPULayer(2, 1)
    layer.robustness_logging = robustness
    text, scalar = ("always", "verbose") if robustness else ("verbose", "always")
    assert gates(layer) == {
        "histogram W_real": "verbose",
        "tensor W_real": text,
        "scalar W_real/sparsity_error": scalar,
        "histogram gate": "verbose",
        "tensor gate": text,
        "scalar gate/sparsity_error": scalar,
    }


def test_unknown_penalty_form_is_an_error():
    with pytest.raises(ValueError, match="realnpu_reg_type"):
        RealNPULayer(2, 1, realnpu_reg_type="w")
