r"""The means of the papers: the step solved at, and the sparsity error.

**Solved at** is the mean first step at which a run solves its task. Its gamma density is written
in mean mu and variance s2, with shape mu²/s2 and rate mu/s2. There are three fits:

    published   what the papers print. The variance starts at that of the sample and hardly moves,
                so the mean is the sample mean or, in skewed groups, a place that the profile
                walk came upon; twice the sample mean and more has been printed.
    frozen      the variance is that of the sample; the mean maximises the likelihood.
    profile     maximum likelihood in both: the mean is the arithmetic mean.

With fewer than two steps, equal steps, a step 0, or when the published fit fails, the arithmetic
mean with Student's interval stands in.

**The sparsity error** is the mean over solved runs. There are two fits:

    compat      what the papers print. Values clipped into [1e-16, 1/2 - 1e-16] are given the
                density Beta(2 mu v, (1 - 2 mu) v), whose mean is 2 mu, and mu is printed: about
                **half** the mean sparsity error. Where the fit fails, which it does for errors
                below about 4e-5, the arithmetic mean with Student's interval is printed, which
                is not halved.
    scaled      the same density on doubled values, by maximum likelihood; mu is the mean itself.

With fewer than two values, or equal ones, the arithmetic mean with Student's interval stands in.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from .box_minimizer import Objective
from .densities import log_beta_density, log_gamma_density
from .estimators import GammaFit, SparsityFit
from .exact_fit import exact_fit, fit_with_nuisance_known
from .intervals import student
from .published_fit import MeanFit, published_fit

Floats = Sequence[float]

_EQUAL_STEPS = 1e-5
_SMALLEST_VARIANCE = 1e-5

LARGEST = 0.5
"""The largest sparsity error."""

MARGIN = 1e-16
"""How far from their bounds sparsity errors are held, where the beta density is finite."""

_EQUAL_ERRORS = 1e-10
_SMALLEST_V = 1e-5
_DENSITY_LIMIT = 1e6


def solved_at(steps: np.ndarray, gamma_fit: GammaFit = "published") -> MeanFit:
    """Return the mean step with its interval; `nuisance` is the variance."""
    variance = float(np.var(steps, ddof=1)) if len(steps) > 1 else math.nan
    plain = _students(steps, math.inf, variance)
    if len(steps) < 2 or math.sqrt(variance) <= _EQUAL_STEPS or np.any(steps <= 0):
        return plain
    objective = gamma_objective(steps)
    start = (float(np.mean(steps)), variance)
    if gamma_fit == "frozen":
        return fit_with_nuisance_known(objective, start, 0.0, math.inf)
    if gamma_fit == "profile":
        return exact_fit(objective, start, 0.0, math.inf)
    box = ((0.0, _SMALLEST_VARIANCE), (math.inf, math.inf))
    return published_fit(objective, start, *box) or plain


def gamma_objective(steps: np.ndarray) -> Objective:
    """Return the negative log-likelihood of (mean, variance); it is NaN outside of the domain."""

    def density(means: Floats, variances: Floats) -> np.ndarray:
        shapes = [mean**2 / variance for mean, variance in zip(means, variances, strict=True)]
        rates = [mean / variance for mean, variance in zip(means, variances, strict=True)]
        return log_gamma_density(steps, shapes, rates)

    return _negative_sum(density, lambda mean, variance: mean > 0 and variance > 0)


def mean_sparsity(errors: np.ndarray, fit: SparsityFit = "compat") -> MeanFit:
    """Return the mean sparsity error with its interval.

    `nuisance` is v, the sum of the shapes of the beta density.
    """
    values = np.clip(errors, MARGIN, LARGEST - MARGIN)
    v = start_v(values)
    plain = _students(values, LARGEST, v)
    if len(values) < 2 or np.std(values, ddof=1) <= _EQUAL_ERRORS:
        return plain
    start = (float(np.mean(values)), v)
    if fit == "scaled":
        return exact_fit(beta_objective(2 * values), start, 0.0, LARGEST)
    box = ((0.0, _SMALLEST_V), (LARGEST, math.inf))
    return published_fit(beta_objective(values), start, *box) or plain


def start_v(values: np.ndarray) -> float:
    """Return m (1/2 - m) / variance - 1: infinite for equal values, NaN for fewer than two."""
    if len(values) < 2:
        return math.nan
    mean, variance = float(np.mean(values)), float(np.var(values, ddof=1))
    return math.inf if variance == 0 else mean * (LARGEST - mean) / variance - 1


def beta_objective(values: np.ndarray) -> Objective:
    """Return the negative log-likelihood of (mu, v), which is NaN outside of the domain.

    Log densities are cut to [-1e6, 1e6], as in the papers' code.
    """
    log_density = log_beta_density(values)

    def density(means: Floats, sums: Floats) -> np.ndarray:
        a = [2 * mu * v for mu, v in zip(means, sums, strict=True)]
        uncut = log_density(a, [(1 - 2 * mu) * v for mu, v in zip(means, sums, strict=True)])
        return np.minimum(np.maximum(uncut, -_DENSITY_LIMIT), _DENSITY_LIMIT)

    return _negative_sum(density, lambda mu, v: 0 <= mu <= LARGEST and v > 0)


def _negative_sum(
    density: Callable[[Floats, Floats], np.ndarray], inside: Callable[[float, float], bool]
) -> Objective:
    def objective(parameters: np.ndarray) -> np.ndarray:
        first, second = parameters.tolist()
        known = list(map(inside, first, second))
        if all(known):
            return -np.add.reduce(density(first, second), axis=1, dtype=np.longdouble).astype(float)
        values = np.full(len(known), math.nan)
        if any(known):
            values[known] = objective(parameters[:, known])
        return values

    return objective


def _students(values: np.ndarray, highest: float, nuisance: float) -> MeanFit:
    plain = student(values, 0.0, highest)
    return MeanFit(plain.mean, plain.lower, plain.upper, nuisance)
