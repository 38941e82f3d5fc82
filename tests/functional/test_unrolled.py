"""Cells unrolled at once give the states and gradients of cells applied step by step."""

import shutil

import pytest
import torch

from stable_nalu import native
from stable_nalu.ensemble import stack_models
from stable_nalu.functional import unrolled
from stable_nalu.layer import GeneralizedCell

STEPS, ROWS, INPUTS = 4, 6, 3
DOUBLE, SINGLE = torch.float64, torch.float32


def cell_of(unit, runs, hidden=2, dtype=DOUBLE):
    cells = [GeneralizedCell(INPUTS, hidden, unit, dtype=dtype) for _ in range(*runs or (1,))]
    for cell in cells:
        cell.reset_parameters()
    return (stack_models(cells) if runs else cells[0]).to(dtype).cell


def sequence(cell, runs, rows=ROWS):
    like = next(cell.parameters())
    x = torch.randn(*runs, rows, STEPS, INPUTS, dtype=like.dtype)
    states = torch.randn(2, *runs, rows, cell.hidden_size, dtype=like.dtype, requires_grad=True)
    return x, states


def step_by_step(cell, x, state):
    for step in range(x.shape[-2]):
        state = cell(x[..., step, :], state)
    return state[0] if isinstance(state, tuple) else state


def learned(unroll, cell, x, states):
    state = tuple(states) if type(cell).__name__ == "LSTMCell" else states[0]
    h = unroll(cell, x, state)
    of_h = torch.cos(torch.arange(h.numel(), dtype=h.dtype)).view(h.shape)
    return h, *torch.autograd.grad((h * of_h).sum(), [states, *cell.parameters()])


def at_once(cell, x, state):
    return cell.unroll(x, state)


@pytest.mark.parametrize("runs", [(), (3,)])
@pytest.mark.parametrize("hidden", [1, 2, 5])
@pytest.mark.parametrize("unit", ["NAC", "LSTM"])
def test_unrolled_cells_learn_as_step_by_step(unit, hidden, runs):
    cell = cell_of(unit, runs, hidden)
    x, states = sequence(cell, runs)
    found = learned(at_once, cell, x, states)
    assert "Unrolled" in type(found[0].grad_fn).__name__
    torch.testing.assert_close(found, learned(step_by_step, cell, x, states))


@pytest.mark.parametrize("unit", ["NAC", "LSTM", "GRU", "NALU"])
def test_what_is_not_learned_that_way_runs_step_by_step(unit):
    cell = cell_of(unit, ())
    x, (h, c) = sequence(cell, ())
    state = (h, c) if unit == "LSTM" else h
    wanted = step_by_step(cell, x, state)
    with torch.no_grad():
        torch.testing.assert_close(cell.unroll(x, state), wanted)
    found = cell.unroll(x.requires_grad_(), state)
    torch.testing.assert_close(found, wanted)
    assert torch.autograd.grad(found.sum(), x)[0].shape == x.shape


@pytest.mark.parametrize(
    "options", [{"regualizer_z": 1.0}, {"nac_weight": "sign"}, {"nac_weight": "independent"}]
)
def test_nacs_of_other_gradients_run_step_by_step(options):
    cell = GeneralizedCell(INPUTS, 2, "NAC", dtype=DOUBLE, **options).cell
    x, states = sequence(cell, ())
    found = learned(at_once, cell, x, states)
    torch.testing.assert_close(found, learned(step_by_step, cell, x, states))
    penalty = cell.op.regualizer_terms()["z"]
    assert (penalty is not None and penalty().item() > 0) == ("regualizer_z" in options)


@pytest.fixture
def _loaded(monkeypatch):
    monkeypatch.setattr(native, "_library", None)
    if not shutil.which("g++"):
        pytest.skip("no C++ compiler")
    assert native.load()


@pytest.mark.usefixtures("_loaded")
@pytest.mark.parametrize("runs", [(), (3,)])
def test_lstms_of_two_states_learn_in_cpp(runs, monkeypatch):
    # As if C++ agreed to the last bit on every processor.
    monkeypatch.setattr(unrolled, "_cpp_agrees", lambda shape: True)
    cell = cell_of("LSTM", runs, dtype=SINGLE)
    x, states = sequence(cell, runs)
    assert unrolled._is_done_by_cpp(x, cell.weight_hh)
    found = learned(at_once, cell, x, states)
    wanted = learned(step_by_step, cell, x, states)
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.usefixtures("_loaded")
def test_other_numbers_are_left_to_torch(monkeypatch):
    x, W = torch.randn(9, STEPS, INPUTS), torch.randn(8, 2)
    asked = [(x.double(), W), (x, torch.randn(12, 3)), (x[..., [0, 2]].mT.contiguous().mT, W)]
    assert not any(unrolled._is_done_by_cpp(*pair) for pair in asked)
    unrolled._cpp_agrees.cache_clear()
    monkeypatch.setattr(unrolled, "_slopes_by_cpp", lambda *step: (step[4] + 1, step[5]))
    assert not unrolled._is_done_by_cpp(x, W)
    unrolled._cpp_agrees.cache_clear()


def test_asking_draws_no_numbers_of_the_run():
    before = torch.get_rng_state()
    if native.load():
        unrolled._cpp_agrees(torch.Size((2, ROWS, STEPS, INPUTS)))
    assert torch.equal(torch.get_rng_state(), before)
