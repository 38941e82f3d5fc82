"""The fit behind the published figures: `mle2` of the R package bbmle, with its profile interval.

Fit, take standard errors from the second derivatives, walk the profile of the mean; when the walk
finds better parameters, start over from them. The fits seldom converge, because parameters are not
scaled. The published figures are what comes out all the same, so this follows every step; the
maximum of the likelihood, which `scipy.stats.gamma.fit` finds and `exact_fit` does, is another.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from threadpoolctl import ThreadpoolController

from .box_minimizer import NotFiniteError, Objective, minimize_in_box
from .profile_likelihood import BetterFitError, ProfileWalk, interval
from .richardson import hessian

_MAX_RESTARTS = 10_000
_SINGULAR = math.sqrt(np.finfo(float).eps)


@dataclass(frozen=True)
class MeanFit:
    """A mean with its 95 % interval, and the other parameter of the density."""

    mean: float
    lower: float
    upper: float
    nuisance: float


def published_fit(
    objective: Objective,
    start: Sequence[float],
    lower: Sequence[float],
    upper: Sequence[float],
) -> MeanFit | None:
    """Fit a negative log-likelihood of (mean, nuisance); return None when the fit fails.

    It fails when the objective is not finite where the minimiser goes, and when the standard
    error of the mean is undefined or 0.
    """
    # For matrices of two rows, threads of the linear algebra do nothing but wait for each other:
    # on busy cores that took a hundred times as long as the fit itself.
    with _libraries().limit(limits=1, user_api="blas"):
        return _fit(objective, start, lower, upper)


@functools.cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()


def _fit(
    objective: Objective,
    start: Sequence[float],
    lower: Sequence[float],
    upper: Sequence[float],
) -> MeanFit | None:
    for _ in range(_MAX_RESTARTS):
        try:
            parameters, value = minimize_in_box(objective, start, lower, upper)
        except NotFiniteError:
            return None
        error = standard_error(hessian(objective, parameters))
        if error is None:
            return None
        walk = ProfileWalk(objective, parameters, value, error, lower, upper)
        try:
            places, levels = walk.points_of_profile()
        except BetterFitError as better:
            start = better.parameters
            continue
        return MeanFit(float(parameters[0]), *interval(places, levels), float(parameters[1]))
    return None


def standard_error(second_derivatives: np.ndarray) -> float | None:
    """Return the root of the first variance, by the pseudo-inverse; None if undefined or 0.

    Where the scales of the parameters differ by more than 6.7e7, the pseudo-inverse drops the
    smaller one: the error is then that of the mean with the other parameter known.
    """
    if not np.isfinite(second_derivatives).all():
        return None
    variance = np.linalg.pinv(second_derivatives, rcond=_SINGULAR)[0, 0]
    return math.sqrt(variance) if variance > 0 else None
