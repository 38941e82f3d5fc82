"""The fit behind the published figures: `mle2` of the R package bbmle, with its profile interval.

Fit, take standard errors from the second derivatives, walk the profile of the mean; when the walk
finds better parameters, start over from them. The fits seldom converge, because parameters are not
scaled. The published figures are what comes out all the same, so this follows every step; the
maximum of the likelihood, which `scipy.stats.gamma.fit` and `means.exact_fit` find, is another.

What takes the time is calls of the objective, so each one is for many places.
"""

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy.interpolate import PchipInterpolator, make_interp_spline
from scipy.optimize import minimize, minimize_scalar
from scipy.stats import chi2, norm
from threadpoolctl import ThreadpoolController

Objective = Callable[[np.ndarray], np.ndarray]
"""From an array with one column of parameters for every place to the values at the places."""

# Of the minimiser.
_DIFFERENCE = 1e-3
_CORRECTIONS = 5
_REDUCTION = 1e7
_MAX_ITERATIONS = 100
_MAX_LINE_SEARCH = 20

# Of the walk along the profile.
_FARTHEST = math.sqrt(chi2.ppf(1 - 0.01 / 2, df=2))
_WALK_STEP = _FARTHEST / 5
_MAX_STEPS = 100
_CLOSER_LOOK = (0.2, 0.4, 0.6, 0.8, 0.9)
_FEW_POINTS = 5
_BETTER_BY = 1e-3
_LEVEL = norm.ppf(0.975)

# Of second derivatives.
_SINGULAR = math.sqrt(np.finfo(float).eps)
_RELATIVE_STEP = 0.1
_ABSOLUTE_STEP = 1e-4
_NEAR_ZERO = np.sqrt(np.finfo(float).eps / 7e-7)
_ROUNDS = 4

# Of fits that start over.
_MAX_RESTARTS = 10_000
_CREEPING = 20
_WALKED = 130
"""The most restarts of one creep that are walked one by one; kept results have at most 126."""
_WALKED_LAST = 10
_NODES = 64
_TABLE = 4096
_CLOSE = 1e-6


class MeanFit(NamedTuple):
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
    steps = (_WALK_STEP * fine).tolist()
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


class NotFiniteError(Exception):
    """Raised when the objective has no finite value where the minimiser went."""


def minimize_in_box(
    objective: Objective,
    start: Sequence[float] | np.ndarray,
    lower: Sequence[float],
    upper: Sequence[float],
) -> tuple[np.ndarray, float]:
    """Return the parameters where the minimiser stops, converged or not, and their objective.

    It is R's `optim(method = "L-BFGS-B")` with its defaults. The algorithm is scipy's; what R has
    of its own is the gradient and when it stops. scipy's gradient has one-sided relative steps
    around 1e-8, which moves the digits, as its defaults do. The parameters are not scaled, so that
    around 1e6 the minimiser stops after one step; this is part of the published figures.
    """
    result = minimize(
        lambda parameters: value_and_gradient(objective, parameters, lower, upper),
        np.array(start, dtype=float),
        jac=True,
        method="L-BFGS-B",
        bounds=list(zip(lower, upper, strict=True)),
        options={
            "maxcor": _CORRECTIONS,
            "ftol": _REDUCTION * np.finfo(float).eps,
            "gtol": 0.0,
            "maxiter": _MAX_ITERATIONS,
            "maxls": _MAX_LINE_SEARCH,
        },
    )
    return result.x, float(result.fun)


def value_and_gradient(
    objective: Objective, parameters: np.ndarray, lower: Sequence[float], upper: Sequence[float]
) -> tuple[float, np.ndarray]:
    """Return the objective and its central differences over absolute steps of 1e-3.

    The steps are cut short at a bound.
    """
    size = len(parameters)
    places = np.repeat(parameters[:, None], 1 + 2 * size, axis=1)
    widths = np.empty(size)
    for i, value in enumerate(parameters.tolist()):
        above, below = min(value + _DIFFERENCE, upper[i]), max(value - _DIFFERENCE, lower[i])
        places[i, 1 + 2 * i], places[i, 2 + 2 * i] = above, below
        width_above = _DIFFERENCE if above < upper[i] else above - value
        width_below = _DIFFERENCE if below > lower[i] else value - below
        widths[i] = width_above + width_below
    values = objective(places)
    if not all(map(math.isfinite, values.tolist())):
        raise NotFiniteError
    return float(values[0]), (values[1::2] - values[2::2]) / widths


class BetterFitError(Exception):
    """Raised when the walk comes upon parameters whose deviance is lower than that of the fit."""

    def __init__(self, parameters: tuple[float, float]):
        super().__init__(parameters)
        self.parameters = parameters


