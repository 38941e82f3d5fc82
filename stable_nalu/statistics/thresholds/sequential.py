"""Thresholds of the sequential MNIST tasks: from a reference network, or in closed form."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from scipy.stats import t

REFERENCE_SEEDS = {"cumprod": (0, 2, 4, 5, 6, 7, 9), "cumsum": tuple(range(10))}
"""Seeds whose reference network solved the task."""

REFERENCE_FREEDOM = 8
REFERENCE_LEVEL = 0.99
NOISE_VARIANCE = 0.125

_MEAN_SQUARE_OF_1_TO_9 = 285 / 9


def from_reference(
    errors: Mapping[int, float],
    seeds: Sequence[int],
    freedom: int = REFERENCE_FREEDOM,
    level: float = REFERENCE_LEVEL,
    *,
    of_one_run: bool = False,
) -> float:
    """Return mean + t(level, freedom) sd / sqrt(m) over the errors of the given seeds.

    errors: seed -> test error of the reference network, which has a solved accumulator, at the
        row of its lowest validation error.
    freedom: 8 in the papers, whatever the number m of seeds.
    of_one_run: whether to bound a further run in place of the mean: no division by sqrt(m).
    """
    values = np.array([errors[seed] for seed in seeds])
    spread = float(np.std(values, ddof=1)) / (1 if of_one_run else math.sqrt(len(values)))
    return float(np.mean(values)) + float(t.ppf(level, freedom)) * spread


def closed_form(operation: str, length: int) -> float:
    """Return the mean squared error of a sequence whose digits are read with a variance of 0.125.

    cumprod, digits 1 to 9: mean over t <= L of (q + s)^t - q^t, q the mean square of a digit;
    cumsum: s (L + 1)/2.
    """
    if operation == "cumsum":
        return NOISE_VARIANCE * (length + 1) / 2
    q = _MEAN_SQUARE_OF_1_TO_9
    return sum((q + NOISE_VARIANCE) ** n - q**n for n in range(1, length + 1)) / length
