"""Compiled evaluation gives the errors of the model itself, to the last bit, or leaves it alone."""

import pytest
import torch

from stable_nalu.training.arithmetic import data
from stable_nalu.training.arithmetic.data import evaluate
from stable_nalu.training.compiled.compiler import compiled_by_torch
from stable_nalu.training.compiled.errors import ROWS, CompiledErrors, portions_of
from tests.ensemble.plans import CORE, six_runs
from tests.training.compiled.test_step import NOT_UNROLLED, as_recorded, session

TEN_INPUTS = ("--input-size", "10", "--subset-ratio", "0.1")


def both(runs, compiler, eval_mode=True):
    """Errors by the code and by the model, with weights of their own for every run."""
    code = CompiledErrors(runs.model, compiler)
    sets = runs.data.evaluation
    plain = evaluate(runs.model, sets, eval_mode=eval_mode)
    return evaluate(runs.model, sets, eval_mode=eval_mode, compiled=code), plain, code


def assert_same(found, expected):
    assert len(found) == len(expected) == 2
    for one, other in zip(found, expected, strict=True):
        assert one.numpy().tobytes() == other.numpy().tobytes()


@pytest.fixture(autouse=True)
def _few_rows(monkeypatch):
    monkeypatch.setattr(data, "EVALUATION_ROWS", 2 * ROWS + 100)


@pytest.mark.parametrize("layer", CORE)
def test_errors_are_those_of_the_model(layer):
    runs = session(*six_runs(layer))
    found, expected, code = both(runs, as_recorded)
    assert_same(found, expected)
    assert code._works == (layer not in NOT_UNROLLED)


@pytest.mark.parametrize("layer", ["ReRegualizedLinearMNAC", "RealNPU", "SignNMRU", "NRU"])
def test_ten_inputs(layer):
    found, expected, code = both(session(*six_runs(layer), *TEN_INPUTS), as_recorded)
    assert_same(found, expected)
    assert code._works


def test_training_mode():
    runs = session(*six_runs("NRU"))
    found, expected, _ = both(runs, as_recorded, eval_mode=False)
    assert_same(found, expected)


def test_a_trial_of_code_draws_nothing():
    """Noise of training mode is drawn as without the code, which does not work for it."""
    states = []
    for code in (None, as_recorded):
        runs = session(
            "--operation",
            "mul",
            "--layer-type",
            "ReRegualizedLinearMNAC",
            "--nmu-noise",
            "--seed",
            "0-1",
        )
        errors = code and CompiledErrors(runs.model, code)
        for portion in portions_of(torch.rand(1, 50, 2), torch.rand(1, 50, 1)) if errors else ():
            errors.squared(portion, (torch.zeros(2, dtype=int),) * 2)
        states.append([one.get_state().tolist() for one in runs.random.generators])
    assert states[0] == states[1]


@pytest.mark.slow
@pytest.mark.parametrize("layer", ["ReRegualizedLinearMNAC", "SignNMRU", "RealNPU", "NALU"])
def test_code_made_by_torch(layer):
    found, expected, code = both(session(*six_runs(layer)), compiled_by_torch)
    assert_same(found, expected)
    assert code._works


def test_weights_of_the_moment_are_used():
    runs = session(*six_runs("ReRegualizedLinearMNAC"))
    _, first, code = both(runs, as_recorded)
    with torch.no_grad():
        for parameter in runs.model.parameters():
            parameter.mul_(0.5)
    sets = runs.data.evaluation
    expected = evaluate(runs.model, sets, eval_mode=True)
    assert_same(evaluate(runs.model, sets, eval_mode=True, compiled=code), expected)
    assert not torch.equal(first[0], expected[0])


def test_a_failing_compiler_is_named_once_and_done_without():
    def broken(graph):
        raise RuntimeError("no compiler\nand so on")

    runs = session(*six_runs("ReRegualizedLinearMNAC"))
    code = CompiledErrors(runs.model, broken)
    sets = runs.data.evaluation
    said = "evaluating without compiled code: RuntimeError: no compiler$"
    with pytest.warns(UserWarning, match=said):
        evaluate(runs.model, sets, eval_mode=True, compiled=code)
    # A second warning would fail: the project's tests turn warnings into errors.
    errors = evaluate(runs.model, sets, eval_mode=True, compiled=code)
    assert_same(errors, evaluate(runs.model, sets, eval_mode=True))


@pytest.mark.parametrize("rows", [1, ROWS - 1, ROWS, ROWS + 1])
def test_portions_hold_all_rows_in_order(rows):
    x, t = torch.randn(3, rows, 2), torch.randn(3, rows, 1)
    portions = portions_of(x, t)
    assert all(a.shape == (3, ROWS, 2) and b.shape == (3, ROWS, 1) for a, b in portions)
    for whole, parts in zip((x, t), zip(*portions, strict=True), strict=True):
        joined = torch.cat(parts, 1)
        assert torch.equal(joined[:, :rows], whole)
        assert (joined[:, rows:] == whole[:, -1:]).all()


def test_a_single_run_is_never_compiled():
    runs = session("--layer-type", "ReRegualizedLinearMNAC", "--operation", "mul", stacked=False)
    found, expected, code = both(runs, as_recorded)
    assert_same(found, expected)
    assert not code._code
