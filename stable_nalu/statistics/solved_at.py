r"""Solved at: mean first step at which a run solves its task, under a gamma density.

Density in mean and variance: shape mu²/s2, rate mu/s2. Three fits (`GAMMA_FITS`):

    published   what the papers print. The variance starts at that of the sample and hardly moves,
                so the mean is the sample mean or, in skewed groups, a place that the profile
                walk came upon; twice the sample mean and more has been printed.
    frozen      the variance is that of the sample; the mean maximises the likelihood.
    profile     maximum likelihood in both: the mean is the arithmetic mean.

With fewer than two steps, equal steps, a step 0, or when the published fit fails: arithmetic mean
with Student's interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

import numpy as np

from .densities import log_gamma_density
from .exact_fit import exact_fit, fit_with_nuisance_known
from .intervals import sample_variance, student
from .published_fit import MeanFit, published_fit

GammaFit = Literal["published", "frozen", "profile"]
GAMMA_FITS: tuple[GammaFit, ...] = ("published", "frozen", "profile")

_EQUAL = 1e-5
_SMALLEST_VARIANCE = 1e-5


def solved_at(steps: np.ndarray, gamma_fit: GammaFit = "published") -> MeanFit:
    """Mean step with its interval; `nuisance` is the variance."""
    variance = sample_variance(steps)
    fallback = student(steps, 0.0, math.inf)
    plain = MeanFit(fallback.mean, fallback.lower, fallback.upper, variance)
    if len(steps) < 2 or math.sqrt(variance) <= _EQUAL or np.any(steps <= 0):
        return plain
    objective = gamma_objective(steps)
    start = (float(np.mean(steps)), variance)
    if gamma_fit == "frozen":
        return fit_with_nuisance_known(objective, start, 0.0, math.inf)
    if gamma_fit == "profile":
        return exact_fit(objective, start, 0.0, math.inf)
    box = ((0.0, _SMALLEST_VARIANCE), (math.inf, math.inf))
    return published_fit(objective, start, *box) or plain


def gamma_objective(steps: np.ndarray) -> Callable[[np.ndarray], float]:
    """Negative log-likelihood of (mean, variance); not finite where there is no density."""

    def objective(parameters: np.ndarray) -> float:
        mean, variance = map(float, parameters)
        if mean <= 0 or variance <= 0:
            return math.nan
        density = log_gamma_density(steps, mean**2 / variance, mean / variance)
        return -float(np.sum(density, dtype=np.longdouble))

    return objective
