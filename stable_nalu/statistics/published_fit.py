"""The fit behind the published figures: `mle2` of the R package bbmle, with its profile interval.

Fit, take standard errors from the second derivatives, walk the profile of the mean; when the walk
finds better parameters, start over from them. The fits seldom converge, because parameters are not
scaled. The published figures are what comes out all the same, so this follows every step; the
maximum of the likelihood, which `scipy.stats.gamma.fit` finds and `exact_fit` does, is another.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.interpolate import PchipInterpolator
from scipy.optimize import minimize_scalar
from threadpoolctl import ThreadpoolController

from .box_minimizer import NotFiniteError, Objective, minimize_in_box
from .profile_likelihood import STEP, BetterFitError, ProfileWalk, interval

_MAX_RESTARTS = 10_000
_SINGULAR = math.sqrt(np.finfo(float).eps)
_RELATIVE_STEP = 0.1
_ABSOLUTE_STEP = 1e-4
_NEAR_ZERO = np.sqrt(np.finfo(float).eps / 7e-7)
_ROUNDS = 4

_CREEPING = 20
_WALKED = 130
"""The most restarts of one creep that are walked one by one; kept results have at most 126."""
_WALKED_LAST = 10
_NODES = 64
_TABLE = 4096
_CLOSE = 1e-6


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
    restarts = creeping = 0
    while restarts < _MAX_RESTARTS:
        restarts += 1
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
            creeping = creeping + 1 if walk.is_first(better) and parameters[0] == start[0] else 0
            start = better.parameters
            if creeping == _CREEPING:
                ahead = means_ahead(objective, start, parameters[0], restarts)
                restarts += len(ahead)
                start = (ahead[-1] if ahead else start[0], start[1])
            continue
        return MeanFit(float(parameters[0]), *interval(places, levels), float(parameters[1]))
    return None


def means_ahead(
    objective: Objective, parameters: tuple[float, float], previous: float, restarts: int
) -> list[float]:
    """Return the means from which a fit that creeps starts over next, up to a few before the last.

    Where values are nearly equal, the minimiser stays where it is, the first step of the walk finds
    better parameters, and so on, thousands of times, with the other parameter as good as constant.
    Each step is a fraction of the standard error, which is known at `_NODES` means and interpolated
    between them: that gives the steps to a millionth, but where densities are cut. A creep of few
    steps is left to be walked, and so are the last ones, which end it, of any.

    previous: the mean before this one.
    restarts: how often the fit has started over.
    """
    mean, nuisance = parameters

    def error_at(place: float) -> float:
        return standard_error(hessian(objective, np.array([place, nuisance]))) or math.nan

    end = _lowest_mean(objective, parameters, mean - previous)
    if math.isnan(error_at(end)):
        end = _last_known(error_at, mean, end)
    places = np.linspace(mean, end, _NODES)
    errors = np.array([error_at(place) for place in places.tolist()])
    if end == mean or not np.isfinite(errors).all():
        return []
    fine = PchipInterpolator(np.arange(_NODES), errors)(np.linspace(0, _NODES - 1, _TABLE + 1))
    steps = (STEP * fine).tolist()
    steps.append(steps[-1])
    per_entry = (end - mean) / _TABLE
    means: list[float] = []
    side = math.copysign(1, end - mean)
    while len(means) + restarts < _MAX_RESTARTS:
        entry = (mean - parameters[0]) / per_entry
        low = int(entry)
        step = steps[low] + (entry - low) * (steps[low + 1] - steps[low])
        if side * (end - mean) <= _WALKED_LAST * step:
            break
        mean += side * step
        means.append(mean)
    return means if len(means) + restarts + _WALKED_LAST > _WALKED else []


def _lowest_mean(objective: Objective, parameters: tuple[float, float], step: float) -> float:
    """Return the mean where the objective is lowest, seeking by growing steps from this one."""
    mean, nuisance = parameters

    def at(place: float) -> float:
        value = float(objective(np.array([[place], [nuisance]]))[0])
        return math.inf if math.isnan(value) else value

    while at(mean + 2 * step) < at(mean + step):
        step *= 2
    bounds = sorted((mean, mean + 2 * step))
    options = {"xatol": _CLOSE * mean}
    found: Any = minimize_scalar(at, bounds=bounds, method="bounded", options=options)
    return float(found.x)


def _last_known(error_at: Callable[[float], float], known: float, unknown: float) -> float:
    """Return the place nearest to the unknown one that has a standard error, by bisection."""
    while abs(unknown - known) > _CLOSE * abs(known):
        middle = (known + unknown) / 2
        if math.isnan(error_at(middle)):
            unknown = middle
        else:
            known = middle
    return known


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
    first = np.abs(_RELATIVE_STEP * parameters) + _ABSOLUTE_STEP * (np.abs(parameters) < _NEAR_ZERO)
    steps = [first / 2**k for k in range(_ROUNDS)]
    size = len(parameters)
    unit = np.eye(size)
    pairs = [(i, j) for i in range(size) for j in range(i)]
    shifts = [unit[i] * h[i] for i in range(size) for h in steps]
    shifts += [unit[i] * h[i] + unit[j] * h[j] for i, j in pairs for h in steps]
    moved = np.array(shifts).T
    here = parameters[:, None]
    values = objective(np.concatenate([here, here + moved, here - moved], axis=1))
    above, below = values[1:].reshape(2, len(pairs) + size, _ROUNDS)
    second = (above - 2 * values[0] + below).tolist()
    matrix = np.empty((size, size))
    for i in range(size):
        own = zip(second[i], steps, strict=True)
        matrix[i, i] = _extrapolate([change / h[i] ** 2 for change, h in own])
    for (i, j), both in zip(pairs, second[size:], strict=True):
        mixed = []
        for change, h in zip(both, steps, strict=True):
            own = matrix[i, i] * h[i] ** 2 + matrix[j, j] * h[j] ** 2
            mixed.append((change - own) / (2 * h[i] * h[j]))
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