@dataclass
class ProfileWalk:
    """The walk outward from one fit along the profile likelihood of its first parameter.

    This reproduces `profile` and `confint` of bbmle, whose walk decides where the profile is known
    and where an interval has no end. Steps are a fraction of the standard error. At each place the
    other parameter is fitted anew, and z, the signed root of twice the rise of the negative
    log-likelihood, is noted. The interval ends where z is -1.96 and 1.96.

    objective: negative log-likelihood of (first, second).
    parameters, value: the fit and the objective there.
    error: standard error of the first parameter.
    lower, upper: bounds of both parameters.
    """

    objective: Objective
    parameters: np.ndarray
    value: float
    error: float
    lower: Sequence[float]
    upper: Sequence[float]
    points: list[tuple[float, float]] = field(init=False)

    def points_of_profile(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the values of the first parameter that were visited, rising, and z of each."""
        self.points = [(float(self.parameters[0]), 0.0)]
        for side in (-1, 1):
            self._walk(side)
        table = np.array(sorted(self.points))
        return table[:, 0], table[:, 1]

    def is_first(self, better: BetterFitError) -> bool:
        """Return whether these parameters were come upon by the first step to either side."""
        return better.parameters[0] in (self._place(-1, 1), self._place(1, 1))

    def _walk(self, side: int) -> None:
        """Take whole steps until z is far enough out, then what the end of the walk asks for."""
        step, z, previous = 1, 0.0, 0.0
        while step < _MAX_STEPS and abs(z) < _FARTHEST:
            previous, z = z, self._step(side, step)
            flat = step > 1 and z == previous
            if flat or math.isnan(z):
                break
            step += 1
        else:
            flat = False
        if not flat and (math.isnan(z) or abs(z) < _FARTHEST):
            self._look_closer(side, step - 1)
        elif not flat and len(self.points) < _FEW_POINTS:
            for between in range(1, step - 1):
                self._step(side, between + 0.5)
        bound = (self.lower if side < 0 else self.upper)[0]
        if not flat and math.isnan(z) and self._is_outside(side, step):
            self._visit(side, bound)

    def _look_closer(self, side: int, reached: int) -> None:
        """Go on from the last whole step, which was short of the far end, by parts of a step."""
        for part in _CLOSER_LOOK:
            z = self._step(side, reached + part)
            if math.isnan(z) or abs(z) > _FARTHEST:
                return

    def _place(self, side: int, step: float) -> float:
        return float(self.parameters[0] + side * step * _WALK_STEP * self.error)

    def _is_outside(self, side: int, step: float) -> bool:
        return not self.lower[0] <= self._place(side, step) <= self.upper[0]

    def _step(self, side: int, step: float) -> float:
        """Return z after so many steps; it is NaN outside the bounds, and where there is no fit."""
        if self._is_outside(side, step):
            return math.nan
        return self._visit(side, self._place(side, step))

    def _visit(self, side: int, place: float) -> float:
        try:
            second, value = minimize_in_box(
                lambda p: self.objective(np.array([np.full_like(p[0], place), p[0]])),
                self.parameters[1:],
                self.lower[1:],
                self.upper[1:],
            )
        except NotFiniteError:
            return math.nan
        rise = 2 * (value - self.value)
        if rise < -_BETTER_BY:
            raise BetterFitError((place, float(second[0])))
        z = side * math.sqrt(max(rise, 0.0))
        self.points.append((place, z))
        return z


def interval(places: np.ndarray, levels: np.ndarray) -> tuple[float, float]:
    """Return the places where z is -1.96 and 1.96; NaN for an end that the profile does not reach.

    A spline through the points is evaluated at three times as many places and read backwards
    by linear interpolation; where it does not rise, the points themselves are.
    """
    if len(places) >= 4:
        fine = np.linspace(places[0], places[-1], 3 * len(places))
        smooth = end_cubic_spline(places, levels, fine)
        if np.all(np.diff(smooth) > 0):
            places, levels = fine, smooth
    order = np.argsort(levels, kind="stable")
    ends = np.array([-_LEVEL, _LEVEL])
    found = np.interp(ends, levels[order], places[order], left=np.nan, right=np.nan)
    return float(found[0]), float(found[1])


def end_cubic_spline(x: np.ndarray, y: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Interpolate at least four points (x, y), x rising, at the places `at`.

    This is R's `splinefun(method = "fmm")`, after Forsythe, Malcolm and Moler (1977): the third
    derivative of the first (last) piece is that of the cubic through the first (last) four points.
    """
    ends = [(3, _third_derivative(x[:4], y[:4]))], [(3, _third_derivative(x[-4:], y[-4:]))]
    return np.asarray(make_interp_spline(x, y, bc_type=ends)(at))


def _third_derivative(x: np.ndarray, y: np.ndarray) -> float:
    first = np.diff(y) / np.diff(x)
    second = np.diff(first) / (x[2:] - x[:-2])
    return 6 * (second[1] - second[0]) / (x[3] - x[0])
