"""The part of the page about measured experiments: pictures, numbers, and what stands behind those.

None of it counts towards the success rates at the top of the page.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from stable_nalu.errors import UsageError
from stable_nalu.paper.experiment import MEASURED, Experiment, Measure
from stable_nalu.paper.published import PublishedMeasure
from stable_nalu.script import duration

from ..compare import cut_short
from ..compare_measured import MeasuredPoint, points_of
from ..cost import Session
from ..kept_tables import files_of, kept_source
from ..stored import read, sessions_of
from ..verified import Verified, sentence, verified_of
from . import markdown
from .drawing import as_svg
from .markdown import UNKNOWN, plain
from .notes import note

if TYPE_CHECKING:
    import pandas as pd

TITLE, ANCHOR = "The NALU paper and two articles about it", "nalu-paper"
READING = (
    "The numbers of these experiments are errors and scores of runs at their end, not success "
    "rates; none of them is counted at the top of this page.",
    "Median, best and mean are of all runs; a result that is no number counts as the worst. The "
    "difference is between the statistic that stands under “compared” and the number given "
    "elsewhere. Runs as good: how many of ours get there or further, as it is often the best run "
    "that is shown.",
    "A number given elsewhere is followed by what stands behind it, and judged where its tolerance "
    "is known. A claim that one model is below another is tested on the runs of the same seed: how "
    "many agree, Wilson's 95 % interval of their share, and the p of the sign test. It holds or "
    "fails where p is below 0.05; otherwise the runs are inconclusive, as three seeds always are. "
    "None of these tests is corrected for their number.",
)
OF_DIGITS = (
    "Images of digits",
    "digits",
    (
        "Published are success rates after a thousand epochs. What is kept here are errors and "
        "shares of right answers after fewer epochs: none of it can be compared with a published "
        "number, and none is counted at the top of this page.",
        "The number of epochs stands at each experiment, beside the published one; a run is "
        "evaluated before its first update, and then at every fifth epoch (sequences) or at every "
        "one (pairs). Tables are of the last evaluation; errors and shares of those before are "
        "kept for curves.",
        "The solved accumulator adds or multiplies without anything to learn, so that its errors "
        "are those of reading digits.",
        "Noise of the sNMU stays on in evaluations of sequences, as published.",
    ),
)
HEAD = (
    "model",
    "point",
    "measure",
    "runs",
    "median",
    "best",
    "mean",
    "share below the limit",
    "compared",
    "given elsewhere",
    "which is",
    "difference",
    "runs as good",
    "verdict",
)
OVERVIEW = ("figure", "runs", "CPU time here", "numbers given elsewhere")


@dataclass(frozen=True)
class MeasuredResult:
    """A measured experiment with kept runs, and the points that they give."""

    experiment: Experiment
    runs: pd.DataFrame
    sessions: Sequence[Session]
    points: Sequence[MeasuredPoint]
    verified: Sequence[Verified]
    data: Path

    @functools.cached_property
    def pictures(self) -> dict[str, str]:
        """Return its drawings as SVG, by their names on the page."""
        from stable_nalu.figure.entries import all_entries
        from stable_nalu.figure.entry import Context

        entries, found = all_entries(), {}
        for key in self.experiment.figure_keys:
            entry = entries.get(key)
            if entry is None or not files_of(entry, self.data):
                continue
            with kept_source(entry, self.data) as source:
                context = Context(entry.key, entry.series, source)
                for part in entry.parts:
                    try:
                        product = part.render(context)
                    except UsageError:  # of what is not kept
                        continue
                    if product.figure is not None:
                        found[f"pictures/{product.stem}.svg"] = as_svg(product.figure, clipped=True)
        return found


def result(experiment: Experiment, data: Path) -> MeasuredResult:
    """Read the kept runs of an experiment, and work out everything that follows from them."""
    runs = read(experiment.key, data)
    sessions = sessions_of(experiment.key, data)
    points, verified = points_of(experiment, runs), verified_of(experiment.key, data)
    return MeasuredResult(experiment, runs, sessions, points, verified, data)


def sections(results: Sequence[MeasuredResult], notes: dict[str, str]) -> list[str]:
    """Return this part of the page, tasks before digits; nothing where none are kept."""
    parts: list[str] = []
    for kind, (title, anchor, reading) in enumerate(((TITLE, ANCHOR, READING), OF_DIGITS)):
        chosen = [found for found in results if kind == (found.experiment.criterion != MEASURED)]
        if chosen:
            parts += [
                markdown.heading(2, title, anchor),
                markdown.bullets(reading),
                markdown.table(OVERVIEW, [_overview(found) for found in chosen], all_columns=False),
            ]
        parts += [part for found in chosen for part in section(found, notes)]
    return parts


def _overview(found: MeasuredResult) -> list[str]:
    experiment = found.experiment
    given = [point for point in found.points if point.published is not None]
    kinds = Counter(str(point.verdict) for point in given)
    return [
        f"[{plain(experiment.title)} ({place_of(experiment)})](#{experiment.stem})",
        f"{len(found.runs):,} of {experiment.runs:,}",
        _cost(found, "{}", "{} for {} of the iterations") or UNKNOWN,
        ", ".join(f"{count} {kind}" for kind, count in kinds.most_common()) or UNKNOWN,
    ]


def place_of(experiment: Experiment) -> str:
    """Return where an experiment is shown."""
    where = "; ".join(f"{s.paper.short_title}, {s.number}" for s in experiment.shown)
    return plain(where) or "In no figure"


def section(found: MeasuredResult, notes: dict[str, str]) -> list[str]:
    """Return the part about one experiment."""
    experiment = found.experiment
    parts = [
        markdown.heading(3, experiment.title, experiment.stem),
        f"{place_of(experiment)}. Key `{experiment.key}`. {plain(experiment.note)}".strip(),
        markdown.commands(experiment.key),
        _extent(found),
        sentence(found.verified),
        *(f"![{plain(experiment.title)}]({name})" for name in found.pictures),
        markdown.table(HEAD, [cells(point) for point in found.points], all_columns=False),
        *_limits(found),
        *_sources(found),
        *_differences(found, notes),
    ]
    return [part for part in parts if part]


def _extent(found: MeasuredResult) -> str:
    experiment, runs = found.experiment, found.runs
    lengths = sorted(set(runs["iterations"].tolist()))
    length = " to ".join(f"{n:,}" for n in dict.fromkeys((lengths[0], lengths[-1])))
    cost = _cost(found, " {} of CPU time.", " {} of CPU time for {} of the iterations.")
    told = cut_short(experiment, runs)
    short = f" Cut short: {told}." if told else ""
    seeds = len(set(runs["seed"].tolist()))
    return (
        f"{len(runs):,} of {experiment.runs:,} runs, {seeds:,} seed{'s' * (seeds != 1)}, "
        f"{length} iterations each."
        f"{cost}{short}"
    )


def _cost(found: MeasuredResult, all_known: str, some_known: str) -> str:
    """Return what the runs have cost, or a part of them whose cost was measured."""
    if not found.sessions:
        return ""
    spent = duration(sum(s.cpu_seconds for s in found.sessions))
    all_iterations = sum(found.runs["iterations"].tolist())
    measured = sum(s.run_iterations for s in found.sessions) / all_iterations
    share = markdown.percent(measured)
    return all_known.format(spent) if measured >= 1 else some_known.format(spent, share)


def cells(point: MeasuredPoint) -> list[str]:
    """Return one row of the table, under `HEAD`."""
    found, known, measure = point.numbers, point.published, point.measure
    median, best, mean = (number(n, measure) for n in (found.median, found.best, found.mean))
    gap = point.difference
    told = UNKNOWN if gap is None else number(gap, measure, sign="+")
    if point.order:
        told = str(point.order)
    return [
        plain(point.label),
        plain(point.point) or UNKNOWN,
        plain(point.name),
        f"{found.runs}" + (f", {found.unending} not finite" if found.unending else ""),
        median,
        best,
        mean,
        UNKNOWN if found.share is None else markdown.percent(found.share),
        measure.typical if known else UNKNOWN,
        given(known, measure) if known else UNKNOWN,
        known.standing if known else UNKNOWN,
        told,
        UNKNOWN if point.as_good is None else str(point.as_good),
        point.verdict or UNKNOWN,
    ]


def given(known: PublishedMeasure, measure: Measure) -> str:
    """Return a number that was given elsewhere, or a claim, as text."""
    if known.better_than:
        return plain(f"below {known.better_than}")
    return number(known.number or 0.0, measure)


def number(value: float, measure: Measure, sign: str = "") -> str:
    """Return a number in the digits of its measure."""
    if value in (float("inf"), float("-inf")):
        return "infinite" if value > 0 else "minus infinite"
    if 1000 <= abs(value) < 1e7:
        return f"{value:{sign},.0f}"
    return f"{value:{sign}.{measure.digits}g}"


def _limits(found: MeasuredResult) -> list[str]:
    told = [f"{m.label} {m.below:g}" for m in found.experiment.measures if m.below is not None]
    return [f"Limits of the shares: {plain('; '.join(told))}."] if told else []


def _sources(found: MeasuredResult) -> list[str]:
    known = [point.published for point in found.points if point.published is not None]
    told = dict.fromkeys(f"{one.standing}: {one.source}" for one in known)
    return [f"Numbers given elsewhere: {plain('; '.join(told))}."] if told else []


def _differences(found: MeasuredResult, notes: dict[str, str]) -> list[str]:
    """Tell what departs, each cause once; what has none in the notes is unexplained."""
    causes: dict[str, dict[str, list[str]]] = {}
    for point in found.points:
        if point.differs:
            place = ", ".join(filter(None, (point.label, point.point)))
            cause = note(notes, found.experiment.key, point) or "unexplained"
            causes.setdefault(cause, {}).setdefault(place, []).append(point.name)
    if not causes:
        general = notes.get(found.experiment.key, "")
        return [general] if general else []
    told = []
    for cause, places in causes.items():
        listed = (f"{place} ({', '.join(names)})" for place, names in places.items())
        told.append(f"{plain('; '.join(listed))}: {cause}")
    return ["Where ours differs, and why:", markdown.bullets(told)]
