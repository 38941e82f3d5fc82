import statistics

import pytest
import torch

from stable_nalu.functional import lp_norm, mean_over, sparsity_error, std_over, var_over
from stable_nalu.functional.reductions import per_run, trailing
from tests.runs import RUNS, assert_runs_are_independent, indices, normal

REDUCTIONS = [
    (mean_over, statistics.fmean),
    (var_over, statistics.variance),
    (std_over, statistics.stdev),
]


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize("shape", [(5,), (5, 3)])
@pytest.mark.parametrize(("reduction", "expected"), REDUCTIONS)
def test_against_the_standard_library(reduction, expected, shape, runs):
    x = normal(*runs, *shape)
    value = reduction(x, len(shape))
    assert value.shape == runs
    for index in indices(runs):
        one_run = expected(x[index].flatten().tolist())
        assert value[index].item() == pytest.approx(one_run, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize(("reduction", "expected"), REDUCTIONS[:1])
def test_runs_are_independent(reduction, expected):
    x = normal(2, 3, 128, 2).float()
    assert_runs_are_independent(lambda x: reduction(x, 2), (2, 3), x)


@pytest.mark.parametrize("runs", RUNS)
def test_per_run_broadcasts_over_the_dimensions_of_a_run(runs):
    x, value = normal(*runs, 4, 2), normal(*runs)
    product = x * per_run(value, 2)
    for index in indices(runs):
        assert product[index].equal(x[index] * value[index])


def test_trailing_counts_from_the_right():
    assert trailing(0) == ()
    assert trailing(2) == (-2, -1)


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("shape", [(), (4,), (2, 3), (2, 3, 2)])
def test_norms_against_loops(shape, order, runs):
    p = normal(*runs, *shape)
    value = lp_norm(p, order, len(shape))
    assert value.shape == runs
    for index in indices(runs):
        elements = p[index].flatten().tolist()
        expected = sum(abs(v) ** order for v in elements) ** (1 / order)
        assert value[index].item() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("order", [1, 2])
def test_gradient(order):
    assert torch.autograd.gradcheck(
        lambda p: lp_norm(p, order, 2), normal(3, 2, 4).requires_grad_()
    )


def test_norms_of_runs_are_independent():
    assert_runs_are_independent(lambda p: lp_norm(p, 2, 2), (2, 3), normal(2, 3, 4, 5).float())


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize("shape", [(4,), (2, 3)])
def test_sparsity_error_against_loops(shape, runs):
    W = normal(*runs, *shape)
    value = sparsity_error(W, ndim=len(shape))
    assert value.shape == runs
    for index in indices(runs):
        expected = max(min(abs(w), abs(1 - abs(w))) for w in W[index].flatten().tolist())
        assert value[index].item() == expected


def test_worked_values():
    assert sparsity_error(normal(1, 2) * 0).item() == 0
    assert sparsity_error(normal(1, 2) * 0 - 1).item() == 0
    assert sparsity_error(normal(1, 2) * 0 + 2.5).item() == 1.5
