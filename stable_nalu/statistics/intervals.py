"""Estimates with 95 % intervals by scipy, and tests of pairs.

Pairs are of values of the same seeds, here and elsewhere, or of two models on the same tasks. Runs
of a seed begin with the same weights and draw the same samples in every range, so that whole seeds
are drawn, not runs. Where each seed has one run, the results are the usual ones.
"""

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import stats

from stable_nalu.base.script import plain

from . import latex
from .setups import LEVEL, RESAMPLES

if TYPE_CHECKING:
    import pandas as pd

Seeds = Sequence[Hashable]
Length = Callable[[float, float], float]
_LEVEL = 0.95
_SMALLEST = 1e-16
"""Replaces a value of 0, which has no logarithm."""
_Z = float(stats.norm.ppf((1 + _LEVEL) / 2))
STATISTICS = {"mean": np.mean, "median": np.median}
BETTER, WORSE, ALIKE = "better", "worse", "no significant difference"


class Estimate(NamedTuple):
    """A number and the ends of its 95 % interval, or NaN."""

    mean: float
    lower: float = math.nan
    upper: float = math.nan


@cache
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


def difference(one: Estimate, other: Estimate, length: Length = math.hypot) -> Estimate:
    """Return one - other of two independent proportions with Newcombe's interval (1998, method 10).

    Both rates have Wilson's interval. With the intervals of two means it is the method MOVER.

    length: joins the distances of both rates to an end into the distance of the difference.
    """
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

    return difference(wilson(first, n), wilson(second, n), length)


def student(values: np.ndarray, lowest: float = -math.inf, highest: float = math.inf) -> Estimate:
    """Return the arithmetic mean with Student's interval, cut to [lowest, highest].

    `scipy.stats.t.interval` gives the same digits, but NaN where all values are equal; here the
    interval is then a point. Fewer than two values have no interval.
    """
    mean = float(np.mean(values)) if len(values) else math.nan
    if len(values) < 2:
        return Estimate(mean)
    half = float(stats.t.ppf((1 + _LEVEL) / 2, len(values) - 1) * stats.sem(values))
    return Estimate(mean, max(mean - half, lowest), min(mean + half, highest))


def bootstrap(
    values: np.ndarray, statistic: str = "mean", *, resamples: int = RESAMPLES, seed: int = 0
) -> Estimate:
    """Return the statistic of the values with its percentile interval (`scipy.stats.bootstrap`).

    Every call draws from a generator of its own. Fewer than two values have no interval.
    """
    reduce = STATISTICS[statistic]
    center = float(reduce(values)) if len(values) else math.nan
    if len(values) < 2:
        return Estimate(center)
    how = {"confidence_level": _LEVEL, "method": "percentile", "rng": np.random.default_rng(seed)}
    found = stats.bootstrap((values,), reduce, n_resamples=resamples, **how).confidence_interval
    return Estimate(center, float(found.low), float(found.high))


@cache
def sign_test(more: int, fewer: int) -> float:
    return float(stats.binomtest(more, more + fewer).pvalue) if more + fewer else 1.0


def holm(values: Sequence[float]) -> list[float]:
    """Return p values adjusted for their number by Holm's step-down method (1979)."""
    order = sorted(range(len(values)), key=values.__getitem__)
    steps = [(len(values) - place) * values[index] for place, index in enumerate(order)]
    adjusted = np.empty(len(values))
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1)
    return adjusted.tolist()


@dataclass
class Pairs:
    """Pairs of a value of ours and one of the same seed elsewhere, or of another model.

    same, less: in how many our value is equal, or the lower one. p: of the sign test.
    """

    values: Sequence[tuple[float, float]]

    def __post_init__(self) -> None:
        self.same = sum(ours == theirs for ours, theirs in self.values)
        self.less = sum(ours < theirs for ours, theirs in self.values)
        self.more = len(self.values) - self.same - self.less
        self.p = sign_test(self.less, self.more)

    @property
    def means(self) -> tuple[float, float]:
        ours, theirs = (sum(side) / len(self.values) for side in zip(*self.values, strict=True))
        return ours, theirs

    @property
    def ratio(self) -> Estimate:
        """Return the mean ratio of our values to the others, less 1, by Student's of logarithms."""
        ours, theirs = np.log(np.maximum(self.values, _SMALLEST)).T
        found = student(ours - theirs)
        return Estimate(*(math.expm1(end) for end in (found.mean, found.lower, found.upper)))

    @property
    def steps(self) -> str:
        equal = f"{self.same} of {len(self.values)} at the same step"
        moved = f"{self.less} sooner, {self.more} later, p = {self.p:.2g}"
        return f"{equal}; {moved}" if self.less or self.more else equal

    @property
    def claim(self) -> str:
        """Return in words how many agree with the claim that ours are lower, and the interval."""
        count, _, ends = counted(self.less, len(self.values)).partition(" [")
        return f"{count} runs of the same seed [{ends}, p = {self.p:.2g}"


