"""Profile likelihood of the first of two parameters, and the interval read off it.

This reproduces `profile` and `confint` of the R package bbmle, whose walk decides where the profile
is known and where an interval has no end. scipy has no profile likelihood; an exact one, such as
that of `exact_fit`, gives other digits and ends where bbmle has none.

The profile is walked outward from the fit in steps of a fraction of the standard error. At each
place the other parameter is fitted anew, and z, the signed root of twice the rise of the negative
log-likelihood, is noted. The interval ends where z is -1.96 and 1.96.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.stats import chi2, norm

from .box_minimizer import NotFiniteError, Objective, minimize_in_box

_FARTHEST = math.sqrt(chi2.ppf(1 - 0.01 / 2, df=2))
STEP = _FARTHEST / 5
_MAX_STEPS = 100
_CLOSER_LOOK = (0.2, 0.4, 0.6, 0.8, 0.9)
_FEW_POINTS = 5
_BETTER_BY = 1e-3
_LEVEL = norm.ppf(0.975)


class BetterFitError(Exception):
    """Raised when the walk comes upon parameters whose deviance is lower than that of the fit."""

    def __init__(self, parameters: tuple[float, float]):
        super().__init__(parameters)
        self.parameters = parameters


@dataclass
class ProfileWalk:
    """The walk from one fit.

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
        return float(self.parameters[0] + side * step * STEP * self.error)

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
    `scipy.interpolate.CubicSpline` has other end conditions, and other values near the ends.
    """
    curvature = np.linalg.solve(*_curvature_equations(x, y))
    width = np.diff(x)
    piece = np.clip(np.searchsorted(x, at, side="right") - 1, 0, len(x) - 2)
    h, left, right = width[piece], at - x[piece], x[piece + 1] - at
    bend = curvature[piece] * right**3 + curvature[piece + 1] * left**3
    level_left = y[piece] / h - curvature[piece] * h / 6
    level_right = y[piece + 1] / h - curvature[piece + 1] * h / 6
    return bend / (6 * h) + level_left * right + level_right * left


def _curvature_equations(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return matrix and right-hand side of the equations of the curvatures at the points."""
    size = len(x)
    width = np.diff(x)
    slope = np.diff(y) / width
    matrix, side = np.zeros((size, size)), np.zeros(size)
    for i in range(1, size - 1):
        matrix[i, i - 1 : i + 2] = width[i - 1] / 6, (width[i - 1] + width[i]) / 3, width[i] / 6
        side[i] = slope[i] - slope[i - 1]
    matrix[0, :2] = matrix[-1, -2:] = -1, 1
    side[0] = 6 * width[0] * _third_difference(x[:4], y[:4])
    side[-1] = 6 * width[-1] * _third_difference(x[-4:], y[-4:])
    return matrix, side


def _third_difference(x: np.ndarray, y: np.ndarray) -> float:
    first = np.diff(y) / np.diff(x)
    second = np.diff(first) / (x[2:] - x[:-2])
    return (second[1] - second[0]) / (x[3] - x[0])
