"""How well the densities behind the means describe the runs: Kolmogorov-Smirnov tests.

Steps are tested against the gamma density of largest likelihood. As it is fitted to the same steps,
the distribution of the statistic is simulated (Lilliefors 1967, On the Kolmogorov-Smirnov Test for
Normality with Mean and Variance Unknown): samples of the fitted density, each with a fit of its
own. Sparsity errors, doubled to fill [0, 1], are tested against the fitted beta density as it is.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import digamma, gammainc, polygamma
from scipy.stats import beta, kstest

from .means import LARGEST, MARGIN, mean_sparsity

SAMPLES = 2000
SEED = 0
_FEWEST = 11
"""The number of distinct steps below which they have no shape to speak of."""

_NEWTON_STEPS = 8


def gamma_p_value(steps: np.ndarray, samples: int = SAMPLES, seed: int = SEED) -> float:
    """Return the share of samples of the fitted gamma density that fit worse than the steps do.

    It is NaN for too few steps.
    """
    if len(np.unique(steps)) < _FEWEST or np.any(steps <= 0):
        return math.nan
    own = _statistic(steps[None, :])[0]
    shape = gamma_shape(steps[None, :])[0]
    drawn = np.random.default_rng(seed).gamma(shape, size=(samples, len(steps)))
    # A draw of a tiny shape may round to 0, which has no logarithm.
    worse = np.sum(_statistic(np.maximum(drawn, np.finfo(float).tiny)) >= own)
    return float((1 + worse) / (1 + samples))


def beta_p_value(errors: np.ndarray) -> float:
    """Return p of the fitted beta density; NaN for fewer than two, or equal, errors."""
    values = np.clip(errors, MARGIN, LARGEST - MARGIN)
    if len(values) < 2 or np.ptp(values) <= MARGIN:
        return math.nan
    fit = mean_sparsity(values, "scaled")
    if not (0 < fit.mean < LARGEST and math.isfinite(fit.nuisance)):
        return math.nan
    density = beta(2 * fit.mean * fit.nuisance, (1 - 2 * fit.mean) * fit.nuisance)
    return float(kstest(2 * values, density.cdf).pvalue)


def gamma_shape(values: np.ndarray) -> np.ndarray:
    """Return the shape of largest likelihood per row: log k - digamma(k) = log mean - mean log."""
    excess = np.log(values.mean(axis=1)) - np.log(values).mean(axis=1)
    shape = (3 - excess + np.sqrt((excess - 3) ** 2 + 24 * excess)) / (12 * excess)
    for _ in range(_NEWTON_STEPS):
        off = np.log(shape) - digamma(shape) - excess
        shape = 1 / (1 / shape + off / (shape**2 * (1 / shape - polygamma(1, shape))))
    return shape


def _statistic(values: np.ndarray) -> np.ndarray:
    """Return the largest distance of the sample's and the fitted distribution function per row."""
    shape = gamma_shape(values)[:, None]
    ordered = np.sort(values, axis=1)
    fitted = gammainc(shape, ordered * shape / values.mean(axis=1, keepdims=True))
    n = values.shape[1]
    above = np.arange(1, n + 1) / n - fitted
    return np.maximum(above, 1 / n - above).max(axis=1)