def _summed(seeds: Seeds, values: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
    _, of = np.unique([str(seed) for seed in seeds], return_inverse=True)
    return np.bincount(of, np.asarray(values, float)), np.bincount(of)


def effect(seeds: Seeds, solved: Sequence[bool]) -> float:
    """Return the variance of solved runs per seed, as a multiple of the binomial one.

    It is 1 where each seed has one run, and where the seeds tell no variance.
    """
    if len(set(seeds)) == len(seeds):
        return 1.0
    sums, runs = _summed(seeds, solved)
    share = sums.sum() / runs.sum()
    binomial = runs.mean() * share * (1 - share)
    if len(runs) < 2 or not binomial:
        return 1.0
    variance = float(((sums - share * runs) ** 2).sum()) / (len(runs) - 1)
    return variance / binomial if variance > 1e-12 else 1.0


def effect_of(runs: "pd.DataFrame") -> float:
    return effect(runs["seed"].tolist(), runs["solved"].to_numpy(bool).tolist())


def rate(seeds: Seeds, solved: Sequence[bool]) -> Estimate:
    return wilson(int(np.sum(solved)), len(solved), effect(seeds, solved))


def gap(seeds: Seeds, pairs: Sequence[tuple[bool, bool]]) -> Estimate:
    """Return the first rate less the second of paired outcomes, with its interval.

    It is Student's of the means of seeds; of one pair for each seed, or equal means, Newcombe's.
    """
    gains, runs = _summed(seeds, [float(one) - float(other) for one, other in pairs])
    means = gains / runs
    if len(runs) == len(seeds) or np.ptp(means) == 0:
        return paired_difference(pairs)
    found = student(means, -1, 1)
    mean = float(gains.sum() / runs.sum())
    return Estimate(mean, mean - found.mean + found.lower, mean - found.mean + found.upper)


def p_value(seeds: Seeds, pairs: Sequence[tuple[bool, bool]]) -> float:
    """Return the exact two-sided p of paired outcomes, by exchanging the sides of whole seeds.

    Of one pair for each seed it is McNemar's.
    """
    gains: dict[str, int] = {}
    for seed, (one, other) in zip(map(str, seeds), pairs, strict=True):
        gains[seed] = gains.get(seed, 0) + bool(one) - bool(other)
    return _exchanged(tuple(sorted(gains.values())))


@cache
def _exchanged(gains: tuple[int, ...]) -> float:
    """Return how likely a sum as far from 0 is if every gain may have either sign."""
    total = sum(map(abs, gains))
    law = np.zeros(2 * total + 1)
    law[total] = 1.0
    for gain in filter(None, gains):
        law = (np.roll(law, gain) + np.roll(law, -gain)) / 2
    far = np.abs(np.arange(-total, total + 1)) >= abs(sum(gains))
    return float(law[far].sum())


@dataclass(frozen=True, repr=False)
class PairedTest:
    """Runs of two models, compared pair by pair.

    labels: of both models. won, lost: pairs that the first alone, and the second alone, has solved;
        both: that both have.
    difference: the success rate of the first minus the second's, with the interval of pairs.
    p: exact, by exchanging the sides of whole seeds. lengths: iterations of both.
    """

    labels: tuple[str, str]
    pairs: int
    both: int
    won: int
    lost: int
    difference: Estimate
    p: float
    lengths: tuple[int, int]

    @property
    def verdict(self) -> str:
        if self.p >= LEVEL:
            return ALIKE
        return BETTER if self.won > self.lost else WORSE

    @property
    def row(self) -> dict[str, Any]:
        """Return the row of a `Comparison`, of which this is the only test."""
        gap = zip(("", "_low", "_high"), self.difference, strict=True)
        return {
            **{"model_a": self.labels[0], "model_b": self.labels[1], "pairs": self.pairs},
            **{"solved_a": self.both + self.won, "solved_b": self.both + self.lost},
            **{"only_a": self.won, "only_b": self.lost},
            **{f"difference{end}": value for end, value in gap},
            **{"p": self.p, "p_holm": self.p, "verdict": self.verdict},
        }

    def to_latex(self, *, caption: str | None = None, label: str | None = None) -> str:
        """Return a table for a paper, which needs the package booktabs."""
        return latex.of_tests([self.row], caption, label)

    def __repr__(self) -> str:
        one, other = map(plain, self.labels)
        rate, low, high = (f"{100 * x:+.0f}" for x in self.difference)
        lines = [
            f"{one} against {other}: {self.verdict}",
            f"  pairs of one task and seed: {self.pairs}",
            f"  solved: {self.both + self.won} against {self.both + self.lost}; "
            f"{one} alone {self.won}, {other} alone {self.lost}",
            f"  difference of success rates: {rate} % (95 % interval {low} to {high} %)",
            f"  p = {self.p:.3g} (exact, by whole seeds)",
        ]
        if self.lengths[0] != self.lengths[1]:
            steps = " and ".join(f"{n:,}" for n in self.lengths)
            lines.append(f"  not the same training: {steps} iterations")
        return "\n".join(lines)


def paired_test(
    labels: tuple[str, str], ones: "pd.DataFrame", others: "pd.DataFrame", by: Sequence[str]
) -> PairedTest:
    paired = ones.merge(others, on=list(by), suffixes=("", ".other"))
    pairs = [*zip(paired["solved"].astype(bool), paired["solved.other"].astype(bool), strict=True)]
    both, won, lost = map(pairs.count, ((True, True), (True, False), (False, True)))
    seeds = paired["seed"].tolist()
    found = gap(seeds, pairs) if pairs else Estimate(math.nan)
    lengths = (max(ones["iterations"].tolist()), max(others["iterations"].tolist()))
    return PairedTest(labels, len(pairs), both, won, lost, found, p_value(seeds, pairs), lengths)
