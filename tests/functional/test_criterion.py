import math

import pytest
import torch

from stable_nalu.functional import get_train_criterion, mape, mse, pcc
from tests.runs import RUNS, assert_runs_are_independent, indices, normal


def loop_mse(y, t):
    return sum((a - b) ** 2 for a, b in zip(y, t, strict=True)) / len(y)


def loop_mape(y, t):
    return sum(abs((b - a) / b) for a, b in zip(y, t, strict=True)) / len(y)


def loop_pcc(y, t):
    epsilon, n = 2.0**-52, len(y)

    def standardized(v):
        mean = sum(v) / n
        deviation = math.sqrt(max(sum((a - mean) ** 2 for a in v) / n, epsilon))
        return [(a - mean) / (deviation + epsilon) for a in v]

    pairs = zip(standardized(y), standardized(t), strict=True)
    return 1 - sum(a * b for a, b in pairs) / n


CRITERIA = [(mse, loop_mse), (mape, loop_mape), (pcc, loop_pcc)]


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize(("function", "loop"), CRITERIA)
def test_against_loops(function, loop, runs):
    y, t = normal(*runs, 7, 1), normal(*runs, 7, 1, seed=1)
    value = function(y, t)
    assert value.shape == runs
    for index in indices(runs):
        expected = loop(y[index].flatten().tolist(), t[index].flatten().tolist())
        assert value[index].item() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("function", "loop"), CRITERIA)
def test_runs_are_independent(function, loop):
    assert_runs_are_independent(function, (2, 3), normal(2, 3, 7, 1), normal(2, 3, 7, 1, seed=1))


@pytest.mark.parametrize(("function", "loop"), CRITERIA)
def test_gradient(function, loop):
    y = normal(3, 7, 1).requires_grad_()
    assert torch.autograd.gradcheck(lambda y: function(y, normal(3, 7, 1, seed=1)), y)


def test_pcc_of_a_constant_output():
    """The deviation is bounded below, so a constant output gives 1 and not NaN."""
    y = torch.full((5, 1), 2.0)
    assert pcc(y, normal(5, 1).float()).item() == 1


@pytest.mark.parametrize(("factor", "expected"), [(3.0, 0.0), (-0.5, 2.0)])
def test_pcc_of_a_scaled_target(factor, expected):
    t = normal(50, 1)
    assert pcc(factor * t + 1, t).item() == pytest.approx(expected, abs=1e-12)


def test_pcc_divides_by_the_batch_size_whatever_the_number_of_outputs():
    t = normal(6, 1)
    y = t.expand(6, 4)
    assert pcc(y, t).item() == pytest.approx(1 - math.sqrt(4), rel=1e-12)


def test_mape_of_a_zero_target_is_infinite():
    assert mape(torch.ones(2, 1), torch.tensor([[1.0], [0.0]])).item() == math.inf


@pytest.mark.parametrize(
    ("name", "iteration", "function"),
    [
        ("mse", 0, mse),
        ("mape", 0, mape),
        ("pcc", 10**6, pcc),
        ("pcc-mse", 24_999, pcc),
        ("pcc-mse", 25_000, mse),
    ],
)
def test_get_train_criterion(name, iteration, function):
    assert get_train_criterion(name, iteration, 25_000) is function


def test_unknown_criterion_names_the_choices():
    with pytest.raises(ValueError, match="'rmse' is not one of mse, pcc, mape, pcc-mse"):
        get_train_criterion("rmse", 0, 0)
