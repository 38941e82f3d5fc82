"""The part of the page about one experiment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from stable_nalu.catalogue.experiment import Experiment
from stable_nalu.catalogue.published import PublishedSeeds, published_seeds
from stable_nalu.script import duration
from stable_nalu.statistics.intervals import wilson

from ..cost import Session
from ..stored import cut_short, read, sessions_of
from . import texts
from .blocks import UNKNOWN, Block, Command, Drawing, Heading, Paragraph, Table
from .drawing import Mark, panel
from .rows import ALL_POINTS, Row, rows_of

if TYPE_CHECKING:
    import pandas as pd

ORIGINAL_SECONDS = 8 * 3600 / 5e6
"""Of one core for one iteration: the papers state 8 hours for 5 million."""

_LEGEND = "Success rates: hollow squares published, filled circles here, bars 95 % intervals."
HEAD: tuple[str, ...] = (
    "model",
    "point",
    "success, published",
    "success, here",
    "success: intervals",
    "median solved at, published",
    "median solved at, here",
    "mean solved at, published",
    "mean solved at, here",
    "solved at: intervals",
    "sparsity error, published",
    "sparsity error, here",
    "sparsity: intervals",
)


@dataclass(frozen=True)
class Result:
    """An experiment with kept runs."""

    experiment: Experiment
    runs: pd.DataFrame
    sessions: Sequence[Session]
    rows: Sequence[Row]

    @property
    def iterations(self) -> int:
        """Of all kept runs together."""
        return int(self.runs["iterations"].to_numpy().sum())

    def agreeing(self, measure: str) -> tuple[int, int]:
        """Points at which a measure agrees, and those at which it can be compared."""
        known = [row.agreement[measure] for row in self.rows]
        return sum(1 for k in known if k), sum(1 for k in known if k is not None)


def result(experiment: Experiment, data: Path) -> Result:
    """The kept runs of an experiment, and everything that follows from them."""
    runs = read(experiment.key, data)
    sessions = sessions_of(experiment.key, data)
    return Result(experiment, runs, sessions, rows_of(experiment, runs))


def blocks(found: Result) -> list[Block]:
    """Its part of the page."""
    experiment = found.experiment
    where = "; ".join(f"{s.paper.title}, {s.number}" for s in experiment.shown)
    parts: list[Block] = [
        Heading(3, experiment.title, experiment.key),
        Paragraph(f"{where or 'In no figure'}. Key `{experiment.key}`. {experiment.note}".strip()),
        Command(f"python3 experiments/reproduce.py {experiment.key} --keep"),
        Paragraph(" ".join((_extent(found), cost(found), _shortened(found))).strip()),
        Drawing(_panels(found.rows), _LEGEND),
        table(found.rows),
    ]
    if not any(row.comparison for row in found.rows):
        parts.append(Paragraph("No number of this figure is published in a form that can be read."))
    if seeds := seed_table(found):
        text = "Seed by seed: which runs are solved, where the papers' files tell."
        parts += [Paragraph(text), seeds]
    return parts


def table(rows: Sequence[Row]) -> Table:
    """Every point, published and here."""
    return Table(HEAD, [cells(row) for row in rows]).without_empty_columns()


def cells(row: Row) -> list[str]:
    """One row of the table, under `HEAD`."""
    known, ours = row.published, row.summary
    marks = [texts.OVERLAP[found] for found in row.agreement.values()]
    return [
        row.label,
        row.point,
        texts.published_rate(known, row.of_seeds) if known else UNKNOWN,
        texts.rate(row.solved, row.runs),
        marks[0],
        texts.number(known.median) if known else UNKNOWN,
        texts.number(ours["converged.at.median"]),
        texts.known(known.mean) if known else UNKNOWN,
        texts.measured(ours, "converged.at"),
        marks[1],
        texts.known(known.sparsity) if known else UNKNOWN,
        texts.measured(ours, "sparse.error"),
        marks[2],
    ]


def seed_table(found: Result) -> Table | None:
    """Which seeds have the published outcome; None where seeds were not published."""
    rows = [_seed_row(known, found.runs) for known in published_seeds(found.experiment.key)]
    kept = [row for row in rows if row]
    head = ("model", "operation", "seeds compared", "same outcome", "other outcome at seeds")
    return Table(head, kept) if kept else None


def _seed_row(known: PublishedSeeds, runs: pd.DataFrame) -> list[str] | None:
    same = (runs["model"] == known.model) & (runs["operation"] == known.operation)
    ours = runs.loc[same & (runs["seed"] < known.runs)]
    if ours.empty:
        return None
    pairs = zip(ours["seed"], ours["solved"], strict=True)
    other = sorted(seed for seed, solved in pairs if bool(solved) != (seed in known.solved))
    listed = " ".join(map(str, other)) or "none"
    same = f"{len(ours) - len(other)} of {len(ours)}"
    return [known.model, known.operation, str(len(ours)), same, listed]


def cost(found: Result) -> str:
    """What was spent here, and what the original would have."""
    original = duration(found.iterations * ORIGINAL_SECONDS)
    at_most = "" if max(found.runs["iterations"].tolist()) >= 1e6 else "at most "
    here = (
        f"This command trained {sum(s.runs for s in found.sessions):,} runs, in "
        f"{duration(sum(s.cpu_seconds for s in found.sessions))} of CPU time "
        f"({duration(sum(s.wall_seconds for s in found.sessions))} by the clock)"
        if found.sessions
        else "No training is on record under this key (figures share runs)"
    )
    return f"{here}; the original would take {at_most}{original} of one core."


def _extent(found: Result) -> str:
    return (
        f"{len(found.runs):,} of {found.experiment.runs:,} published runs, "
        f"{found.iterations:,} iterations in all."
    )


def _shortened(found: Result) -> str:
    lengths = ((model.label, cut_short(model, found.runs)) for model in found.experiment.models)
    told = [f"{label} {length}" for label, length in lengths if length]
    return f"Iterations that were cut short: {', '.join(told)}." if told else ""


def _panels(rows: Sequence[Row]) -> list[str]:
    """A drawing a model, or one of all models where each has a single point."""
    shown = [row for row in rows if row.point != ALL_POINTS]
    models = dict.fromkeys((row.model, row.label) for row in shown)
    if len(models) == len(shown):
        return [panel("Success rate", [_mark(row, row.label) for row in shown])]
    return [
        panel(label, [_mark(row, row.point) for row in shown if row.model == model])
        for model, label in models
    ]


def _mark(row: Row, label: str) -> Mark:
    theirs = wilson(*row.comparison.counts) if row.comparison else None
    return Mark(label, theirs, wilson(row.solved, row.runs))
