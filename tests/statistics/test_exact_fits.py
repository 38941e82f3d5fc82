"""Maximum-likelihood fits against values worked out from the likelihood, and against scipy."""

import math

import numpy as np
import pytest
from scipy import optimize, stats

from stable_nalu.statistics.means import (
    beta_objective,
    exact_fit,
    mean_sparsity,
    solved_at,
    start_v,
)

STEPS = np.array([12000.0, 15000, 9000, 22000, 18000, 30000, 14000, 16000])
ERRORS = np.array([0.012, 0.034, 0.008, 0.05, 0.021, 0.017, 0.09, 0.03])
HALF_CHI = stats.chi2.ppf(0.95, 1) / 2


def test_gamma_by_maximum_likelihood_has_the_arithmetic_mean():
    found = solved_at(STEPS, "profile")
    assert found.mean == pytest.approx(17000, rel=1e-6)
    assert found.nuisance == pytest.approx(34101851, rel=1e-5)
    assert (found.lower, found.upper) == pytest.approx((13151.4, 22508.7), rel=1e-5)


def test_gamma_with_the_sample_variance():
    found = solved_at(STEPS, "frozen")
    assert found.mean == pytest.approx(17400.8, rel=1e-5)
    assert found.nuisance == pytest.approx(42571428.6, rel=1e-8)
    assert (found.lower, found.upper) == pytest.approx((13237.0, 21175.1), rel=1e-5)


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
    found = exact_fit(beta_objective(ERRORS), (ERRORS.mean(), start_v(ERRORS)), 0.0, 0.5)
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


def test_the_compat_sparsity_comes_near_the_exact_half():
    """The published minimiser stops early: close, and not the optimum."""
    assert mean_sparsity(ERRORS).mean == pytest.approx(0.0164027, rel=0.02)


def test_an_interval_that_the_likelihood_does_not_close_ends_at_the_bound():
    def falling_to_the_right(p):
        return -np.log(p[0])

    found = exact_fit(falling_to_the_right, (0.2, 1.0), 0.0, 0.5)
    assert found.mean == pytest.approx(0.5, abs=1e-4)
    assert found.upper == 0.5
    assert found.lower == pytest.approx(0.5 * math.exp(-HALF_CHI), rel=1e-3)
