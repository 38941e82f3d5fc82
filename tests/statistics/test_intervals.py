"""Intervals in closed form and by resampling."""

import math

import numpy as np
import pytest

from stable_nalu.statistics.bootstrap import bootstrap
from stable_nalu.statistics.intervals import student, wilson


@pytest.mark.parametrize(
    ("successes", "runs", "expected"),
    [
        (18, 25, (0.72, 0.524234, 0.857161)),
        (0, 25, (0, 0, 0.133192)),
        (98, 100, (0.98, 0.929988, 0.994498)),
        (25, 25, (1, 0.866808, 1)),
    ],
)
def test_wilson(successes, runs, expected):
    found = wilson(successes, runs)
    assert (found.mean, found.lower, found.upper) == pytest.approx(expected, abs=1e-6)


def test_no_run_has_no_rate():
    assert math.isnan(wilson(0, 0).mean)


@pytest.mark.parametrize(
    ("values", "bounds", "expected"),
    [
        ([12000, 15000, 9000, 22000, 18000, 30000, 14000, 16000], (0, math.inf),
         (17000, 11545.23, 22454.77)),
        ([0.012, 0.034, 0.008, 0.05, 0.021, 0.017, 0.09, 0.03], (0, 0.5),
         (0.03275, 0.010376, 0.055124)),
        ([0.0, 0.5], (0, 0.5), (0.25, 0, 0.5)),
        ([3.0], (0, 9), (3, math.nan, math.nan)),
        ([], (0, 9), (math.nan, math.nan, math.nan)),
    ],
)  # fmt: skip
def test_student(values, bounds, expected):
    found = student(np.array(values, dtype=float), *bounds)
    assert (found.mean, found.lower, found.upper) == pytest.approx(expected, rel=1e-4, nan_ok=True)


def test_bootstrap_of_two_values():
    """Means of resamples are 0, 1 or 2, a quarter, a half, a quarter of the time."""
    found = bootstrap(np.array([0.0, 2.0]), "mean")
    assert (found.mean, found.lower, found.upper) == (1, 0, 2)


def test_bootstrap_of_a_large_sample_is_near_students_interval():
    values = np.random.default_rng(3).normal(5, 2, size=400)
    found, plain = bootstrap(values, "mean"), student(values, 0, math.inf)
    assert found.lower == pytest.approx(plain.lower, abs=0.02)
    assert found.upper == pytest.approx(plain.upper, abs=0.02)


def test_bootstrap_is_seeded_and_leaves_the_global_generator():
    values = np.array([1.0, 5.0, 2.0, 8.0, 9.5, 3.0, 4.0])
    before = np.random.get_state()[1].copy()
    found = [bootstrap(values, "mean", resamples=40, seed=seed) for seed in (4, 4, 5)]
    assert found[0] == found[1] != found[2]
    np.testing.assert_array_equal(np.random.get_state()[1], before)


def test_bootstrap_median_and_small_samples():
    assert bootstrap(np.array([1.0, 2.0, 40.0]), "median").mean == 2
    one, none = bootstrap(np.array([6.0]), "median"), bootstrap(np.array([]), "median")
    assert one.mean == 6
    assert math.isnan(one.lower)
    assert math.isnan(none.mean)
