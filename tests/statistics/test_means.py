"""Fits of means: those of the papers step by step, exact ones, densities, and tests of both.

`published_fits.json` holds samples with the fits that R 4.2 and its package bbmle make of the
same densities: well-behaved ones, ones that start over from better parameters, walks cut off at a
bound or after a hundred steps, flat ones. An end without a figure is one that R has none for.
"""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy import optimize, stats

from stable_nalu.statistics.intervals import student
from stable_nalu.statistics.means import (
    NotFiniteError,
    beta_objective,
    beta_p_value,
    exact_fit,
    gamma_objective,
    gamma_p_value,
    gamma_shape,
    mean_sparsity,
    minimize_in_box,
    solved_at,
    start_v,
)

FIXTURE = Path(__file__).parent / "fixtures" / "published_fits.json"
CASES = json.loads(FIXTURE.read_text(encoding="utf-8"))
ESTIMATE = {"gamma": solved_at, "beta": mean_sparsity}


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c['density']}-{len(c['values'])}")
def test_fits_agree_with_the_reference(case):
    found = ESTIMATE[case["density"]](np.array(case["values"], dtype=float))
    for name in ("mean", "nuisance", "lower", "upper"):
        expected = math.nan if case[name] is None else case[name]
        assert getattr(found, name) == pytest.approx(expected, rel=1e-4, nan_ok=True), name


@pytest.mark.parametrize("steps", [[], [7000.0], [5000.0, 5000.0, 5000.0], [0.0, 1000.0, 3000.0]])
@pytest.mark.parametrize("fit", ["published", "frozen", "profile"])
def test_steps_without_a_gamma_fit_have_students_interval(steps, fit):
    values = np.array(steps)
    found, plain = solved_at(values, fit), student(values, 0, math.inf)
    expected = (plain.mean, plain.lower, plain.upper)
    assert (found.mean, found.lower, found.upper) == pytest.approx(expected, nan_ok=True)
    variance = np.var(values, ddof=1) if len(values) > 1 else math.nan
    assert found.nuisance == pytest.approx(variance, nan_ok=True)


@pytest.mark.parametrize("fit", ["compat", "scaled"])
@pytest.mark.parametrize("errors", [[], [0.03], [0.0, 0.0], [0.7, 0.9, 0.5], [1e-12, 2e-11]])
def test_errors_without_a_beta_fit_have_students_interval(errors, fit):
    values = np.clip(np.array(errors), 1e-16, 0.5 - 1e-16)
    found, plain = mean_sparsity(np.array(errors), fit), student(values, 0, 0.5)
    expected = (plain.mean, plain.lower, plain.upper)
    assert (found.mean, found.lower, found.upper) == pytest.approx(expected, nan_ok=True)


def test_tiny_errors_are_not_halved_and_others_are():
    """Published quirk: the beta's mean is twice what is printed, unless the fit fails."""
    spread = np.array([0.5, 0.8, 1.0, 1.2, 1.5])
    assert mean_sparsity(1e-6 * spread).mean == pytest.approx(1e-6, rel=1e-12)
    assert mean_sparsity(1e-2 * spread).mean == pytest.approx(0.5e-2, rel=2e-2)


def test_a_tiny_mean_keeps_the_v_of_the_sample_and_an_interval_above_zero():
    values = np.array([1e-7, 9e-6, 2e-6])
    m, variance = values.mean(), values.var(ddof=1)
    found = mean_sparsity(values)
    assert found.nuisance == pytest.approx(m * (0.5 - m) / variance - 1)
    assert found.lower == 0
    assert found.upper > found.mean


def test_a_value_that_is_not_finite_ends_the_search():
    with pytest.raises(NotFiniteError):
        minimize_in_box(lambda p: np.where(p[0] < 1, math.inf, p[0]), (2.0,), [(0, 9)])


def test_steps_around_a_million_are_not_moved_from_the_sample_mean():
    """One gradient step from the start, and no further: parameters are not scaled."""
    steps = np.array([8e5, 9e5, 1.1e6, 1.6e6])
    mean, variance = steps.mean(), steps.var(ddof=1)

    def negative(m):
        return -stats.gamma.logpdf(steps, m * m / variance, scale=variance / m).sum()

    found, _ = minimize_in_box(
        gamma_objective(steps), (mean, variance), [(0, math.inf), (1e-5, math.inf)]
    )
    slope = (negative(mean + 10) - negative(mean - 10)) / 20
    assert abs(slope) > 1e-8
    assert found[0] - mean == pytest.approx(-slope, rel=1e-2)
    assert found[1] == pytest.approx(variance, rel=1e-12)


