"""Kolmogorov-Smirnov tests of the fitted densities."""

import numpy as np
import pytest
from scipy.stats import gamma

from stable_nalu.statistics.estimators import Estimators
from stable_nalu.statistics.means import beta_p_value, gamma_p_value, gamma_shape
from stable_nalu.statistics.summary import summarize_group


def test_the_shape_is_that_of_largest_likelihood():
    draw = np.random.default_rng(1)
    for shape in (0.3, 1.0, 7.0, 400.0):
        values = draw.gamma(shape, 2e4, size=(3, 40))
        found = gamma_shape(values)
        for row, one in zip(values, found, strict=True):
            assert one == pytest.approx(gamma.fit(row, floc=0)[0], rel=1e-6)


def test_p_is_uniform_for_steps_of_a_gamma_density():
    draw = np.random.default_rng(2)
    p = [gamma_p_value(draw.gamma(3.0, 1e5, size=30), samples=200) for _ in range(200)]
    shares = [np.mean(np.array(p) <= level) for level in (0.1, 0.5, 0.9)]
    np.testing.assert_allclose(shares, (0.1, 0.5, 0.9), atol=0.09)


def test_steps_in_two_clumps_are_no_gamma_density():
    draw = np.random.default_rng(3)
    clumps = np.concatenate([draw.normal(1e4, 100, 30), draw.normal(1e6, 100, 30)])
    assert gamma_p_value(clumps) < 0.01
    assert gamma_p_value(clumps) == gamma_p_value(clumps)


def test_errors_of_a_beta_density_and_others():
    draw = np.random.default_rng(4)
    assert beta_p_value(draw.beta(2.0, 9.0, 60) / 2) > 0.05
    assert beta_p_value(np.concatenate([np.full(30, 0.1), np.full(30, 0.4)])) < 0.01


def test_too_few_steps():
    assert np.isnan(gamma_p_value(np.arange(1.0, 11.0)))
    assert not np.isnan(gamma_p_value(np.arange(1.0, 12.0), samples=50))
    assert np.isnan(gamma_p_value(np.arange(0.0, 20.0)))
    assert np.isnan(beta_p_value(np.array([0.1])))
    assert np.isnan(beta_p_value(np.array([0.1, 0.1])))


def test_columns_of_the_summary():
    steps, errors = np.arange(1.0, 21.0) * 1000, np.linspace(0.01, 0.1, 20)
    solved = np.ones(20, dtype=bool)
    plain = summarize_group(solved, steps, errors)
    more = summarize_group(solved, steps, errors, Estimators(goodness_of_fit=True))
    assert set(more) - set(plain) == {"converged.at.ks.p", "sparse.error.ks.p"}
    assert 0 < more["converged.at.ks.p"] <= 1
