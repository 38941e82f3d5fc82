"""MulMCFCSignINALU: published values, formula, signs."""

import math

import pytest
import torch

from stable_nalu.layer import MulMCFCSignINALU
from tests.layer_checks import (
    X,
    assert_equals_loop,
    assert_published,
    assert_runs_equal_singles,
    build_published,
    gates,
    randomised,
)
from tests.runs import normal


def test_published_values():
    assert_published(
        build_published(MulMCFCSignINALU),
        parameters={
            "mcfc.out_gate.fc.weight": [-1],
            "mcfc.out_gate.fc.bias": [0],
            "mcfc.junction.r": [0.971045, -0.238896],
            "bias": [0],
        },
        train=[-1.34375, 1.11521],
        penalties={"W": -1.5},
    )


def test_output_is_the_formula():
    layer = randomised(MulMCFCSignINALU(3, 2), -1.5, 1.5)
    gate, J = layer.mcfc.out_gate().tolist(), layer.mcfc.junction().tolist()

    def formula(row, o):
        log, sign = layer.bias[o].item(), 1.0
        for i, v in enumerate(row):
            log += gate[o] * J[i][o] * math.log(abs(v))
            sign *= J[i][o] * math.copysign(1, v) + 1 - J[i][o]
        return math.exp(log) * sign

    assert_equals_loop(layer, formula, normal(6, 3) * 2)


def test_one_output_multiplies_signs():
    layer = build_published(MulMCFCSignINALU)
    layer.mcfc.out_gate.fc.bias.data.fill_(50.0)
    x = torch.tensor([[3.0, -5.0], [-3.0, -5.0]])
    assert layer(x).flatten().tolist() == pytest.approx([-15, 15])


@pytest.mark.parametrize("runs", [(3,), (2, 3)])
def test_runs_equal_single_layers(runs):
    assert_runs_equal_singles(lambda: MulMCFCSignINALU(3, 2), runs)


def test_namespace_and_logged_values_are_those_of_mul_mcfc():
    layer = MulMCFCSignINALU(2, 1)
    assert layer.namespace == "MulMCFC"
    assert gates(layer, X) == {
        "tensor mulmcfc_bias": "verbose",
        "scalar mulmcfc_bias/sparsity_error": "always",
    }
