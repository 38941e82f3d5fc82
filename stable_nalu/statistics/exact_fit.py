"""Maximum-likelihood mean of a two-parameter density, with its profile-likelihood interval."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import brentq, minimize_scalar
from scipy.stats import chi2

from .box_minimizer import Objective
from .published_fit import MeanFit

_RISE = float(chi2.ppf(0.95, df=1)) / 2
_NUISANCE_DECADES = 8
_SMALLEST = 1e-300


def exact_fit(
    objective: Objective, start: tuple[float, float], lower: float, upper: float
) -> MeanFit:
    """Minimise a negative log-likelihood of (mean, nuisance) over lower < mean < upper.

    The nuisance parameter, positive, is fitted on a log scale at every mean.
    """
    # Moments of few, far-apart values can give a nuisance that no density has.
    center = math.log10(start[1]) if start[1] > 0 else 0.0

    def nuisance(mean: float) -> tuple[float, float]:
        def at(power: float) -> float:
            return _at(objective, mean, 10.0**power)

        power = _lowest(at, center - _NUISANCE_DECADES, center + _NUISANCE_DECADES, 1e-10)
        return 10.0**power, at(power)

    return _around_minimum(nuisance, start[0], lower, upper)


def fit_with_nuisance_known(
    objective: Objective, start: tuple[float, float], lower: float, upper: float
) -> MeanFit:
    """Minimise it over the mean alone, with the nuisance parameter held at its start."""

    def fixed(mean: float) -> tuple[float, float]:
        return start[1], _at(objective, mean, start[1])

    return _around_minimum(fixed, start[0], lower, upper)


def _at(objective: Objective, mean: float, nuisance: float) -> float:
    return float(objective(np.array([[mean], [nuisance]]))[0])


def _around_minimum(
    profile: Callable[[float], tuple[float, float]], start: float, lower: float, upper: float
) -> MeanFit:
    """Return the lowest point of a profile and where it has risen by 1.92, or else the bound."""
    most = 10 * start if math.isinf(upper) else min(10 * start, upper)
    mean = _lowest(lambda m: profile(m)[1], max(start / 10, lower), most, 1e-10 * start)
    nuisance, best = profile(mean)

    def excess(m: float) -> float:
        return profile(m)[1] - best - _RISE

    return MeanFit(
        mean,
        _crossing(excess, mean, lower, 0.5),
        _crossing(excess, mean, upper, 2.0),
        nuisance,
    )


def _lowest(function: Callable[[float], float], low: float, high: float, tolerance: float) -> float:
    options = {"xatol": tolerance}
    found: Any = minimize_scalar(function, bounds=(low, high), method="bounded", options=options)
    return float(found.x)


def _crossing(excess: Callable[[float], float], mean: float, bound: float, factor: float) -> float:
    """Return the root of `excess` between mean and bound, sought by growing steps from the mean."""
    inner = mean
    while True:
        outer = inner * factor
        passed = outer <= bound if factor < 1 else outer >= bound
        if passed or outer < _SMALLEST:
            outer = math.nextafter(bound, mean)
            if excess(outer) < 0:
                return bound
        if excess(outer) >= 0:
            root: Any = brentq(excess, inner, outer, xtol=1e-12 * mean)
            return float(root)
        inner = outer
