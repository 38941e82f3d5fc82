"""Second derivatives as `hessian` of the R package numDeriv makes them, with its default steps.

They are central differences, extrapolated by Richardson's method. `scipy.differentiate.hessian`
extrapolates, too, but chooses its steps by an error estimate. The steps decide the digits, and
whether a small parameter leaves the domain of the density.
"""

from __future__ import annotations

import numpy as np

from .box_minimizer import Objective

_RELATIVE_STEP = 0.1
_ABSOLUTE_STEP = 1e-4
_NEAR_ZERO = np.sqrt(np.finfo(float).eps / 7e-7)
_ROUNDS = 4


def hessian(objective: Objective, parameters: np.ndarray) -> np.ndarray:
    """Return the matrix of second derivatives of an objective of few parameters.

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
