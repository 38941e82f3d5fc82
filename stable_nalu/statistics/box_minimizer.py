"""The minimiser of the published fits: R's `optim(method = "L-BFGS-B")` with its defaults.

The algorithm is scipy's. What R has of its own is the gradient, by central differences over an
absolute step of 1e-3 cut short at a bound, and when it stops: scipy's gradient has one-sided
relative steps around 1e-8 and its defaults stop elsewhere, both of which move the digits. The
parameters are not scaled, so that around 1e6 the minimiser stops after one step; this is part of
the published figures.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.optimize import minimize

Objective = Callable[[np.ndarray], float]

_STEP = 1e-3
_RELATIVE_REDUCTION = 1e7 * np.finfo(float).eps


class NotFiniteError(Exception):
    """Raised when the objective has no finite value where the minimiser went."""


def minimize_in_box(
    objective: Objective,
    start: Sequence[float] | np.ndarray,
    lower: Sequence[float],
    upper: Sequence[float],
) -> tuple[np.ndarray, float]:
    """Return the parameters where the minimiser stops, converged or not, and their objective."""

    def finite(parameters: np.ndarray) -> float:
        value = objective(parameters)
        if not np.isfinite(value):
            raise NotFiniteError
        return value

    result = minimize(
        finite,
        np.asarray(start, dtype=float),
        jac=lambda p: differenced_gradient(finite, p, lower, upper),
        method="L-BFGS-B",
        bounds=list(zip(lower, upper, strict=True)),
        options={"maxcor": 5, "ftol": _RELATIVE_REDUCTION, "gtol": 0.0, "maxiter": 100},
    )
    return result.x, float(result.fun)


def differenced_gradient(
    objective: Objective, parameters: np.ndarray, lower: Sequence[float], upper: Sequence[float]
) -> np.ndarray:
    """Return central differences over absolute steps of 1e-3, which are cut short at a bound."""
    gradient = np.empty(len(parameters))
    for i, value in enumerate(parameters):
        above, below = parameters.copy(), parameters.copy()
        above[i] = min(value + _STEP, upper[i])
        below[i] = max(value - _STEP, lower[i])
        width_above = _STEP if above[i] < upper[i] else above[i] - value
        width_below = _STEP if below[i] > lower[i] else value - below[i]
        width = width_above + width_below
        gradient[i] = (objective(above) - objective(below)) / width
    return gradient
