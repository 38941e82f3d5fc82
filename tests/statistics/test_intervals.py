"""Intervals in closed form and by resampling."""

import math
from statistics import NormalDist

import numpy as np
import pytest
from scipy.stats import sem, t

from stable_nalu.statistics.intervals import (
    Estimate,
    bootstrap,
    difference,
    holm,
    paired_difference,
    sign_test,
    student,
    wilson,
)


def test_wilson_has_the_digits_of_its_formula():
    """(p + z²/2n ± z sqrt(p(1-p)/n + z²/4n²)) / (1 + z²/n), at every count of some numbers."""
    z = NormalDist().inv_cdf(0.975)
    for n in (1, 2, 25, 100, 225):
        for k in range(n + 1):
            p, scale = k / n, 1 + z * z / n
            center = (p + z * z / (2 * n)) / scale
            half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / scale
            found = wilson(k, n)
            assert (found.lower, found.upper) == pytest.approx(
                (max(center - half, 0), min(center + half, 1)), rel=1e-12, abs=1e-15
            )
            assert found.lower == 0 or k > 0
            assert found.upper == 1 or k < n
    assert math.isnan(wilson(0, 0).mean)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ((56, 70), (48, 80), (0.2, 0.0524, 0.3339)),
        ((9, 10), (3, 10), (0.6, 0.1705, 0.8090)),
        ((6, 7), (2, 7), (0.5714, 0.0582, 0.8062)),
        ((5, 56), (0, 29), (0.0893, -0.0381, 0.1926)),
        ((0, 10), (0, 20), (0, -0.1611, 0.2775)),
        ((0, 10), (0, 10), (0, -0.2775, 0.2775)),
        ((10, 10), (0, 20), (1, 0.6791, 1)),
        ((10, 10), (0, 10), (1, 0.6075, 1)),
    ],
)
def test_differences_of_rates_are_those_of_newcombe(one, other, expected):
    """Newcombe (1998), comparison of eleven methods, Table II, method 10."""
    found = difference(wilson(*one), wilson(*other))
    assert (found.mean, found.lower, found.upper) == pytest.approx(expected, abs=5e-5)
    swapped = difference(wilson(*other), wilson(*one))
    assert (swapped.lower, swapped.upper) == pytest.approx((-found.upper, -found.lower))


def test_the_difference_of_two_means_has_the_ends_of_mover():
    """Lower: sqrt(3² + 4²) below 5 - 2, from 5's lower and 2's upper end; upper: sqrt(5² + 12²)."""
    found = difference(Estimate(5, 2, 10), Estimate(2, -10, 6))
    assert (found.mean, found.lower, found.upper) == pytest.approx((3, -2, 16))


def test_paired_differences_are_those_of_newcombe():
    """Newcombe (1998), paired data, method 10: the cells 36, 12, 2, 0."""
    cells = {(True, True): 36, (True, False): 12, (False, True): 2}
    pairs = [pair for pair, count in cells.items() for _ in range(count)]
    found = paired_difference(pairs)
    assert (found.mean, found.lower, found.upper) == pytest.approx((0.2, 0.0569, 0.3404), abs=5e-5)
    swapped = paired_difference([(b, a) for a, b in pairs])
    assert (swapped.lower, swapped.upper) == pytest.approx((-found.upper, -found.lower))


def test_correlated_pairs_have_a_narrower_interval_by_the_formula():
    """With a continuity correction of n/2 where pairs agree more than by chance, none elsewhere."""
    for a, b, c, d in ((20, 6, 2, 12), (2, 9, 8, 1)):
        n, p, q = a + b + c + d, wilson(a + b, a + b + c + d), wilson(a + c, a + b + c + d)
        excess = a * d - b * c
        excess = max(excess - n / 2, 0) if excess > 0 else excess
        phi = excess / math.sqrt((a + b) * (c + d) * (a + c) * (b + d))
        ends = []
        for x, y in ((p.mean - p.lower, q.upper - q.mean), (p.upper - p.mean, q.mean - q.lower)):
            ends.append(math.sqrt(x * x - 2 * phi * x * y + y * y))
        outcomes = ((True, True), (True, False), (False, True), (False, False))
        pairs = [one for one, k in zip(outcomes, (a, b, c, d), strict=True) for _ in range(k)]
        found = paired_difference(pairs)
        expected = (found.mean - ends[0], found.mean + ends[1])
        assert (found.lower, found.upper) == pytest.approx(expected, rel=1e-12)
        assert found.mean == pytest.approx((b - c) / n)


def test_student_and_the_bootstrap_have_the_digits_of_their_formulas():
    for seed, n in enumerate((2, 3, 25, 100)):
        values = np.random.default_rng(seed).gamma(2.0, 1e4, size=n)
        found = student(values)
        half = t.ppf(0.975, n - 1) * np.std(values, ddof=1) / math.sqrt(n)
        ends = (values.mean() - half, values.mean() + half)
        assert (found.lower, found.upper) == pytest.approx(ends, rel=1e-13)
        assert t.interval(0.95, n - 1, found.mean, sem(values)) == pytest.approx(ends, rel=1e-13)
        for name, reduce in (("mean", np.mean), ("median", np.median)):
            draws = np.random.default_rng(7).integers(n, size=(500, n))
            expected = np.quantile(reduce(values[draws], axis=1), [0.025, 0.975])
            resampled = bootstrap(values, name, resamples=500, seed=7)
            assert (resampled.lower, resampled.upper) == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize(
    ("values", "bounds", "expected"),
    [
        ([0.0, 0.5], (0, 0.5), (0.25, 0, 0.5)),
        ([3.0], (0, 9), (3, math.nan, math.nan)),
        ([], (0, 9), (math.nan, math.nan, math.nan)),
    ],
)
def test_student(values, bounds, expected):
    found = student(np.array(values, dtype=float), *bounds)
    assert (found.mean, found.lower, found.upper) == pytest.approx(expected, rel=1e-4, nan_ok=True)


def test_bootstrap_is_seeded_and_leaves_the_global_generator():
    values = np.array([1.0, 5.0, 2.0, 8.0, 9.5, 3.0, 4.0])
    before = np.random.get_state()[1].copy()
    found = [bootstrap(values, "mean", resamples=40, seed=seed) for seed in (4, 4, 5)]
    assert found[0] == found[1] != found[2]
    np.testing.assert_array_equal(np.random.get_state()[1], before)


def test_bootstrap_of_small_samples():
    """Means of resamples of two are 0, 1 or 2, a quarter, a half, a quarter of the time."""
    found = bootstrap(np.array([0.0, 2.0]), "mean")
    assert (found.mean, found.lower, found.upper) == (1, 0, 2)
    assert bootstrap(np.array([1.0, 2.0, 40.0]), "median").mean == 2
    one, none = bootstrap(np.array([6.0]), "median"), bootstrap(np.array([]), "median")
    assert one.mean == 6
    assert math.isnan(one.lower)
    assert math.isnan(none.mean)


def test_the_sign_test_is_that_of_fair_coins():
    assert sign_test(26, 24) == pytest.approx(1 - math.comb(50, 25) / 2**50)
    assert sign_test(3, 0) == sign_test(0, 3) == 0.25
    assert sign_test(0, 0) == 1


def test_p_values_are_adjusted_by_holms_method():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.9, 0.4]) == pytest.approx([0.9, 0.8])
    assert holm([]) == []
