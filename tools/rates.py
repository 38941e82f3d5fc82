"""The parts of the page about success rates: every experiment, and what all come to together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from stable_nalu.options.labels import half_open
from stable_nalu.paper.experiment import Experiment
from stable_nalu.paper.published import (
    Bounded,
    Published,
    PublishedSeeds,
    published_seeds,
)
from stable_nalu.result.compare import (
    ALL_POINTS,
    CANNOT_TELL,
    DIFFERS,
    EQUAL,
    MEASURES,
    WITHIN_POINTS,
    RatePoint,
    rate_points,
    runs_at,
    steps_of,
)
from stable_nalu.result.document import (
    UNKNOWN,
    estimated,
    interval,
    number,
    plain,
    points,
    rate,
)
from stable_nalu.result.judged import TEST_ERROR, runs_of_rows
from stable_nalu.result.records import Session, Verified
from stable_nalu.result.stored import read, sessions_of
from stable_nalu.statistics.intervals import wilson
from stable_nalu.statistics.summary import STEP

from .drawing import Mark, draw
from .notes import verified_of

if TYPE_CHECKING:
    import pandas as pd

PAPER = "paper, "
SOURCES = {
    "table": f"{PAPER}table",
    "figure": f"{PAPER}figure",
    "abstract": f"{PAPER}abstract",
    "report": "report of 2023 in a code repository, not reviewed",
    "talk": "slide deck of January 2021, measured by pixel",
    "derived": f"{PAPER}derived",
    "repository": "repository of the unit, of an earlier state of it",
}
"""Where a number was read, in words; published are those of papers."""
OF_ANOTHER = "repository"
"""The source of numbers that are of another unit than ours: shown beside ours, not counted."""
_WIDER = 100
"""By what the threshold grows where epsilon grows tenfold: it is a squared error."""


def cells(found: RatePoint) -> dict[str, str]:
    """Return the cells of the line of a point in the table."""
    known, ours = found.published, found.summary
    return {
        "model": plain(found.label),
        "point": plain(half_open(found.point)) or UNKNOWN,
        "success, elsewhere": rate(known.solved, known.runs) if known else UNKNOWN,
        "source": SOURCES[known.source] if known else UNKNOWN,
        "success, here": rate_here(found),
        "difference": points(found.gap) if found.gap else UNKNOWN,
        "success: verdict": found.verdict or UNKNOWN,
        "median solved at, elsewhere": number(known.median) if known else UNKNOWN,
        "median solved at, here": number(ours["converged.at.median"]),
        "mean solved at, elsewhere": _given(known.mean) if known else UNKNOWN,
        "mean solved at, here": estimated(ours, "converged.at"),
        "solved at: verdict": found.steps_verdict or UNKNOWN,
        "sparsity error, elsewhere": _given(known.sparsity) if known else UNKNOWN,
        "sparsity error, here": estimated(ours, "sparse.error"),
        "sparsity: verdict": found.sparsity or UNKNOWN,
    }


def _given(found: Bounded) -> str:
    return interval(found.value, found.lower, found.upper)


def rate_here(found: RatePoint) -> str:
    """Return our rate; of chosen seeds only the counts, for they are no sample of all."""
    counts = f"{found.solved}/{found.runs} of chosen seeds"
    return counts if found.chosen else rate(found.solved, found.runs)


@dataclass(frozen=True)
class Result:
    """An experiment with kept runs, and the points that they give."""

    experiment: Experiment
    runs: pd.DataFrame
    sessions: Sequence[Session]
    rows: Sequence[RatePoint]
    verified: Sequence[Verified] = ()

    @property
    def iterations(self) -> int:
        """Return the iterations of all kept runs together."""
        return int(self.runs["iterations"].to_numpy().sum())

    @property
    def cpu_seconds(self) -> float:
        """Return the CPU time of all trainings that are on record."""
        return sum(session.cpu_seconds for session in self.sessions)

    @property
    def cells(self) -> list[dict[str, str]]:
        """Return the table of its points."""
        return [cells(row) for row in self.rows]

    @property
    def is_compared(self) -> bool:
        """Return whether there is a number to compare one of them with."""
        return any(row.published for row in self.rows)

    def counted(self, measure: str) -> str:
        """Return how often a measure has which verdict."""
        kinds = Counter(v for row in self.rows if (v := row.verdicts[measure]) is not None)
        return ", ".join(f"{count} {kind}" for kind, count in kinds.most_common()) or UNKNOWN

    @property
    def identical(self) -> str:
        """Return how many of the rates that are compared have the same counts."""
        rates = [row for row in self.rows if row.is_rate]
        return f"{_equal(rates)} of {len(rates)}" if rates else UNKNOWN

    @property
    def seeds(self) -> list[dict[str, object]]:
        """Return which seeds have the published outcome, where seeds were published."""
        rows = [_seeds(known, self.runs) for known in published_seeds(self.experiment.key)]
        return [row for row in rows if row]

    @property
    def picture(self) -> str:
        """Draw a panel per model, or one panel of all models where each has a single point."""
        shown = [row for row in self.rows if row.point != ALL_POINTS]
        models = dict.fromkeys((row.model, row.label) for row in shown)
        if len(models) == len(shown):
            return draw([("Success rate", [_mark(row, row.label) for row in shown])])
        return draw(
            [
                (
                    label,
                    [
                        _mark(row, half_open(row.point) or UNKNOWN)
                        for row in shown
                        if row.model == model
                    ],
                )
                for model, label in models
            ]
        )


def _mark(row: RatePoint, label: str) -> Mark:
    """Return the mark of a point; the outcome of chosen seeds is not drawn as a rate."""
    known = row.published
    theirs = wilson(known.solved, known.runs) if known else None
    return Mark(label, theirs, None if row.chosen else wilson(row.solved, row.runs))


def result(experiment: Experiment, data: Path) -> Result:
    """Read the kept runs of an experiment, and work out everything that follows from them."""
    key = experiment.key
    runs = read(key, data)
    return Result(
        experiment,
        runs,
        sessions_of(key, data),
        rate_points(experiment, runs),
        verified_of(key, data),
    )


def _seeds(known: PublishedSeeds, runs: pd.DataFrame) -> dict[str, object] | None:
    same = (runs["model"] == known.model) & (runs["operation"] == known.operation)
    ours = runs.loc[same & (runs["seed"] < known.runs)]
    if ours.empty:
        return None
    pairs = zip(ours["seed"], ours["solved"], strict=True)
    other = sorted(seed for seed, solved in pairs if bool(solved) != (seed in known.solved_at))
    steps, every = steps_of(known, ours), sorted(known.solved_at.values())
    there = f"{steps.means[1]:,.0f}, {steps.means[0]:,.0f}" if steps else UNKNOWN
    late = (
        f"{sum(step > 2 * median(every) for step in every)} of {len(every)}" if every else UNKNOWN
    )
    return {
        "model": plain(known.model),
        "operation": plain(known.operation),
        "seeds compared": len(ours),
        "same outcome": f"{len(ours) - len(other)} of {len(ours)}",
        "other outcome at seeds": " ".join(map(str, other)) or "none",
        "solved on both sides": plain(steps.steps if steps else UNKNOWN),
        "mean step there, here": plain(there),
        "of all published solved seeds, later than twice their median step": late,
    }


def once(results: Sequence[Result]) -> dict[Published, RatePoint]:
    """Return every published point with its row; figures that show the same runs share points."""
    rows = [row for found in results for row in found.rows]
    return {row.published: row for row in reversed(rows) if row.published}


def is_informative(point: Published) -> bool:
    """Return whether a rate is neither 0 nor 100 %."""
    return 0 < point.solved < point.runs


def counted(results: Sequence[Result]) -> dict[str, object]:
    """Return what the comparisons of rates amount to: a table by source, and their sums."""
    found = {point: row for point, row in once(results).items() if row.is_rate}
    rates = {point: row for point, row in found.items() if point.source != OF_ANOTHER}
    sources = dict(Counter(SOURCES[point.source] for point in rates).most_common())
    papers = {name: count for name, count in sources.items() if name.startswith(PAPER)}
    kinds = [(name, {name}) for name in sources if name not in papers]
    if papers:
        read_in = ", ".join(f"{n} {name.removeprefix(PAPER)}" for name, n in papers.items())
        kinds.insert(0, (f"papers ({read_in})", set(papers)))
    verdicts = Counter(row.verdicts[MEASURES[0]] for row in rates.values())
    told = {
        WITHIN_POINTS: "are within 5 points",
        CANNOT_TELL: "are inconclusive at this sample size",
        DIFFERS: "differ",
    }
    return {
        "sources": [
            _counts(name, {p: r for p, r in rates.items() if SOURCES[p.source] in of})
            for name, of in kinds
        ],
        "rates": len(rates),
        "equal": verdicts[EQUAL],
        "others": [f"{verdicts[kind]} {text}" for kind, text in told.items() if verdicts[kind]],
        "extreme": sum(not is_informative(point) for point in rates),
        "patterns": _patterns(results, rates),
    }


def _counts(name: str, rates: Mapping[Published, RatePoint]) -> dict[str, object]:
    telling = [row for point, row in rates.items() if is_informative(point)]
    return {
        "read in": name,
        "rates compared": len(rates),
        "identical counts": _equal(rates.values()),
        "neither 0 % nor 100 %": len(telling),
        "identical, of these": f"{_equal(telling)} of {len(telling)}",
    }


def _equal(rows: Iterable[RatePoint]) -> int:
    return sum(row.verdicts[MEASURES[0]] == EQUAL for row in rows)


def _patterns(results: Sequence[Result], rates: Mapping[Published, RatePoint]) -> int:
    """Return how many different lists of outcomes stand behind the rates."""
    runs_of = {id(row): found.runs for found in results for row in found.rows}
    found = set()
    for point, row in rates.items():
        columns = runs_at(point, runs_of[id(row)])[["seed", "solved", STEP]].fillna(-1)
        found.add(tuple(sorted(map(tuple, columns.to_numpy().tolist()))))
    return len(found)


def distinct(results: Sequence[Result]) -> int:
    """Return the number of different kept runs; figures may share some."""
    return len(
        {
            (run.model.prefix, run.leaf)
            for found in results
            for run in runs_of_rows(found.experiment, found.runs)
            if run
        }
    )


def at_another_threshold(results: Sequence[Result]) -> tuple[list[dict[str, str]], int]:
    """Return the units whose rates differ at an epsilon of 1e-4, and how many there are in all."""
    rows, units = [], 0
    for found in results:
        experiment = found.experiment
        if experiment.criterion != "benchmark":
            continue
        for model, runs in found.runs.groupby("model", sort=False):
            units += 1
            errors, limits = (runs[name].to_numpy(float) for name in (TEST_ERROR, "threshold"))
            counts = [int((errors < factor * limits).sum()) for factor in (1, _WIDER)]
            if counts[0] != counts[1]:
                rows.append(
                    {
                        "figure": f"[{plain(experiment.key)}](#{experiment.key})",
                        "unit": plain(experiment.model(str(model)).label),
                        "epsilon 1e-5": rate(counts[0], len(runs)),
                        "epsilon 1e-4": rate(counts[1], len(runs)),
                    }
                )
    return rows, units
