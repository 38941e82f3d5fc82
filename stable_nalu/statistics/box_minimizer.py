"""The minimiser of the published fits: R's `optim(method = "L-BFGS-B")` with its defaults.

The algorithm is scipy's. What R has of its own is the gradient, by central differences over an
absolute step of 1e-3 cut short at a bound, and when it stops: scipy's gradient has one-sided
relative steps around 1e-8 and its defaults stop elsewhere, both of which move the digits. The
parameters are not scaled, so that around 1e6 the minimiser stops after one step; this is part of
the published figures.

What takes the time is calls of the objective, so each one is for many places.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
from scipy.optimize import minimize

Objective = Callable[[np.ndarray], np.ndarray]
"""From an array with one column of parameters for every place to the values at the places."""
ValueAndGradient = Callable[[np.ndarray], tuple[float, np.ndarray]]

_STEP = 1e-3
_CORRECTIONS = 5
_REDUCTION = 1e7
_MAX_ITERATIONS = 100
_MAX_LINE_SEARCH = 20

# What scipy's compiled routine asks for and is told, and its kinds of bounds.
_NEXT_ITERATION, _EVALUATE = 1, 3
_STOP = 5, 504
_BOUNDS = {(False, False): 0, (True, False): 1, (True, True): 2, (False, True): 3}


class NotFiniteError(Exception):
    """Raised when the objective has no finite value where the minimiser went."""


def minimize_in_box(
    objective: Objective,
    start: Sequence[float] | np.ndarray,
    lower: Sequence[float],
    upper: Sequence[float],
) -> tuple[np.ndarray, float]:
    """Return the parameters where the minimiser stops, converged or not, and their objective."""

    def at(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        return value_and_gradient(objective, parameters, lower, upper)

    run = _directly if _is_known() else _through_scipy
    return run(at, np.array(start, dtype=float), lower, upper)


def _through_scipy(
    evaluate: ValueAndGradient,
    start: np.ndarray,
    lower: Sequence[float],
    upper: Sequence[float],
) -> tuple[np.ndarray, float]:
    result = minimize(
        evaluate,
        start,
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


def _directly(
    evaluate: ValueAndGradient,
    start: np.ndarray,
    lower: Sequence[float],
    upper: Sequence[float],
) -> tuple[np.ndarray, float]:
    """Do what `minimize` does without what it adds, which takes as long as the objective."""
    size, m = len(start), _CORRECTIONS
    low, high = np.array(lower, dtype=float), np.array(upper, dtype=float)
    ends = np.isfinite([low, high])
    kinds = np.array([_BOUNDS[bool(a), bool(b)] for a, b in ends.T], dtype=np.int32)
    x = np.clip(start, low, high)
    low[~ends[0]] = high[~ends[1]] = 0
    value: Any = np.array(0.0)
    gradient = np.zeros(size)
    work = np.zeros(2 * m * size + 5 * size + 11 * m * m + 8 * m)
    task = np.zeros(2, dtype=np.int32)
    lengths = (3 * size, 4, 44, 2)
    places, flags, counts, search = (np.zeros(length, dtype=np.int32) for length in lengths)
    numbers = np.zeros(29)
    iterations = 0
    while True:
        _setulb()(
            *(m, x, low, high, kinds, value, gradient, _REDUCTION, 0.0, work, places, task),
            *(flags, counts, numbers, _MAX_LINE_SEARCH, search),
        )
        if task[0] == _EVALUATE:
            value, gradient = evaluate(x)
        elif task[0] != _NEXT_ITERATION:
            return x, float(value)
        else:
            iterations += 1
            if iterations >= _MAX_ITERATIONS:
                task[:] = _STOP


@cache
def _setulb() -> Callable[..., None]:
    return importlib.import_module("scipy.optimize._lbfgsb").setulb


@cache
def _is_known() -> bool:
    """Return whether this scipy's compiled routine, which is not public, does as `minimize`."""

    def bowl(p: np.ndarray) -> tuple[float, np.ndarray]:
        calls.append(p.tolist())
        if len(calls) > 2 * _MAX_LINE_SEARCH:
            raise NotFiniteError
        off = p - [3, -1]
        return float((off**4).sum()), 4 * off**3

    found = []
    for run in (_through_scipy, _directly):
        calls: list[list[float]] = []
        try:
            x, value = run(bowl, np.array([9.0, -4.0]), (-math.inf, -2.0), (8.0, math.inf))
        except Exception:
            return False
        found.append((calls, x.tolist(), value))
    return found[0] == found[1]


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
        above, below = min(value + _STEP, upper[i]), max(value - _STEP, lower[i])
        places[i, 1 + 2 * i], places[i, 2 + 2 * i] = above, below
        width_above = _STEP if above < upper[i] else above - value
        width_below = _STEP if below > lower[i] else value - below
        widths[i] = width_above + width_below
    values = objective(places)
    if not all(map(math.isfinite, values.tolist())):
        raise NotFiniteError
    return float(values[0]), (values[1::2] - values[2::2]) / widths
