import math

import numpy as np
import pytest
from scipy.stats import truncnorm

from stable_nalu.dataset.distribution import (
    Benford,
    SampleRange,
    TruncatedNormal,
    check_dist_params,
    quantile_function,
)


@pytest.mark.parametrize(
    ("given", "form", "intervals"),
    [
        ([1, 2], "single", ((1, 2),)),
        ((1.1, 1.2), "single", ((1.1, 1.2),)),
        ([0, 0], "single", ((0, 0),)),
        ([[-6, -2], [2, 6]], "mixture", ((-6, -2), (2, 6))),
        ([[-2, -0.1], [0.1, 2], []], "halves", ((-2, -0.1), (0.1, 2))),
    ],
)
def test_forms(given, form, intervals):
    assert SampleRange.parse(given) == SampleRange(form, intervals)


REFUSED = {
    "runs from low to high": ([2, 1], [[2, 6], [-2, -6]]),
    "two numbers": ([1], [1, 2, 3], ["1", "2"], [True, False], [[1, 2], 3]),
    "must be finite": ([math.nan, 1], [-math.inf, 1]),
    "finite width": ([-1e308, 1e308],),
    "is a list": ([], "1,2", 3),
    "has two intervals": ([[1, 2]], [[1, 2], [3, 4], [], []]),
    "third entry": ([[1, 2], [3, 4], [5, 6]],),
    "exactly the same width": ([[1, 2], [3, 5]], [[0.1, 0.2], [1.1, 1.2]]),
}


def test_bad_ranges_are_refused():
    for message, ranges in REFUSED.items():
        for given in ranges:
            with pytest.raises(ValueError, match=message):
                SampleRange.parse(given)


@pytest.mark.parametrize(
    ("check", "arguments", "message"),
    [
        *(
            (Benford().check, interval, "power of ten")
            for interval in ((1, 100), (10, 200), (10, 10), (100, 100), (10, 10**10))
        ),
        (TruncatedNormal(0.0, 1.0).check, (2, 2), "low < high"),
        (check_dist_params, ("truncated-normal", 0.0, 1.0), "needs 4 numbers"),
        (check_dist_params, ("truncated-normal", 0.0, 0.0, 1.0, 1.0), "std of truncated-normal"),
        (check_dist_params, ("exponential",), "exponential needs 1 numbers"),
        (check_dist_params, ("exponential", -1.0), "scale of exponential cannot be -1.0"),
        (check_dist_params, ("benford", 1.0), "benford needs no numbers"),
    ],
)
def test_bad_numbers_of_families_are_refused(check, arguments, message):
    with pytest.raises(ValueError, match=message):
        check(arguments)


PUBLISHED = [
    (-5.0, 10.0, -1.0, 3.0),
    (-15.0, -5.0, -10.0, 3.0),
    (-5.0, 5.0, 0.0, 1.0),
    (5.0, 15.0, 10.0, 1.0),
]
ONE_SIDED = [(1.0, 2.0, 0.0, 1.0), (0.0, 1.0, 0.0, 1.0), (-3.0, -1.0, 2.0, 0.5)]


@pytest.fixture(autouse=True)
def _no_quantiles_of_other_tests():
    quantile_function.cache_clear()
    yield
    quantile_function.cache_clear()


def by_scipy(doubles, low, high, mean, deviation):
    a, b = (low - mean) / deviation, (high - mean) / deviation
    return truncnorm.ppf(doubles, a, b, loc=mean, scale=deviation)


@pytest.mark.parametrize("parameters", [*PUBLISHED, *ONE_SIDED, (-40.0, 0.1, 0.0, 1.0)])
def test_values_are_those_of_scipy(parameters):
    """A double of zero is the lower bound."""
    doubles = np.random.RandomState(3).random_sample((50, 2, 128))
    for given in (doubles, np.array([0.5, 0.0, 0.25])):
        values = quantile_function(*parameters)(given)
        assert np.array_equal(values, by_scipy(given, *parameters))
        assert values.min() >= parameters[0]
        assert values.max() <= parameters[1]
    assert values[1] == pytest.approx(parameters[0], abs=1e-12)
