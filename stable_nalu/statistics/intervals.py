"""Estimates with 95 % intervals by scipy, and tests of pairs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from .estimators import RESAMPLES

_LEVEL = 0.95
STATISTICS: Mapping[str, Callable[..., np.ndarray]] = {"mean": np.mean, "median": np.median}


@dataclass(frozen=True)
class Estimate:
    """A figure and the ends of its 95 % interval; NaN where there is none."""

    mean: float
    lower: float = math.nan
    upper: float = math.nan


def wilson(successes: int, runs: int) -> Estimate:
    """Return the proportion k/n with Wilson's score interval (`scipy.stats.binomtest`)."""
    if runs == 0:
        return Estimate(math.nan)
    found = stats.binomtest(successes, runs).proportion_ci(_LEVEL, "wilson")
    return Estimate(successes / runs, float(found.low), float(found.high))


def difference(one: Estimate, other: Estimate) -> Estimate:
    """Return one - other of two independent proportions with Newcombe's interval (1998, method 10).

    Both rates have Wilson's interval. With the intervals of two means it is the method MOVER.
    """
    lower = math.hypot(one.mean - one.lower, other.upper - other.mean)
    upper = math.hypot(one.upper - one.mean, other.mean - other.lower)
    mean = one.mean - other.mean
    return Estimate(mean, mean - lower, mean + upper)


def paired_difference(pairs: Sequence[tuple[bool, bool]]) -> Estimate:
    """Return the first rate less the second of paired outcomes, with Newcombe's interval.

    It is method 10 of Newcombe (1998), "Improved confidence intervals for the difference between
    binomial proportions based on paired data": both proportions have Wilson's interval, and their
    correlation is corrected for continuity.
    """
    n = len(pairs)
    both, first = sum(a and b for a, b in pairs), sum(a for a, _ in pairs)
    second = sum(b for _, b in pairs)
    one, other = wilson(first, n), wilson(second, n)
    # ad - bc of the fourfold table.
    excess = both * (n - first - second + both) - (first - both) * (second - both)
    corrected = excess if excess < 0 else max(excess - n / 2, 0)
    scale = math.sqrt(first * (n - first) * second * (n - second))
    phi = corrected / scale if scale else 0.0

    def length(x: float, y: float) -> float:
        return math.sqrt(max(x * x - 2 * phi * x * y + y * y, 0))

    lower = length(one.mean - one.lower, other.upper - other.mean)
    upper = length(one.upper - one.mean, other.mean - other.lower)
    mean = one.mean - other.mean
    return Estimate(mean, mean - lower, mean + upper)


def student(values: np.ndarray, lowest: float = -math.inf, highest: float = math.inf) -> Estimate:
    """Return the arithmetic mean with Student's interval, cut to [lowest, highest].

    `scipy.stats.t.interval` gives the same digits, but NaN where all values are equal; here the
    interval is then a point. Fewer than two values have no interval.
    """
    n = len(values)
    if n == 0:
        return Estimate(math.nan)
    mean = float(np.mean(values))
    if n == 1:
        return Estimate(mean)
    half = float(stats.t.ppf((1 + _LEVEL) / 2, n - 1) * stats.sem(values))
    return Estimate(mean, max(mean - half, lowest), min(mean + half, highest))


def bootstrap(
    values: np.ndarray, statistic: str = "mean", *, resamples: int = RESAMPLES, seed: int = 0
) -> Estimate:
    """Return the statistic of the values with its percentile interval (`scipy.stats.bootstrap`).

    Every call draws from a generator of its own. Fewer than two values have no interval.
    """
    reduce = STATISTICS[statistic]
    if len(values) == 0:
        return Estimate(math.nan)
    center = float(reduce(values))
    if len(values) == 1:
        return Estimate(center)
    found = stats.bootstrap(
        (values,),
        reduce,
        n_resamples=resamples,
        confidence_level=_LEVEL,
        method="percentile",
        rng=np.random.default_rng(seed),
    ).confidence_interval
    return Estimate(center, float(found.low), float(found.high))


def sign_test(more: int, fewer: int) -> float:
    """Return the exact two-sided p of pairs that differ; of binary outcomes it is McNemar's."""
    return float(stats.binomtest(more, more + fewer).pvalue) if more + fewer else 1.0


def holm(values: Sequence[float]) -> list[float]:
    """Return p values adjusted for their number by Holm's step-down method (1979)."""
    order = sorted(range(len(values)), key=values.__getitem__)
    adjusted, largest = [0.0] * len(values), 0.0
    for place, index in enumerate(order):
        largest = max(largest, min(1.0, (len(values) - place) * values[index]))
        adjusted[index] = largest
    return adjusted
