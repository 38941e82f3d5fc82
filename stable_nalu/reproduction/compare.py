"""Reproduced numbers beside the published ones."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stable_nalu.catalogue.published import Interval, Published, published_seeds

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Comparison:
    """One published point and what the runs at hand give for it.

    of_seeds: the published counts, solved of all, of the same seeds where they are known.
    summary: the summary of these runs, by the columns of `statistics.summary`.
    """

    published: Published
    of_seeds: tuple[int, int] | None
    solved: int
    runs: int
    summary: Mapping[str, float]

    @property
    def counts(self) -> tuple[int, int]:
        """Return how many published runs were solved, and how many ours are compared with."""
        return self.of_seeds or (self.published.solved, self.published.runs)

    @property
    def overlap(self) -> bool:
        """Return whether the Wilson intervals of both success rates have a point in common."""
        from stable_nalu.statistics.intervals import wilson

        theirs = wilson(*self.counts)
        ours = wilson(self.solved, self.runs)
        return theirs.lower <= ours.upper and ours.lower <= theirs.upper

    @property
    def mean_overlap(self) -> bool | None:
        """Return the same for the mean steps solved at, or None where one has no interval."""
        return _overlap(self.published.mean, self.summary, "converged.at")

    @property
    def sparsity_overlap(self) -> bool | None:
        """Return the same for the sparsity errors; a published limit is compared as a limit."""
        return _overlap(self.published.sparsity, self.summary, "sparse.error")

    def row(self) -> dict[str, Any]:
        """Return the cells of the comparison table by their columns."""
        known, ours = self.published, self.summary
        return {
            "model": known.model,
            "operation": known.operation,
            "point": known.point,
            "published.solved": self.counts[0],
            "published.runs": self.counts[1],
            "solved": self.solved,
            "runs": self.runs,
            "intervals.overlap": "yes" if self.overlap else "no",
            "published.median": known.median,
            "median": ours["converged.at.median"],
            "published.mean": known.mean.value,
            "mean": ours["converged.at.mean"],
            "published.sparsity": known.sparsity.value,
            "sparsity": ours["sparse.error.mean"],
            "source": known.source,
        }


def compare(points: Sequence[Published], runs: pd.DataFrame) -> list[Comparison]:
    """Compare every published point that there are runs for.

    runs: one row per judged run.
    """
    found = [(point, runs_at(point, runs)) for point in points]
    return [comparison(point, chosen) for point, chosen in found if not chosen.empty]


def runs_at(point: Published, runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs that a published point is to be compared with."""
    chosen = runs.loc[(runs["model"] == point.model) & (runs["operation"] == point.operation)]
    if point.column and point.column in chosen.columns:
        at = [same_point(value, point.point) for value in chosen[point.column]]
        return chosen.loc[at]
    return chosen


def comparison(point: Published, runs: pd.DataFrame) -> Comparison:
    """Compare a published point with the runs for it."""
    of_seeds = _counts_of_seeds(point, runs)
    return Comparison(point, of_seeds, solved_of(runs), len(runs), summary_of(runs))


def _counts_of_seeds(point: Published, runs: pd.DataFrame) -> tuple[int, int] | None:
    """Return the published counts, solved and all, of the seeds at hand, if some are left out.

    A few seeds, chosen perhaps for what is known of them, are no sample of all. The result is None
    where the papers' files do not tell what became of each seed.
    """
    seeds = frozenset(runs["seed"])
    for known in published_seeds(point.experiment):
        same = (known.model, known.operation) == (point.model, point.operation)
        if same and seeds and seeds < frozenset(range(known.runs)):
            return len(seeds & known.solved), len(seeds)
    return None


def solved_of(runs: pd.DataFrame) -> int:
    """Return how many of these runs are solved."""
    return int(runs["solved"].to_numpy(bool).sum())


def summary_of(runs: pd.DataFrame) -> dict[str, float]:
    """Return the estimates of some judged runs, made as the papers do."""
    from stable_nalu.statistics.summary import SOLVED, SPARSITY, STEP

    columns = (runs[SOLVED].astype(bool), runs[STEP].astype(float), runs[SPARSITY].astype(float))
    return _summary(*(tuple(column) for column in columns))


@functools.cache
def _summary(
    solved: tuple[bool, ...], steps: tuple[float, ...], sparsity: tuple[float, ...]
) -> dict[str, float]:
    """Return the summary; runs that several figures share are summarised once."""
    import numpy as np

    from stable_nalu.statistics.summary import summarize_group

    return summarize_group(np.array(solved, bool), np.array(steps), np.array(sparsity))


def _overlap(theirs: Interval, ours: Mapping[str, float], measure: str) -> bool | None:
    value = ours[f"{measure}.mean"]
    lower, upper = ours[f"{measure}.lower"], ours[f"{measure}.upper"]
    if theirs.upper is None or math.isnan(value):
        return None
    if theirs.value is None:
        return (value if math.isnan(lower) else lower) <= theirs.upper
    if theirs.lower is None or math.isnan(lower) or math.isnan(upper):
        return None
    return theirs.lower <= upper and lower <= theirs.upper


def same_point(value: object, text: str) -> bool:
    """Return whether a cell is the published point: by number where both are numbers, else by text.

    A published two-part range is named by its ends alone.
    """
    try:
        return math.isclose(float(str(value)), float(text))
    except ValueError:
        return str(value).replace(" ", "") == text.replace(" ", "")


def as_text(comparisons: Sequence[Comparison]) -> str:
    """Return the comparison as lines of aligned columns."""
    rows = [comparison.row() for comparison in comparisons]
    table = [list(rows[0]), *([_shown(cell) for cell in row.values()] for row in rows)]
    widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
    lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)) for row in table]
    return "\n".join(line.rstrip() for line in lines)


def _shown(cell: object) -> str:
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return "-"
    return f"{cell:.3g}" if isinstance(cell, float) else str(cell)
