"""The part of the page about one experiment, as Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from stable_nalu.paper.experiment import Experiment
from stable_nalu.paper.published import PublishedSeeds, published_seeds
from stable_nalu.script import duration
from stable_nalu.statistics.intervals import wilson

from ..compare import cut_short
from ..cost import Session
from ..same_seeds import steps_of
from ..stored import read, sessions_of
from ..verified import Verified, sentence, verified_of
from . import markdown
from .drawing import Mark, draw
from .markdown import UNKNOWN, plain
from .rows import ALL_POINTS, MEASURES, Row, rows_of

if TYPE_CHECKING:
    import pandas as pd

ORIGINAL_SECONDS = 8 * 3600 / 5e6
"""The original's seconds of one core per iteration: the papers state 8 hours for 5 million."""

_SEEDS = (
    "Seed by seed, where the file behind the paper's table tells what became of each: outcomes, "
    "and of seeds solved there and here, the logged step. The published mean of all seeds is no "
    "measure for a few of them: some of the others are solved late."
)
_LEGEND = "Success rates: hollow squares elsewhere, filled circles here, bars 95 % intervals."
HEAD: tuple[str, ...] = (
    "model",
    "point",
    "success, elsewhere",
    "source",
    "success, here",
    "difference",
    "success: verdict",
    "median solved at, elsewhere",
    "median solved at, here",
    "mean solved at, elsewhere",
    "mean solved at, here",
    "solved at: verdict",
    "sparsity error, elsewhere",
    "sparsity error, here",
    "sparsity: verdict",
)
SEED_HEAD = (
    "model",
    "operation",
    "seeds compared",
    "same outcome",
    "other outcome at seeds",
    "solved on both sides",
    "mean step there, here",
    "of all published solved seeds, later than twice their median step",
)


@dataclass(frozen=True)
class Result:
    """An experiment with kept runs, and the points that they give."""

    experiment: Experiment
    runs: pd.DataFrame
    sessions: Sequence[Session]
    rows: Sequence[Row]
    verified: Sequence[Verified] = ()

    @property
    def iterations(self) -> int:
        """Return the iterations of all kept runs together."""
        return int(self.runs["iterations"].to_numpy().sum())

    def verdicts(self, measure: str) -> Counter[str]:
        """Return how often a measure has which verdict."""
        return Counter(v for row in self.rows if (v := row.verdicts[measure]) is not None)


def result(experiment: Experiment, data: Path) -> Result:
    """Read the kept runs of an experiment, and work out everything that follows from them."""
    runs = read(experiment.key, data)
    sessions = sessions_of(experiment.key, data)
    rows, verified = rows_of(experiment, runs), verified_of(experiment.key, data)
    return Result(experiment, runs, sessions, rows, verified)


def picture_of(key: str) -> str:
    """Return the name of the picture of an experiment."""
    return f"pictures/{key}.svg"


def section(found: Result) -> list[str]:
    """Return its part of the page."""
    experiment = found.experiment
    where = "; ".join(f"{s.paper.title}, {s.number}" for s in experiment.shown)
    parts = [
        markdown.heading(3, experiment.title, experiment.key),
        f"{where or 'In no figure'}. Key `{experiment.key}`. {experiment.note}".strip(),
        markdown.commands(experiment.key),
        " ".join(filter(None, (_extent(found), cost(found), _shortened(found)))),
        sentence(found.verified),
        f"![{_LEGEND}]({picture_of(experiment.key)})",
        _LEGEND,
        markdown.table(HEAD, [cells(row) for row in found.rows], all_columns=False),
    ]
    if not any(row.comparison for row in found.rows):
        parts.append("No number of this figure can be read anywhere: its values are only drawn.")
    if rows := seed_rows(found):
        parts.append(_SEEDS)
        parts.append(markdown.table(SEED_HEAD, rows))
    return [part for part in parts if part]


def cells(row: Row) -> list[str]:
    """Return one row of the table, under `HEAD`."""
    known, ours, found = row.published, row.summary, row.comparison
    steps = found.steps_verdict or UNKNOWN if found else UNKNOWN
    sparsity = row.verdicts[MEASURES[2]] or UNKNOWN
    return [
        plain(row.label),
        plain(row.point),
        markdown.rate(known.solved, known.runs) if known else UNKNOWN,
        markdown.SOURCES[known.source] if known else UNKNOWN,
        markdown.rate_here(row.solved, row.runs, found),
        markdown.points(found.gap) if found and found.gap else UNKNOWN,
        found.verdict if found else UNKNOWN,
        markdown.number(known.median) if known else UNKNOWN,
        markdown.number(ours["converged.at.median"]),
        markdown.known(known.mean) if known else UNKNOWN,
        markdown.measured(ours, "converged.at"),
        steps,
        markdown.known(known.sparsity) if known else UNKNOWN,
        markdown.measured(ours, "sparse.error"),
        sparsity,
    ]


def seed_rows(found: Result) -> list[list[str]]:
    """Return which seeds have the published outcome, where seeds were published."""
    rows = [_seed_row(known, found.runs) for known in published_seeds(found.experiment.key)]
    return [row for row in rows if row]


def _seed_row(known: PublishedSeeds, runs: pd.DataFrame) -> list[str] | None:
    same = (runs["model"] == known.model) & (runs["operation"] == known.operation)
    ours = runs.loc[same & (runs["seed"] < known.runs)]
    if ours.empty:
        return None
    pairs = zip(ours["seed"], ours["solved"], strict=True)
    other = sorted(seed for seed, solved in pairs if bool(solved) != (seed in known.solved_at))
    listed = " ".join(map(str, other)) or "none"
    same = f"{len(ours) - len(other)} of {len(ours)}"
    steps, every = steps_of(known, ours), sorted(known.solved_at.values())
    there = f"{steps.means[1]:,.0f}, {steps.means[0]:,.0f}" if steps else UNKNOWN
    late = sum(step > 2 * median(every) for step in every)
    shown = (known.model, known.operation, len(ours), same, listed, steps or UNKNOWN, there)
    return [*map(plain, shown), f"{late} of {len(every)}" if every else UNKNOWN]


def cost(found: Result) -> str:
    """Tell what was spent here, and what the original would have spent."""
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
    told = cut_short(found.experiment, found.runs)
    return f"Cut short: {told}." if told else ""


def picture(rows: Sequence[Row]) -> str:
    """Draw a panel per model, or one panel of all models where each has a single point."""
    shown = [row for row in rows if row.point != ALL_POINTS]
    models = dict.fromkeys((row.model, row.label) for row in shown)
    if len(models) == len(shown):
        return draw([("Success rate", [_mark(row, row.label) for row in shown])])
    return draw(
        [
            (label, [_mark(row, row.point) for row in shown if row.model == model])
            for model, label in models
        ]
    )


def _mark(row: Row, label: str) -> Mark:
    """Return the mark of a point; the outcome of chosen seeds is not drawn as a rate."""
    known = row.published
    theirs = wilson(known.solved, known.runs) if known else None
    rate = row.comparison is None or row.comparison.chosen is None
    return Mark(label, theirs, wilson(row.solved, row.runs) if rate else None)
