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

_MAX_RESTARTS = 10_000
_SINGULAR = math.sqrt(np.finfo(float).eps)
_RELATIVE_STEP = 0.1
_ABSOLUTE_STEP = 1e-4
_NEAR_ZERO = np.sqrt(np.finfo(float).eps / 7e-7)
_ROUNDS = 4


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


def hessian(objective: Objective, parameters: np.ndarray) -> np.ndarray:
    """Return the matrix of second derivatives of an objective of few parameters.

    They are central differences, extrapolated by Richardson's method, as `hessian` of the R package
    numDeriv makes them; `scipy.differentiate.hessian` chooses its steps by an error estimate, and
    the steps decide the digits, and whether a small parameter leaves the domain of the density.

    Steps start at a tenth of each parameter and are halved three times. A parameter below
    1.78e-5 gets 1e-4 on top, which carries a small positive one below zero: the derivatives are
    then NaN, and that is how published fits of tiny sparsity errors fail.
    """
    center = objective(parameters)
    first = np.abs(_RELATIVE_STEP * parameters) + _ABSOLUTE_STEP * (np.abs(parameters) < _NEAR_ZERO)
    steps = [first / 2**k for k in range(_ROUNDS)]
    size = len(parameters)
    matrix = np.empty((size, size))

    def second_difference(shift: np.ndarray) -> float:
        return objective(parameters + shift) - 2 * center + objective(parameters - shift)

    unit = np.eye(size)
    for i in range(size):
        matrix[i, i] = _extrapolate([second_difference(unit[i] * h[i]) / h[i] ** 2 for h in steps])
    for i in range(size):
        for j in range(i):
            mixed = []
            for h in steps:
                both = second_difference(unit[i] * h[i] + unit[j] * h[j])
                own = matrix[i, i] * h[i] ** 2 + matrix[j, j] * h[j] ** 2
                mixed.append((both - own) / (2 * h[i] * h[j]))
            matrix[i, j] = matrix[j, i] = _extrapolate(mixed)
    return matrix


def _extrapolate(estimates: list[float]) -> float:
    for order in range(1, len(estimates)):
        weight = 4**order
        estimates = [
            (weight * fine - coarse) / (weight - 1)
            for coarse, fine in zip(estimates, estimates[1:], strict=False)
        ]
    return estimates[0]
