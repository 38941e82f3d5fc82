"""GRU, LSTM and RNN cells against torch's own: values, gradients, draws, names."""

import pytest
import torch

from stable_nalu.abstract import stack_models
from stable_nalu.layer import (
    GeneralizedCell,
    GeneralizedLayer,
    GRUCell,
    LSTMCell,
    RNNReLUCell,
    RNNTanhCell,
)

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
    cells = [cell for cell, _ in pairs]
    for width in reversed(runs):
        cells = [stack_models(cells[i : i + width]) for i in range(0, len(cells), width)]
    x, state = inputs(key, runs)
    y = [v.reshape(count, BATCH, HIDDEN) for v in as_tuple(cells[0](x, state))]
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


@pytest.mark.parametrize("key", CELLS)
def test_is_a_cell_and_not_a_layer(key):
    assert key in GeneralizedCell.unit_names()
    assert key not in GeneralizedLayer.unit_names()
    with pytest.raises(ValueError, match=f"'{key}' is not a layer"):
        GeneralizedLayer(IN, HIDDEN, key)