STEPS = np.array([12000.0, 15000, 9000, 22000, 18000, 30000, 14000, 16000])
ERRORS = np.array([0.012, 0.034, 0.008, 0.05, 0.021, 0.017, 0.09, 0.03])
HALF_CHI = stats.chi2.ppf(0.95, 1) / 2


@pytest.mark.parametrize(
    ("fit", "expected"),
    [
        ("profile", (17000, 13151.4, 22508.7, 34101851)),
        ("frozen", (17400.8, 13237.0, 21175.1, 42571428.6)),
    ],
)
def test_the_likeliest_gamma_has_the_arithmetic_mean_or_the_sample_variance(fit, expected):
    assert tuple(solved_at(STEPS, fit)) == pytest.approx(expected, rel=1e-5)


def test_the_ends_of_the_profile_interval_are_where_the_likelihood_has_dropped():
    """Independent form: shape by scipy's own fit, likelihood by scipy's density."""
    found = solved_at(STEPS, "profile")

    def profile(mean):
        def negative(shape):
            return -stats.gamma.logpdf(STEPS, shape, scale=mean / shape).sum()

        return optimize.minimize_scalar(negative, bounds=(0.1, 100), method="bounded").fun

    shape, _, scale = stats.gamma.fit(STEPS, floc=0)
    assert shape * scale == pytest.approx(found.mean, rel=1e-5)
    best = -stats.gamma.logpdf(STEPS, shape, scale=scale).sum()
    for end in (found.lower, found.upper):
        assert profile(end) - best == pytest.approx(HALF_CHI, rel=1e-4)


def test_beta_of_undoubled_errors_has_half_the_mean():
    found = exact_fit(beta_objective(ERRORS), (ERRORS.mean(), start_v(ERRORS)), 0.5)
    assert start_v(ERRORS) == pytest.approx(20.3657, rel=1e-5)
    assert found.mean == pytest.approx(0.0164027, rel=1e-5)
    assert (found.lower, found.upper) == pytest.approx((0.0099863, 0.0292195), rel=1e-4)
    assert found.nuisance == pytest.approx(59.742, rel=1e-4)


def test_the_scaled_sparsity_is_scipys_beta_fit_of_doubled_errors():
    found = mean_sparsity(ERRORS, "scaled")
    a, b, _, _ = stats.beta.fit(2 * ERRORS, floc=0, fscale=1)
    assert found.mean == pytest.approx(a / (a + b) / 2, rel=1e-3)
    assert found.nuisance == pytest.approx(a + b, rel=1e-3)
    assert found.lower < ERRORS.mean() < found.upper
    # The published minimiser stops early: close to the exact half, and not the optimum.
    assert mean_sparsity(ERRORS).mean == pytest.approx(0.0164027, rel=0.02)


def test_an_interval_that_the_likelihood_does_not_close_ends_at_the_bound():
    def falling_to_the_right(p):
        return -np.log(p[0])

    found = exact_fit(falling_to_the_right, (0.2, 1.0), 0.5)
    assert found.mean == pytest.approx(0.5, abs=1e-4)
    assert found.upper == 0.5
    assert found.lower == pytest.approx(0.5 * math.exp(-HALF_CHI), rel=1e-3)


def test_the_shape_is_that_of_largest_likelihood():
    draw = np.random.default_rng(1)
    for shape in (0.3, 1.0, 7.0, 400.0):
        values = draw.gamma(shape, 2e4, size=(3, 40))
        found = gamma_shape(values)
        for row, one in zip(values, found, strict=True):
            assert one == pytest.approx(stats.gamma.fit(row, floc=0)[0], rel=1e-6)


def test_p_is_uniform_for_steps_of_a_gamma_density():
    draw = np.random.default_rng(2)
    p = [gamma_p_value(draw.gamma(3.0, 1e5, size=30), samples=200) for _ in range(200)]
    shares = [np.mean(np.array(p) <= level) for level in (0.1, 0.5, 0.9)]
    np.testing.assert_allclose(shares, (0.1, 0.5, 0.9), atol=0.09)


def test_errors_of_a_beta_density_and_others():
    draw = np.random.default_rng(4)
    assert beta_p_value(draw.beta(2.0, 9.0, 60) / 2) > 0.05
    assert beta_p_value(np.concatenate([np.full(30, 0.1), np.full(30, 0.4)])) < 0.01
