import statistics

import pytest

from stable_nalu.functional import mean_over, std_over, var_over
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
