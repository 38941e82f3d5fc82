"""The log densities against scipy's, and where scipy's lose digits, against exact differences."""

import math

import numpy as np
import pytest
from scipy import stats
from scipy.special import gammaln

from stable_nalu.statistics.densities import (
    deviance,
    log_beta_density,
    log_gamma_density,
    stirling_error,
)


@pytest.mark.parametrize("shape", [0.3, 1.0, 1.7, 14.0, 900.0])
def test_gamma_density_agrees_with_scipy(shape):
    x = np.array([0.01, 0.5, 3.0, 40.0, 2000.0])
    expected = stats.gamma.logpdf(x, shape, scale=1 / 0.7)
    np.testing.assert_allclose(
        log_gamma_density(x, [shape], [0.7])[0], expected, rtol=1e-11, atol=1e-11
    )


@pytest.mark.parametrize(("a", "b"), [(0.2, 3.0), (1.0, 1.0), (2.5, 0.4), (30.0, 7000.0)])
def test_beta_density_agrees_with_scipy(a, b):
    x = np.array([1e-16, 1e-6, 0.004, 0.3, 0.5 - 1e-16])
    expected = stats.beta.logpdf(x, a, b)
    np.testing.assert_allclose(log_beta_density(x)([a], [b])[0], expected, rtol=1e-10, atol=1e-9)


def test_a_beta_without_one_shape_has_no_mass_inside():
    density = log_beta_density(np.array([0.1, 0.4]))
    assert np.all(density([0.0, 2.0], [3.0, 0.0]) == -math.inf)
    np.testing.assert_array_equal(density([0.0, 2.0], [3.0, 3.0])[1], density([2.0], [3.0])[0])


@pytest.mark.parametrize("size", [1, 2, 5, 40, 300])
def test_many_densities_at_once_are_those_of_each_alone(size):
    """Shapes below, at and above 1; means near and far from the shapes: to the last bit."""
    draw = np.random.default_rng(size)
    x = draw.random(size)
    shapes = [0.2, 0.999, 1.0, 1.001, 3.0, 20.0, 900.0]
    rates = (10.0 ** draw.uniform(-3, 3, len(shapes))).tolist()
    for chosen in (slice(None), slice(2), slice(3, None)):
        together = log_gamma_density(x, shapes[chosen], rates[chosen])
        for row, shape, rate in zip(together, shapes[chosen], rates[chosen], strict=True):
            np.testing.assert_array_equal(row, log_gamma_density(x, [shape], [rate])[0])
    beta = log_beta_density(x)
    for row, a, b in zip(beta(shapes, rates), shapes, rates, strict=True):
        np.testing.assert_array_equal(row, beta([a], [b])[0])


@pytest.mark.parametrize("n", [0.5, 3.0, 14.9, 15.1, 40.0, 400.0])
def test_stirling_error_completes_the_logarithm_of_the_gamma_function(n):
    approximation = (n + 0.5) * math.log(n) - n + math.log(2 * math.pi) / 2
    assert approximation + stirling_error(n) == pytest.approx(gammaln(n + 1), rel=1e-14)


def test_deviance_keeps_its_digits_where_both_are_close():
    """k log(k/m) + m - k = d²/2k (1 + 2d/3k + ...) for m = k - d."""
    k, d = 1e6, 1e-3
    expected = d * d / (2 * k) * (1 + 2 * d / (3 * k))
    assert deviance(k, np.array([k - d]))[0] == pytest.approx(expected, rel=1e-6)


def test_deviance_far_apart_is_the_formula():
    found = deviance(2.0, np.array([1.0, 8.0]))
    expected = [2 * math.log(2) - 1, 2 * math.log(1 / 4) + 6]
    np.testing.assert_allclose(found, expected, rtol=1e-15)
