"""Plain mean and median of a sample, with seeded percentile bootstrap intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from .intervals import Estimate

RESAMPLES = 10_000
STATISTICS: Mapping[str, Callable[..., np.ndarray]] = {"mean": np.mean, "median": np.median}


def bootstrap(
    values: np.ndarray, statistic: str = "mean", *, resamples: int = RESAMPLES, seed: int = 0
) -> Estimate:
    """Statistic of the values and the 2.5 % and 97.5 % points of its resampled ones.

    Every call draws from a generator of its own. Fewer than two values have no interval.
    """
    reduce = STATISTICS[statistic]
    if len(values) == 0:
        return Estimate(math.nan, math.nan, math.nan)
    center = float(reduce(values))
    if len(values) == 1:
        return Estimate(center, math.nan, math.nan)
    draws = np.random.default_rng(seed).integers(len(values), size=(resamples, len(values)))
    lower, upper = np.quantile(reduce(values[draws], axis=1), [0.025, 0.975])
    return Estimate(center, float(lower), float(upper))
