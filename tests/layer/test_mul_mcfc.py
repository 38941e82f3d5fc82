"""MulMCFC: published values, formula, special inputs, order of initialisation, tags."""

import math

import pytest
import torch

from stable_nalu.layer import MCFullyConnected, MulMCFC
from stable_nalu.training.recorder import observe_modules, observe_regualizers
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
        build_published(MulMCFC),
        parameters={
            "mcfc.out_gate.fc.weight": [-1],
            "mcfc.out_gate.fc.bias": [0],
            "mcfc.junction.r": [0.971045, -0.238896],
            "bias": [0],
        },
        train=[1.34375, 1.11521],
        penalties={"W": -1.5},
        x=X.abs(),
    )


def test_output_is_the_formula():
    layer = randomised(MulMCFC(3, 2), -1.5, 1.5)
    gate, J = layer.mcfc.out_gate().tolist(), layer.mcfc.junction().tolist()

    def formula(row, o):
        log = sum(J[i][o] * math.log(v) for i, v in enumerate(row))
        return math.exp(gate[o] * log + layer.bias[o].item())

    assert_equals_loop(layer, formula, normal(6, 3).abs() * 2)


def test_an_open_gate_multiplies():
    layer = build_published(MulMCFC)
    layer.mcfc.out_gate.fc.bias.data.fill_(50.0)
    assert layer(torch.tensor([[3.0, 5.0]])).item() == pytest.approx(15)


def test_negative_inputs_are_not_numbers_and_zero_gives_zero():
    layer = build_published(MulMCFC)
    assert math.isnan(layer(torch.tensor([[-1.0, 2.0]])).item())
    assert layer(torch.tensor([[0.0, 2.0]])).item() == 0


def test_numbers_are_drawn_by_the_inner_layer_only():
    torch.manual_seed(2)
    inner = MulMCFC(3, 2).mcfc.state_dict()
    torch.manual_seed(2)
    expected = MCFullyConnected(3, 2).state_dict()
    assert all(torch.equal(inner[name], expected[name]) for name in expected)


@pytest.mark.parametrize("runs", [(3,), (2, 3)])
def test_runs_equal_single_layers(runs):
    assert_runs_equal_singles(lambda: MulMCFC(3, 2), runs, signed=False)


@pytest.mark.parametrize("robustness", [False, True])
def test_logged_values(robustness):
    layer = MulMCFC(2, 1)
    layer.robustness_logging = robustness
    text, scalar = ("always", "verbose") if robustness else ("verbose", "always")
    assert gates(layer, X.abs()) == {
        "tensor mulmcfc_bias": text,
        "scalar mulmcfc_bias/sparsity_error": scalar,
    }


def test_tags_of_the_inner_layer_stand_beside_its_own():
    layer = MulMCFC(2, 1)
    tags = {value.tag for value in observe_modules(layer, verbose=False)}
    assert tags == {
        "MulMCFC/mulmcfc_bias/sparsity_error",
        "MCFC/mcfc_junction/sparsity_error",
        "MCFC/mcfc_out_gate/sparsity_error",
    }
    penalties = observe_regualizers(layer, torch.tensor(0.0))
    assert [value.tag for value in penalties] == ["MCFC/regualizer/W"]
