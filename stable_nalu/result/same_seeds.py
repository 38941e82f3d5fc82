"""Seeds that were run here and in the papers, one by one: outcomes, and steps where both solved.

Some of the published seeds are no sample of all. What became of each is compared with what the
papers' files tell of the same seed, and with nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stable_nalu.paper.experiment import seeds_text
from stable_nalu.paper.published import Published, PublishedSeeds, published_seeds
from stable_nalu.statistics.intervals import sign_test

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class SolvedSteps:
    """Where seeds were solved that are solved here and in the papers, as pairs of steps."""

    pairs: Sequence[tuple[float, float]]

    @property
    def same(self) -> int:
        """Return how many are solved at the same logged step."""
        return sum(ours == theirs for ours, theirs in self.pairs)

    @property
    def sooner(self) -> int:
        """Return how many are solved sooner here."""
        return sum(ours < theirs for ours, theirs in self.pairs)

    @property
    def later(self) -> int:
        """Return how many are solved later here."""
        return len(self.pairs) - self.same - self.sooner

    @property
    def means(self) -> tuple[float, float]:
        """Return the arithmetic means, here and in the papers."""
        ours, theirs = (sum(side) / len(self.pairs) for side in zip(*self.pairs, strict=True))
        return ours, theirs

    @property
    def p(self) -> float:
        """Return the p of the sign test: whether sooner and later are equally likely."""
        return sign_test(self.sooner, self.later)

    def __str__(self) -> str:
        told = f"{self.same} of {len(self.pairs)} at the same step"
        moved = f"{self.sooner} sooner, {self.later} later, p = {self.p:.2g}"
        return f"{told}; {moved}" if self.sooner or self.later else told


@dataclass(frozen=True)
class Chosen:
    """Some of the published seeds, the runs of them here, and how many end as published.

    steps: of seeds that are solved on both sides; None where the papers do not tell them.
    """

    seeds: tuple[int, ...]
    runs: int
    same: int
    steps: SolvedSteps | None = None

    def __str__(self) -> str:
        what = "chosen seeds" if self.runs == len(self.seeds) else "runs of chosen seeds"
        seeds = seeds_text(self.seeds).replace(",", ", ")
        return f"{self.same} of {self.runs} {what} ({seeds}) end as published"


def chosen_of(point: Published, runs: pd.DataFrame) -> Chosen | None:
    """Return what became of runs that are only some of the published ones.

    None where they are all, or where the outcome of a seed is not known.
    """
    fates = fates_of(point, runs)
    if fates is None or len(runs) >= point.runs:
        return None
    same = sum(ours == theirs for ours, theirs in fates)
    known = _known_of(point)
    steps = None if known is None else steps_of(known, runs)
    return Chosen(tuple(sorted(set(runs["seed"].tolist()))), len(runs), same, steps)


def fates_of(point: Published, runs: pd.DataFrame) -> list[tuple[bool, bool]] | None:
    """Return per run whether it is solved here and in the papers; None where a seed is unknown.

    Where all published runs or none were solved, the outcome of every seed follows.
    """
    ours = list(zip(runs["seed"].tolist(), runs["solved"].astype(bool).tolist(), strict=True))
    if point.solved in (0, point.runs) and all(0 <= seed < point.runs for seed, _ in ours):
        return [(solved, point.solved > 0) for _, solved in ours]
    known = _known_of(point)
    if known is None or not all(0 <= seed < known.runs for seed, _ in ours):
        return None
    return [(solved, seed in known.solved_at) for seed, solved in ours]


def _known_of(point: Published) -> PublishedSeeds | None:
    wanted = (point.model, point.operation)
    every = published_seeds(point.experiment)
    return next((one for one in every if (one.model, one.operation) == wanted), None)


def steps_of(known: PublishedSeeds, runs: pd.DataFrame) -> SolvedSteps | None:
    """Return the steps of seeds that are solved on both sides; None where there are none."""
    from stable_nalu.statistics.summary import STEP

    solved = runs.loc[runs["solved"].astype(bool)]
    ours = zip(solved["seed"].tolist(), solved[STEP].tolist(), strict=True)
    pairs = [(step, known.solved_at[seed]) for seed, step in ours if seed in known.solved_at]
    return SolvedSteps(pairs) if pairs else None
