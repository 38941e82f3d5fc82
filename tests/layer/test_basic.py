"""Dense layers: activations, initial ranges, bias, registration."""

import math

import pytest
import torch

from stable_nalu.layer import BasicLayer, GeneralizedCell, GeneralizedLayer, entries
from stable_nalu.layer.basic import ACTIVATIONS
from tests.layer_checks import LayerChecks
from tests.layer_values import OUT, dot, drawn_alike, uniform

SELU_SCALE, SELU_ALPHA = 1.0507009873554805, 1.6732632423543772
FORMULAS = {
    "Tanh": math.tanh,
    "Sigmoid": lambda z: 1 / (1 + math.exp(-z)),
    "ReLU6": lambda z: min(max(z, 0), 6),
    "Softsign": lambda z: z / (1 + abs(z)),
    "SELU": lambda z: SELU_SCALE * (z if z > 0 else SELU_ALPHA * (math.exp(z) - 1)),
    "ELU": lambda z: z if z > 0 else math.exp(z) - 1,
    "ReLU": lambda z: max(z, 0),
    "linear": lambda z: z,
}
BOUNDS = {
    "Tanh": 5 / 3 * math.sqrt(6 / 7),
    "Sigmoid": math.sqrt(6 / 7),
    "ReLU6": math.sqrt(6 / 4),
    "Softsign": math.sqrt(6 / 7),
    "SELU": math.sqrt(3 / 4),
    "ELU": math.sqrt(6 / 4),
    "ReLU": math.sqrt(6 / 4),
    "linear": math.sqrt(6 / 7),
}


class TestBasic(LayerChecks):
    layer = BasicLayer
    options = tuple({"activation": name, "bias": bias} for name in FORMULAS for bias in (0, 1))
    start_options = tuple({"activation": name} for name in FORMULAS)
    refused = (({"activation": "GELU"}, "GELU"),)

    def formula(self, layer, row, o):
        shift = 0.0 if layer.bias is None else layer.bias[o].item()
        return FORMULAS[layer.activation](dot(row, layer.W[o].tolist()) + shift)

    def start(self, activation):
        yield "W", uniform(-BOUNDS[activation], BOUNDS[activation])
        yield "bias", torch.zeros(OUT)


def test_there_are_eight_activations():
    assert list(ACTIVATIONS) == list(FORMULAS)


@pytest.mark.parametrize("activation", ["ReLU", "ReLU6", "ELU"])
def test_initial_values_are_those_of_torch_for_relu(activation):
    layer, expected = drawn_alike(
        lambda: BasicLayer(7, 3, activation=activation),
        lambda: torch.nn.init.kaiming_uniform_(torch.empty(3, 7), nonlinearity="relu"),
    )
    assert torch.equal(layer.W.data, expected)


@pytest.mark.parametrize("activation", FORMULAS)
def test_activations_are_layer_keys_without_cells(activation):
    assert entries()[activation].cell is None
    layer = GeneralizedLayer(2, 1, activation, bias=False).layer
    assert layer.activation == activation
    assert layer.bias is None
    assert layer.namespace == "basic"


def test_rnn_linear_is_a_cell_and_no_layer():
    assert "RNN-linear" in GeneralizedCell.unit_names()
    assert "RNN-linear" not in GeneralizedLayer.unit_names()
    cell = GeneralizedCell(2, 3, "RNN-linear").cell
    x, h = torch.randn(4, 2), torch.randn(4, 3)
    expected = torch.cat((x, h), -1) @ cell.op.W.T
    torch.testing.assert_close(cell(x, h), expected)
    assert cell.op.activation == "linear"


def test_logs_the_weight_only_and_has_no_penalty():
    layer = BasicLayer(2, 1)
    assert [o.name for o in layer.observations()] == ["W", "W", "W/sparsity_error"]
    assert layer.regualizer_terms() == {}
    assert layer.parameter_bounds() == {}
