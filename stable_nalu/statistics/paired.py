"""Values of the same seeds, here and elsewhere, or of two models on the same tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .estimators import LEVEL
from .intervals import Estimate, paired_difference, sign_test, wilson

if TYPE_CHECKING:
    import pandas as pd

BETTER, WORSE, ALIKE = "better", "worse", "no significant difference"


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
    def p(self) -> float:
        """Return the p of the sign test: whether less and more are equally likely."""
        return sign_test(self.less, self.more)

    @property
    def steps(self) -> str:
        """Return in words what pairs of steps show."""
        told = f"{self.same} of {len(self.values)} at the same step"
        moved = f"{self.less} sooner, {self.more} later, p = {self.p:.2g}"
        return f"{told}; {moved}" if self.less or self.more else told

    @property
    def claim(self) -> str:
        """Return in words how many agree with the claim that ours are lower, and the interval."""
        share = wilson(self.less, len(self.values))
        return (
            f"{self.less} of {len(self.values)} runs of the same seed "
            f"[{100 * share.lower:.0f}–{100 * share.upper:.0f} %], p = {self.p:.2g}"
        )


@dataclass(frozen=True, repr=False)
class PairedTest:
    """Runs of two models, compared pair by pair.

    labels: of both models. won, lost: pairs that the first alone, and the second alone, has solved;
        both: that both have.
    difference: the success rate of the first less that of the second, with the interval of pairs.
    p: of McNemar's exact test. lengths: iterations of both.
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
            f"  p = {self.p:.3g} (McNemar's exact test)",
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
    gap = paired_difference(pairs) if pairs else Estimate(float("nan"))
    return PairedTest(labels, len(pairs), both, won, lost, gap, sign_test(won, lost), lengths)
