"""Estimates with 95 % intervals by scipy, and tests of pairs.

Pairs are of values of the same seeds, here and elsewhere, or of two models on the same tasks.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy import stats

from .setups import RESAMPLES

_LEVEL = 0.95
_SMALLEST = 1e-16
"""What stands for a value of 0, which has no logarithm."""
_Z = float(stats.norm.ppf((1 + _LEVEL) / 2))
STATISTICS: Mapping[str, Callable[..., np.ndarray]] = {"mean": np.mean, "median": np.median}


class Estimate(NamedTuple):
    """A figure and the ends of its 95 % interval; NaN where there is none."""

    mean: float
    lower: float = math.nan
    upper: float = math.nan


def wilson(successes: int, runs: int, effect: float = 1.0) -> Estimate:
    """Return the proportion k/n with Wilson's score interval (`scipy.stats.binomtest`).

    effect: the variance of the count as a multiple of the binomial one; n / effect runs count.
    """
    if runs == 0:
        return Estimate(math.nan)
    if effect != 1:
        share, z = successes / runs, _Z * math.sqrt(effect / runs)
        center, half = share + z * z / 2, z * math.sqrt(share * (1 - share) + z * z / 4)
        return Estimate(share, (center - half) / (1 + z * z), (center + half) / (1 + z * z))
    found = stats.binomtest(successes, runs).proportion_ci(_LEVEL, "wilson")
    return Estimate(successes / runs, float(found.low), float(found.high))


def counted(successes: int, runs: int, effect: float = 1.0) -> str:
    """Return `3 of 4 [30–95 %]`, the count with the interval of its rate."""
    rate = wilson(successes, runs, effect)
    return f"{successes} of {runs} [{100 * rate.lower:.0f}–{100 * rate.upper:.0f} %]"


def difference(one: Estimate, other: Estimate) -> Estimate:
    """Return one - other of two independent proportions with Newcombe's interval (1998, method 10).

    Both rates have Wilson's interval. With the intervals of two means it is the method MOVER.
    """
    return _difference(one, other, math.hypot)


def _difference(
    one: Estimate, other: Estimate, length: Callable[[float, float], float]
) -> Estimate:
    """Return one - other; the way to each end is the length of those of both."""
    lower = length(one.mean - one.lower, other.upper - other.mean)
    upper = length(one.upper - one.mean, other.mean - other.lower)
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
    # ad - bc of the fourfold table.
    excess = both * (n - first - second + both) - (first - both) * (second - both)
    corrected = excess if excess < 0 else max(excess - n / 2, 0)
    scale = math.sqrt(first * (n - first) * second * (n - second))
    phi = corrected / scale if scale else 0.0

    def length(x: float, y: float) -> float:
        return math.sqrt(max(x * x - 2 * phi * x * y + y * y, 0))

    return _difference(wilson(first, n), wilson(second, n), length)


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


@cache
def sign_test(more: int, fewer: int) -> float:
    """Return the exact two-sided p of pairs that differ."""
    return float(stats.binomtest(more, more + fewer).pvalue) if more + fewer else 1.0


def holm(values: Sequence[float]) -> list[float]:
    """Return p values adjusted for their number by Holm's step-down method (1979)."""
    order = sorted(range(len(values)), key=values.__getitem__)
    adjusted, largest = [0.0] * len(values), 0.0
    for place, index in enumerate(order):
        largest = max(largest, min(1.0, (len(values) - place) * values[index]))
        adjusted[index] = largest
    return adjusted


@dataclass(frozen=True)
class Pairs:
    """Pairs of a value of ours and one of the same seed elsewhere, or of another model."""

    values: Sequence[tuple[float, float]]

    @property
    def same(self) -> int:
        """Return how many pairs are of equal values."""
        return sum(ours == theirs for ours, theirs in self.values)

    @property
    def less(self) -> int:
        """Return in how many pairs our value is the lower one."""
        return sum(ours < theirs for ours, theirs in self.values)

    @property
    def more(self) -> int:
        """Return in how many pairs our value is not the lower one, nor equal."""
        return len(self.values) - self.same - self.less

    @property
    def means(self) -> tuple[float, float]:
        """Return the arithmetic means, ours first."""
        ours, theirs = (sum(side) / len(self.values) for side in zip(*self.values, strict=True))
        return ours, theirs

    @property
    def ratio(self) -> Estimate:
        """Return the mean ratio of our values to the others, less 1, by Student's of logarithms."""
        ours, theirs = np.log(np.maximum(self.values, _SMALLEST)).T
        found = student(ours - theirs)
        return Estimate(*(math.expm1(end) for end in (found.mean, found.lower, found.upper)))

    @property
    def p(self) -> float:
        """Return the p of the sign test: whether less and more are equally likely."""
        return sign_test(self.less, self.more)

    @property
    def steps(self) -> str:
        """Return in words what pairs of steps show."""
        equal = f"{self.same} of {len(self.values)} at the same step"
        moved = f"{self.less} sooner, {self.more} later, p = {self.p:.2g}"
        return f"{equal}; {moved}" if self.less or self.more else equal

    @property
    def claim(self) -> str:
        """Return in words how many agree with the claim that ours are lower, and the interval."""
        share = wilson(self.less, len(self.values))
        return (
            f"{self.less} of {len(self.values)} runs of the same seed "
            f"[{100 * share.lower:.0f}–{100 * share.upper:.0f} %], p = {self.p:.2g}"
        )
