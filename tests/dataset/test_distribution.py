import math

import pytest

from stable_nalu.dataset.distribution import Benford, TruncatedNormal
from stable_nalu.dataset.sample_range import SampleRange


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


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([2, 1], "runs from low to high"),
        ([[2, 6], [-2, -6]], "runs from low to high"),
        ([1], "two numbers"),
        ([1, 2, 3], "two numbers"),
        (["1", "2"], "two numbers"),
        ([True, False], "two numbers"),
        ([math.nan, 1], "must be finite"),
        ([-math.inf, 1], "must be finite"),
        ([-1e308, 1e308], "finite width"),
        ([], "is a list"),
        ("1,2", "is a list"),
        (3, "is a list"),
        ([[1, 2]], "has two intervals"),
        ([[1, 2], [3, 4], [], []], "has two intervals"),
        ([[1, 2], [3, 4], [5, 6]], "third entry"),
        ([[1, 2], [3, 5]], "exactly the same width"),
        ([[0.1, 0.2], [1.1, 1.2]], "exactly the same width"),
        ([[1, 2], 3], "two numbers"),
    ],
)
def test_bad_ranges_are_refused(given, message):
    with pytest.raises(ValueError, match=message):
        SampleRange.parse(given)


@pytest.mark.parametrize("interval", [(1, 100), (10, 200), (10, 10), (100, 100), (10, 10**10)])
def test_benford_bounds(interval):
    with pytest.raises(ValueError, match="power of ten"):
        Benford().check(interval)


def test_truncated_normal_needs_a_width():
    with pytest.raises(ValueError, match="low < high"):
        TruncatedNormal(0.0, 1.0).check((2, 2))
