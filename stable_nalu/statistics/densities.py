r"""Log densities as R's `dgamma` and `dbeta` compute them, accurate to the last digits.

The published fits difference log-likelihoods over steps of 1e-3 in parameters around 1e6, so lost
digits show: `scipy.stats.gamma.logpdf` subtracts terms around 1e7 there and loses seven of them.
Both densities are written as saddle-point expansions (Loader 2000, Fast and Accurate Computation of
Binomial Probabilities), in which nothing large cancels:

    delta(n)  = log Gamma(n) - (n - 1/2) log n + n - log(2 pi)/2         Stirling error
    D(k, m)   = k log(k/m) + m - k                                       deviance
    log Poisson(k; m) = -log(2 pi k)/2 - delta(k) - D(k, m)
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import gammaln

_HALF_LOG_TWO_PI = math.log(2 * math.pi) / 2
_STIRLING = (1 / 12, 1 / 360, 1 / 1260, 1 / 1680, 1 / 1188)
_DIRECT_BELOW = 15
_NEAR = 0.1
_ODD = np.arange(3.0, 23.0, 2)[:, None]
"""Denominators of the terms of the series; below `_NEAR`, later terms are lost in rounding."""


def stirling_error(n: float) -> float:
    """Return log Gamma(n + 1) less its Stirling approximation (n + 1/2) log n - n + log(2 pi)/2."""
    if n <= _DIRECT_BELOW:
        return float(gammaln(n + 1) - (n + 0.5) * math.log(n) + n - _HALF_LOG_TWO_PI)
    series = 0.0
    for coefficient in reversed(_STIRLING):
        series = coefficient - series / (n * n)
    return series / n


def deviance(k: float, mean: np.ndarray) -> np.ndarray:
    """Return k log(k/m) + m - k for every `mean` m; by its series in (k-m)/(k+m) where k ~ m."""
    difference = k - mean
    ratio = difference / (k + mean)
    near = np.abs(ratio) < _NEAR
    if not near.any():
        return k * np.log(k / mean) + mean - k
    terms = np.empty((1 + len(_ODD), len(mean)))
    terms[0] = 2 * k * ratio
    terms[1:] = ratio * ratio
    np.multiply.accumulate(terms, out=terms)
    terms[1:] /= _ODD
    terms[0] = difference * ratio
    total = np.add.accumulate(terms)[-1]
    return total if near.all() else np.where(near, total, k * np.log(k / mean) + mean - k)


def log_gamma_density(x: np.ndarray, shape: float, rate: float) -> np.ndarray:
    """Return log Gamma(shape, rate) at x > 0, as log(rate * Poisson(shape - 1; rate x))."""
    scale = 1 / rate
    mean = x / scale
    if shape < 1:
        return _log_poisson(shape, mean) + np.log(shape / x)
    if shape == 1:
        return -mean - math.log(scale)
    return _log_poisson(shape - 1, mean) - math.log(scale)


def _log_poisson(k: float, mean: np.ndarray) -> np.ndarray:
    return -0.5 * math.log(2 * math.pi * k) + (-stirling_error(k) - deviance(k, mean))


def log_beta_density(x: np.ndarray, a: float, b: float) -> np.ndarray:
    """Return log Beta(a, b) at 0 < x < 1.

    It is minus infinity where a or b is 0, because all mass is at a bound.

    log f = log(a b / (2 pi v))/2 + delta(v) - delta(a) - delta(b)
            - D(a, v x) - D(b, v (1-x)) - log(x (1-x)),    v = a + b
    """
    if a == 0 or b == 0:
        return np.full_like(x, -np.inf)
    v = a + b
    constant = 0.5 * math.log(a * b / (2 * math.pi * v))
    constant += stirling_error(v) - stirling_error(a) - stirling_error(b)
    distance = deviance(a, v * x) + deviance(b, v * (1 - x))
    return constant - distance - np.log(x) - np.log1p(-x)
