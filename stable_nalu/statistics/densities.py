r"""Log densities as R's `dgamma` and `dbeta` compute them, accurate to the last digits.

The published fits difference log-likelihoods over steps of 1e-3 in parameters around 1e6, so lost
digits show: `scipy.stats.gamma.logpdf` subtracts terms around 1e7 there and loses seven of them.
Both densities are written as saddle-point expansions (Loader 2000, Fast and Accurate Computation of
Binomial Probabilities), in which nothing large cancels:

    delta(n)  = log Gamma(n) - (n - 1/2) log n + n - log(2 pi)/2         Stirling error
    D(k, m)   = k log(k/m) + m - k                                       deviance
    log Poisson(k; m) = -log(2 pi k)/2 - delta(k) - D(k, m)

A sample has a handful of values, and a fit asks for many densities at once: what takes the time is
the number of NumPy's calls, so that all densities are evaluated by the same ones, one in each row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from scipy.special import gammaln

_HALF_LOG_TWO_PI = math.log(2 * math.pi) / 2
_STIRLING = (1 / 12, 1 / 360, 1 / 1260, 1 / 1680, 1 / 1188)
_DIRECT_BELOW = 15
_NEAR = 0.1
_FEW = 100
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


def deviance(k: np.ndarray | float, mean: np.ndarray) -> np.ndarray:
    """Return k log(k/m) + m - k for every `mean` m; by its series in (k-m)/(k+m) where k ~ m."""
    difference = k - mean
    ratio = difference / (k + mean)
    near = np.abs(ratio) < _NEAR
    count = np.count_nonzero(near)
    if not count:
        return k * np.log(k / mean) + mean - k
    flat = (part.reshape(-1) for part in (difference * ratio, 2 * k * ratio, ratio * ratio))
    total = _series(*flat).reshape(mean.shape)
    if count == near.size:
        return total
    return np.where(near, total, k * np.log(k / mean) + mean - k)


def _series(total: np.ndarray, power: np.ndarray, square: np.ndarray) -> np.ndarray:
    """Return total + power (square/3 + square²/5 + ...), added from the left.

    The order decides the last digits, so it is the same for few numbers, which two calls of NumPy
    add faster, and for many, for which these would be slow.
    """
    if total.size > _FEW:
        for odd in _ODD:
            power = power * square
            total = total + power / odd
        return total
    terms = np.empty((1 + len(_ODD), total.size))
    terms[0], terms[1:] = power, square
    np.multiply.accumulate(terms, out=terms)
    terms[1:] /= _ODD
    terms[0] = total
    return np.add.accumulate(terms)[-1]


def log_gamma_density(x: np.ndarray, shapes: Sequence[float], rates: Sequence[float]) -> np.ndarray:
    """Return a row of log Gamma(shape, rate) at x > 0 for every shape and its rate.

    It is log(rate * Poisson(shape - 1; rate x)).
    """
    scales = [1 / rate for rate in rates]
    means = x / _column(scales)
    if max(shapes) < 1:
        return _log_poisson(shapes, means) + np.log(_column(shapes) / x)
    if min(shapes) > 1:
        logs = _column([math.log(scale) for scale in scales])
        return _log_poisson([shape - 1 for shape in shapes], means) - logs
    if len(shapes) == 1:
        return -means - math.log(scales[0])
    rows = zip(shapes, rates, strict=True)
    return np.concatenate([log_gamma_density(x, [shape], [rate]) for shape, rate in rows])


def _log_poisson(k: Sequence[float], mean: np.ndarray) -> np.ndarray:
    constant = _column([-0.5 * math.log(2 * math.pi * each) for each in k])
    error = _column([-stirling_error(each) for each in k])
    return constant + (error - deviance(_column(k), mean))


def log_beta_density(x: np.ndarray) -> Callable[[Sequence[float], Sequence[float]], np.ndarray]:
    """Return the function of shapes a and b that has a row of log Beta(a, b) at 0 < x < 1 for each.

    It is minus infinity where a or b is 0, because all mass is at a bound.

    log f = log(a b / (2 pi v))/2 + delta(v) - delta(a) - delta(b)
            - D(a, v x) - D(b, v (1-x)) - log(x (1-x)),    v = a + b
    """
    both = np.array([x, 1 - x])[:, None]
    log_x, log_rest = np.log(x), np.log1p(-x)

    def inside(a: Sequence[float], b: Sequence[float]) -> np.ndarray:
        shapes = np.array([a, b])[..., None]
        distance = deviance(shapes, (shapes[0] + shapes[1]) * both)
        constant = _column([_beta_constant(*pair) for pair in zip(a, b, strict=True)])
        return constant - (distance[0] + distance[1]) - log_x - log_rest

    def density(a: Sequence[float], b: Sequence[float]) -> np.ndarray:
        if all(a) and all(b):
            return inside(a, b)
        spread = [i for i, pair in enumerate(zip(a, b, strict=True)) if all(pair)]
        rows = np.full((len(a), len(x)), -np.inf)
        if spread:
            rows[spread] = inside([a[i] for i in spread], [b[i] for i in spread])
        return rows

    return density


def _beta_constant(a: float, b: float) -> float:
    v = a + b
    constant = 0.5 * math.log(a * b / (2 * math.pi * v))
    return constant + (stirling_error(v) - stirling_error(a) - stirling_error(b))


def _column(numbers: Sequence[float]) -> np.ndarray:
    return np.array(numbers)[:, None]
