"""The points of an experiment: what our runs give for each, and what was published."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stable_nalu.paper.experiment import Experiment
from stable_nalu.paper.published import Published, published

from ..compare import CHOSEN, SHORT, Comparison, comparison, runs_at, solved_of, summary_of
from ..stored import point_columns

if TYPE_CHECKING:
    import pandas as pd

ALL_POINTS = "all together"
MEASURES = ("success rate", "solved at", "sparsity error")


@dataclass(frozen=True)
class Row:
    """A model at a point.

    comparison: None where nothing was published.
    """

    model: str
    label: str
    point: str
    solved: int
    runs: int
    summary: Mapping[str, float]
    comparison: Comparison | None

    @property
    def published(self) -> Published | None:
        """Return what was published of it."""
        return self.comparison.published if self.comparison else None

    @property
    def verdicts(self) -> dict[str, str | None]:
        """Return the kind of verdict per measure; None where one has no interval."""
        if self.comparison is None:
            return dict.fromkeys(MEASURES)
        found = self.comparison
        return dict(zip(MEASURES, (found.kind, found.steps, found.sparsity), strict=True))

    @property
    def is_rate(self) -> bool:
        """Return whether a published rate is compared with a rate, not with chosen seeds."""
        return self.comparison is not None and self.comparison.kind not in (CHOSEN, SHORT)


def rows_of(experiment: Experiment, runs: pd.DataFrame) -> list[Row]:
    """Return every point that there are runs for, in order; whole models follow their points."""
    from stable_nalu.statistics.table import groups

    labels = {known.key: known.label for known in experiment.models}
    known = [(point, runs_at(point, runs)) for point in published(experiment.key)]
    found: list[Row] = []
    for (model,), of_model in groups(runs, ["model"]):
        varying = _varying(experiment, of_model)
        own = [(point, chosen) for point, chosen in known if point.model == model]
        for key, group in groups(of_model, varying or ["model"]):
            text = ", ".join(map(_text, key)) if varying else "–"
            match = [point for point, chosen in own if chosen.index.equals(group.index)]
            own = [pair for pair in own if pair[0] not in match]
            found.append(_row(experiment, str(labels.get(model, model)), text, group, match))
        found += [
            _row(experiment, str(labels.get(model, model)), ALL_POINTS, chosen, [point])
            for point, chosen in own
            if not chosen.empty
        ]
    return found


def _row(
    experiment: Experiment, label: str, point: str, runs: pd.DataFrame, known: list[Published]
) -> Row:
    found = comparison(experiment, known[0], runs) if known else None
    return Row(
        str(runs["model"].iloc[0]),
        label,
        point,
        solved_of(runs),
        len(runs),
        summary_of(runs),
        found,
    )


def _varying(experiment: Experiment, runs: pd.DataFrame) -> list[str]:
    """Return the columns that tell points of a model apart, or else that of the figure's x axis."""
    columns = point_columns(experiment.key)
    varying = [column for column in columns if len(runs[column].drop_duplicates()) > 1]
    return varying or [column for column in columns if column == experiment.parameter]


def _text(value: object) -> str:
    return f"{value:g}" if isinstance(value, float | int) else str(value)
