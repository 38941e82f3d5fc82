"""Dense layers: activations, initial ranges, bias, registration.

GRU, LSTM and RNN cells against torch's own: values, gradients, draws, names.
"""

import math

import pytest
import torch

from stable_nalu.layer import (
    BasicLayer,
    GeneralizedCell,
    GRUCell,
    LSTMCell,
    RNNReLUCell,
    RNNTanhCell,
)
from stable_nalu.options.kinds import buildable_layers, cell_names
from tests.layer_checks import Clipped, LayerChecks, Penalised
from tests.layer_values import OUT, dot, uniform
from tests.runs import in_runs

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
    penalised = (Penalised({}, {}, {}),)
    clipped = (Clipped({}, {"W": [[-5.0, 5.0]]}, {"W": [[-5.0, 5.0]]}),)

    def formula(self, layer, row, o):
        shift = 0.0 if layer.bias is None else layer.bias[o].item()
        return FORMULAS[layer.activation](dot(row, layer.W[o].tolist()) + shift)

    def start(self, activation):
        yield "W", uniform(-BOUNDS[activation], BOUNDS[activation])
        yield "bias", torch.zeros(OUT)


def test_rnn_linear_is_a_cell_and_no_layer():
    assert "RNN-linear" in cell_names()
    assert "RNN-linear" not in buildable_layers()
    cell = GeneralizedCell(2, 3, "RNN-linear").cell
    x, h = torch.randn(4, 2), torch.randn(4, 3)
    expected = torch.cat((x, h), -1) @ cell.op.W.T
    torch.testing.assert_close(cell(x, h), expected)
    assert cell.op.activation == "linear"


IN, HIDDEN, BATCH = 3, 4, 5
CELLS = {
    "GRU": (GRUCell, torch.nn.GRUCell, {}),
    "LSTM": (LSTMCell, torch.nn.LSTMCell, {}),
    "RNN-tanh": (RNNTanhCell, torch.nn.RNNCell, {"nonlinearity": "tanh"}),
    "RNN-ReLU": (RNNReLUCell, torch.nn.RNNCell, {"nonlinearity": "relu"}),
}
TOLERANCE = {"rtol": 1e-6, "atol": 1e-6}


def build_pair(key, seed=0):
    cell_class, reference_class, options = CELLS[key]
    torch.manual_seed(seed)
    cell = cell_class(IN, HIDDEN)
    reference = reference_class(IN, HIDDEN, **options)
    reference.load_state_dict(cell.state_dict())
    return cell, reference


def inputs(key, runs=()):
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(*runs, BATCH, IN, generator=generator)
    h, c = torch.randn(2, *runs, BATCH, HIDDEN, generator=generator)
    return x, (h, c) if key == "LSTM" else h


def as_tuple(state):
    return state if isinstance(state, tuple) else (state,)


@pytest.mark.parametrize("key", CELLS)
def test_a_step_and_its_gradients_are_those_of_torch(key):
    cell, reference = build_pair(key)
    x, state = inputs(key)
    values = []
    for module in (cell, reference):
        y = as_tuple(module(x, state))
        loss = sum((v.square() * (1 + k)).sum() for k, v in enumerate(y))
        values.append((*y, *torch.autograd.grad(loss, list(module.parameters()))))
    for actual, expected in zip(*values, strict=True):
        torch.testing.assert_close(actual, expected, rtol=1e-5, atol=1e-5)
    for actual, expected in zip(as_tuple(cell(x, state)), values[1], strict=False):
        torch.testing.assert_close(actual, expected, **TOLERANCE)


@pytest.mark.parametrize("runs", [(3,), (2, 3)], ids=str)
@pytest.mark.parametrize("key", CELLS)
def test_stacked_runs_are_single_steps_of_torch(key, runs):
    count = torch.Size(runs).numel()
    pairs = [build_pair(key, seed) for seed in range(count)]
    cell = in_runs(runs, [cell for cell, _ in pairs])
    x, state = inputs(key, runs)
    y = [v.reshape(count, BATCH, HIDDEN) for v in as_tuple(cell(x, state))]
    flat_x = x.reshape(count, BATCH, IN)
    flat_state = [s.reshape(count, BATCH, HIDDEN) for s in as_tuple(state)]
    for run, (_, reference) in enumerate(pairs):
        before = tuple(s[run] for s in flat_state)
        expected = reference(flat_x[run], before if key == "LSTM" else before[0])
        for actual, wanted in zip(y, as_tuple(expected), strict=True):
            torch.testing.assert_close(actual[run], wanted, **TOLERANCE)


@pytest.mark.parametrize("key", CELLS)
def test_draws_in_the_constructor_and_at_every_reset_as_torch_does(key):
    _, reference_class, options = CELLS[key]
    torch.manual_seed(2)
    cell = GeneralizedCell(IN, HIDDEN, key).cell
    state = torch.get_rng_state()
    torch.manual_seed(2)
    reference = reference_class(IN, HIDDEN, **options)
    first = reference.weight_ih.clone()
    reference.reset_parameters()
    assert torch.equal(state, torch.get_rng_state())
    assert not torch.equal(first, reference.weight_ih)
    expected = dict(reference.named_parameters())
    assert [n for n, _ in cell.named_parameters()] == list(expected)
    for name, parameter in cell.named_parameters():
        assert torch.equal(parameter, expected[name])


@pytest.mark.parametrize("key", CELLS)
def test_options_of_other_layers_are_not_read(key):
    cell = GeneralizedCell(IN, HIDDEN, key, name="recurrent_layer", nac_oob="clip")
    assert cell.cell.namespace == "recurrent_layer"
    assert cell.regualizer() == {}
    with pytest.raises(TypeError, match="no_such_option"):
        GeneralizedCell(IN, HIDDEN, key, no_such_option=1)
