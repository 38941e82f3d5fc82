"""Reproduced numbers beside the published ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stable_nalu.catalogue.published import Published

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = (
    "model",
    "operation",
    "point",
    "published.solved",
    "published.runs",
    "solved",
    "runs",
    "intervals.overlap",
    "published.median",
    "median",
    "published.mean",
    "mean",
    "published.sparsity",
    "sparsity",
    "source",
)


@dataclass(frozen=True)
class Comparison:
    """One published point and what the runs at hand give for it."""

    published: Published
    solved: int
    runs: int
    median: float
    mean: float
    sparsity: float

    @property
    def overlap(self) -> bool:
        """Whether the Wilson intervals of both success rates have a point in common."""
        from stable_nalu.statistics.intervals import wilson

        theirs = wilson(self.published.solved, self.published.runs)
        ours = wilson(self.solved, self.runs)
        return theirs.lower <= ours.upper and ours.lower <= theirs.upper

    def row(self) -> dict[str, Any]:
        """Cells of the comparison table."""
        known = self.published
        cells = (
            known.model,
            known.operation,
            known.point,
            known.solved,
            known.runs,
            self.solved,
            self.runs,
            "yes" if self.overlap else "no",
            known.median,
            self.median,
            known.mean.value,
            self.mean,
            known.sparsity.value,
            self.sparsity,
            known.source,
        )
        return dict(zip(COLUMNS, cells, strict=True))


def compare(points: Sequence[Published], runs: pd.DataFrame) -> list[Comparison]:
    """Every published point that there are runs for. runs: one row a judged run."""
    from stable_nalu.statistics.summary import SOLVED, SPARSITY, STEP, summarize_group

    found: list[Comparison] = []
    for point in points:
        chosen = runs.loc[(runs["model"] == point.model) & (runs["operation"] == point.operation)]
        if point.column and point.column in chosen.columns:
            at = [same_point(value, point.point) for value in chosen[point.column]]
            chosen = chosen.loc[at]
        if chosen.empty:
            continue
        summary = summarize_group(
            chosen[SOLVED].to_numpy(bool),
            chosen[STEP].to_numpy(float),
            chosen[SPARSITY].to_numpy(float),
        )
        found.append(
            Comparison(
                point,
                int(chosen[SOLVED].to_numpy(bool).sum()),
                len(chosen),
                summary["converged.at.median"],
                summary["converged.at.mean"],
                summary["sparse.error.mean"],
            )
        )
    return found


def same_point(value: object, text: str) -> bool:
    """Whether a cell is the published point: by number where both are, else by text.

    A published two-part range is named by its ends alone.
    """
    try:
        return math.isclose(float(str(value)), float(text))
    except ValueError:
        return str(value).replace(" ", "") == text.replace(" ", "")


def as_text(comparisons: Sequence[Comparison]) -> str:
    """The comparison as lines of aligned columns."""
    rows = [[_shown(cell) for cell in comparison.row().values()] for comparison in comparisons]
    table = [list(COLUMNS), *rows]
    widths = [max(len(row[i]) for row in table) for i in range(len(COLUMNS))]
    lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)) for row in table]
    return "\n".join(line.rstrip() for line in lines)


def _shown(cell: object) -> str:
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return "-"
    return f"{cell:.3g}" if isinstance(cell, float) else str(cell)
