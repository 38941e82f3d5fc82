r"""Sparsity error: mean over solved runs, under a beta density.

`compat`, as the papers print it: values clipped into [1e-16, 1/2 - 1e-16] are given the density
Beta(2 mu v, (1 - 2 mu) v), whose mean is 2 mu, and mu is printed. Fitted figures are therefore
about **half** the mean sparsity error. Where the fit fails, which it does for errors below about
4e-5, the arithmetic mean with Student's interval is printed, which is not halved.

`scaled`: the same density on doubled values, by maximum likelihood; mu is then the mean itself.

With fewer than two values, or equal ones: arithmetic mean with Student's interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

import numpy as np

from .densities import log_beta_density
from .exact_fit import exact_fit
from .intervals import student
from .published_fit import MeanFit, published_fit

SparsityFit = Literal["compat", "scaled"]
SPARSITY_FITS: tuple[SparsityFit, ...] = ("compat", "scaled")

LARGEST = 0.5
_MARGIN = 1e-16
_EQUAL = 1e-10
_SMALLEST_V = 1e-5
_DENSITY_LIMIT = 1e6


def mean_sparsity(errors: np.ndarray, fit: SparsityFit = "compat") -> MeanFit:
    """Mean sparsity error with its interval; `nuisance` is v, the sum of the beta's shapes."""
    values = np.clip(errors, _MARGIN, LARGEST - _MARGIN)
    v = start_v(values)
    fallback = student(values, 0.0, LARGEST)
    plain = MeanFit(fallback.mean, fallback.lower, fallback.upper, v)
    if len(values) < 2 or np.std(values, ddof=1) <= _EQUAL:
        return plain
    start = (float(np.mean(values)), v)
    if fit == "scaled":
        return exact_fit(beta_objective(2 * values), start, 0.0, LARGEST)
    box = ((0.0, _SMALLEST_V), (LARGEST, math.inf))
    return published_fit(beta_objective(values), start, *box) or plain


def start_v(values: np.ndarray) -> float:
    """m (1/2 - m) / variance - 1: infinite for equal values, NaN for fewer than two."""
    if len(values) < 2:
        return math.nan
    mean, variance = float(np.mean(values)), float(np.var(values, ddof=1))
    return math.inf if variance == 0 else mean * (LARGEST - mean) / variance - 1


def beta_objective(values: np.ndarray) -> Callable[[np.ndarray], float]:
    """Negative log-likelihood of (mu, v); log densities are cut to +-1e6, NaN outside the box."""

    def objective(parameters: np.ndarray) -> float:
        mu, v = map(float, parameters)
        if not 0 <= mu <= LARGEST or v <= 0:
            return math.nan
        density = log_beta_density(values, 2 * mu * v, (1 - 2 * mu) * v)
        cut = np.clip(density, -_DENSITY_LIMIT, _DENSITY_LIMIT)
        return -float(np.sum(cut, dtype=np.longdouble))

    return objective
