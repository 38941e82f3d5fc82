"""Dense layers: activations, initial ranges, bias, registration.

GRU, LSTM and RNN cells against torch's own: values, gradients, draws, names.
"""

import copy
import math

import pytest
import torch

from stable_nalu.layer import BasicLayer, GeneralizedCell
from tests.layer_checks import Clipped, LayerChecks, Penalised
from tests.layer_values import OUT, dot, drawn_alike, uniform
from tests.runs import in_runs

SELU_SCALE, SELU_ALPHA = 1.0507009873554805, 1.6732632423543772
# Of each activation, the formula and the bound of initial weights.
ACTIVATIONS = {
    "Tanh": (math.tanh, 5 / 3 * math.sqrt(6 / 7)),
    "Sigmoid": (lambda z: 1 / (1 + math.exp(-z)), math.sqrt(6 / 7)),
    "ReLU6": (lambda z: min(max(z, 0), 6), math.sqrt(6 / 4)),
    "Softsign": (lambda z: z / (1 + abs(z)), math.sqrt(6 / 7)),
    "SELU": (
        lambda z: SELU_SCALE * (z if z > 0 else SELU_ALPHA * (math.exp(z) - 1)),
        math.sqrt(3 / 4),
    ),
    "ELU": (lambda z: z if z > 0 else math.exp(z) - 1, math.sqrt(6 / 4)),
    "ReLU": (lambda z: max(z, 0), math.sqrt(6 / 4)),
    "linear": (lambda z: z, math.sqrt(6 / 7)),
}


class TestBasic(LayerChecks):
    layer = BasicLayer
    options = tuple({"activation": name, "bias": bias} for name in ACTIVATIONS for bias in (0, 1))
    start_options = tuple({"activation": name} for name in ACTIVATIONS)
    refused = (({"activation": "GELU"}, "GELU"),)
    penalised = (Penalised({}, {}, {}),)
    clipped = (Clipped({}, {"W": [[-5.0, 5.0]]}, {"W": [[-5.0, 5.0]]}),)

    def formula(self, layer, row, o):
        shift = 0.0 if layer.bias is None else layer.bias[o].item()
        return ACTIVATIONS[layer.activation][0](dot(row, layer.W[o].tolist()) + shift)

    def start(self, activation):
        bound = ACTIVATIONS[activation][1]
        yield "W", uniform(-bound, bound)
        yield "bias", torch.zeros(OUT)


IN, HIDDEN, BATCH = 3, 4, 5
CELLS = {
    "GRU": (torch.nn.GRUCell, {}),
    "LSTM": (torch.nn.LSTMCell, {}),
    "RNN-tanh": (torch.nn.RNNCell, {"nonlinearity": "tanh"}),
    "RNN-ReLU": (torch.nn.RNNCell, {"nonlinearity": "relu"}),
}


def reference(key):
    """The cell of torch, which draws when it is built and once more."""
    torch_cell, options = CELLS[key]
    cell = torch_cell(IN, HIDDEN, **options)
    cell.reset_parameters()
    return cell


def as_tuple(state):
    return state if isinstance(state, tuple) else (state,)


def inputs(key, *runs):
    x, (h, c) = torch.randn(*runs, BATCH, IN), torch.randn(2, *runs, BATCH, HIDDEN)
    return x, (h, c) if key == "LSTM" else h


@pytest.mark.parametrize("key", CELLS)
def test_draws_steps_and_gradients_are_those_of_torch(key):
    cell, theirs = drawn_alike(
        lambda: GeneralizedCell(IN, HIDDEN, key).cell, lambda: reference(key)
    )
    assert cell.state_dict().keys() == theirs.state_dict().keys()
    pairs = cell.parameters(), theirs.parameters()
    assert all(torch.equal(*pair) for pair in zip(*pairs, strict=True))
    x, state = inputs(key)
    values = []
    for module in (cell, theirs):
        y = as_tuple(module(x, state))
        loss = sum((v.square() * (1 + k)).sum() for k, v in enumerate(y))
        values.append((*y, *torch.autograd.grad(loss, list(module.parameters()))))
    torch.testing.assert_close(*values, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("runs", [(3,), (2, 3)], ids=str)
@pytest.mark.parametrize("key", CELLS)
def test_stacked_runs_are_single_steps(key, runs):
    cells = [GeneralizedCell(IN, HIDDEN, key).cell for _ in range(torch.Size(runs).numel())]
    x, state = inputs(key, *runs)
    together = as_tuple(in_runs(runs, copy.deepcopy(cells))(x, state))
    flat = [v.flatten(0, len(runs) - 1) for v in (x, *as_tuple(state), *together)]
    states, found = flat[1 : 1 + len(together)], flat[1 + len(together) :]
    for run, cell in enumerate(cells):
        own = tuple(s[run] for s in states)
        alone = as_tuple(cell(flat[0][run], own if key == "LSTM" else own[0]))
        torch.testing.assert_close(tuple(y[run] for y in found), alone, rtol=1e-6, atol=1e-6)
