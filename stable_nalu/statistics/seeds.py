"""Rates, differences and tests of runs of which several have the same seed.

Runs of a seed begin with the same weights and draw the same samples in every range, so that whole
seeds are drawn, not runs. Where each seed has one run, the results are the usual ones.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd

from .intervals import Estimate, paired_difference, student, wilson
from .setups import LEVEL

Seeds = Sequence[Hashable]


def _summed(seeds: Seeds, values: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
    """Return the sum of the values of each seed, and their number."""
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


def effect_of(runs: pd.DataFrame) -> float:
    """Return the effect of the seeds of judged runs."""
    return effect(runs["seed"].tolist(), runs["solved"].to_numpy(bool).tolist())


def rate(seeds: Seeds, solved: Sequence[bool]) -> Estimate:
    """Return the share of solved runs with Wilson's interval, of as many runs as seeds tell."""
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
    gains, _ = _summed(seeds, [float(one) - float(other) for one, other in pairs])
    return _exchanged(tuple(sorted(gains.astype(int).tolist())))


@cache
def _exchanged(gains: tuple[int, ...]) -> float:
    """Return how likely a sum as far from 0 is if every gain may have either sign."""
    total = sum(map(abs, gains))
    law = np.zeros(2 * total + 1)
    law[total] = 1.0
    for gain in gains:
        law = (np.roll(law, gain) + np.roll(law, -gain)) / 2
    far = np.abs(np.arange(-total, total + 1)) >= abs(sum(gains))
    return float(law[far].sum())


BETTER, WORSE, ALIKE = "better", "worse", "no significant difference"


@dataclass(frozen=True, repr=False)
class PairedTest:
    """Runs of two models, compared pair by pair.

    labels: of both models. won, lost: pairs that the first alone, and the second alone, has solved;
        both: that both have.
    difference: the success rate of the first less that of the second, with the interval of pairs.
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
        """Return what the test says of the first model."""
        if self.p >= LEVEL:
            return ALIKE
        return BETTER if self.won > self.lost else WORSE

    def __repr__(self) -> str:
        one, other = self.labels
        rate, low, high = (
            f"{100 * x:+.0f}"
            for x in (self.difference.mean, self.difference.lower, self.difference.upper)
        )
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
    labels: tuple[str, str], ones: pd.DataFrame, others: pd.DataFrame, by: Sequence[str]
) -> PairedTest:
    """Compare judged runs that have the same values of the columns `by`."""
    paired = ones.merge(others, on=list(by), suffixes=("", ".other"))
    outcomes = paired[["solved", "solved.other"]].astype(bool).to_numpy().tolist()
    pairs = [(one, other) for one, other in outcomes]
    won, lost = pairs.count((True, False)), pairs.count((False, True))
    lengths = (max(ones["iterations"].tolist()), max(others["iterations"].tolist()))
    both = pairs.count((True, True))
    seeds = paired["seed"].tolist()
    found = gap(seeds, pairs) if pairs else Estimate(float("nan"))
    return PairedTest(labels, len(pairs), both, won, lost, found, p_value(seeds, pairs), lengths)
