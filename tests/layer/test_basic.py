"""Dense layers: activations, initial ranges, bias, registration."""

import math

import pytest
import torch

from stable_nalu.layer import BasicLayer, GeneralizedCell, GeneralizedLayer, entries
from stable_nalu.layer.basic import ACTIVATIONS

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


def test_there_are_eight_activations():
    assert list(ACTIVATIONS) == list(FORMULAS)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("activation", FORMULAS)
def test_output_is_the_formula(activation, bias):
    torch.manual_seed(1)
    layer = BasicLayer(4, 3, activation=activation, bias=bias).double()
    shift = [0.5, -0.25, 4.0] if bias else [0.0, 0.0, 0.0]
    if bias:
        layer.bias.data = torch.tensor(shift, dtype=torch.float64)
    x = 3 * torch.randn(5, 4, dtype=torch.float64)
    y = layer(x)
    for b in range(5):
        for o in range(3):
            z = sum(layer.W[o, i].item() * x[b, i].item() for i in range(4)) + shift[o]
            expected = FORMULAS[activation](z)
            assert y[b, o].item() == pytest.approx(expected, rel=1e-9, abs=1e-13)


@pytest.mark.parametrize("activation", FORMULAS)
def test_draws_one_uniform_fill_and_zeros_the_bias(activation):
    torch.manual_seed(2)
    layer = BasicLayer(4, 3, activation=activation)
    torch.manual_seed(2)
    bound = BOUNDS[activation]
    assert torch.equal(layer.W.data, torch.empty(3, 4).uniform_(-bound, bound))
    assert layer.bias.tolist() == [0, 0, 0]


@pytest.mark.parametrize("activation", ["ReLU", "ReLU6", "ELU"])
def test_initial_values_are_those_of_torch_for_relu(activation):
    torch.manual_seed(2)
    layer = BasicLayer(7, 3, activation=activation)
    torch.manual_seed(2)
    expected = torch.nn.init.kaiming_uniform_(torch.empty(3, 7), nonlinearity="relu")
    assert torch.equal(layer.W.data, expected)


def test_unknown_activation_is_an_error():
    with pytest.raises(ValueError, match="GELU"):
        BasicLayer(2, 1, activation="GELU")


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
