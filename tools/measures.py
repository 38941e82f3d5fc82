"""The part of the page about measured experiments: pictures, numbers, and what stands behind those.

None of it counts towards the success rates at the top of the page.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from stable_nalu.errors import UsageError
from stable_nalu.paper.experiment import MEASURED, Experiment, Measure
from stable_nalu.paper.published import PublishedMeasure
from stable_nalu.result.compare import MeasuredPoint, measured_points
from stable_nalu.result.document import UNKNOWN, as_svg, filled, percent, plain
from stable_nalu.result.judged import cut_short
from stable_nalu.result.records import Session, Verified
from stable_nalu.result.stored import read, sessions_of
from stable_nalu.script import duration

from .finding import finding
from .kept_runs import files_of, kept_source
from .notes import note, sentence, verified_of

if TYPE_CHECKING:
    import pandas as pd

TEMPLATE = Path(__file__).parent / "templates" / "measures.md"
PARTS = (
    ("The NALU paper and two articles about it", "nalu-paper"),
    ("Images of digits", "digits"),
)


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
        from stable_nalu.figure.render import made

        entries, found = all_entries(), {}
        for key in self.experiment.figure_keys:
            entry = entries.get(key)
            if entry is None or not files_of(entry, self.data):
                continue
            with kept_source(entry, self.data) as source:
                context = Context(entry, source)
                for part in entry.parts:
                    try:
                        product = made(part, context)
                    except UsageError:  # of what is not kept
                        continue
                    if product.figure is not None:
                        found[f"pictures/{product.stem}.svg"] = as_svg(product.figure, clipped=True)
        return found

    def cost(self, all_known: str, some_known: str) -> str:
        """Return what the runs have cost, or a part of them whose cost was measured."""
        if not self.sessions:
            return ""
        spent = duration(sum(s.cpu_seconds for s in self.sessions))
        all_iterations = sum(self.runs["iterations"].tolist())
        measured = sum(s.run_iterations for s in self.sessions) / all_iterations
        return (all_known if measured >= 1 else some_known).format(spent, percent(measured))


def result(experiment: Experiment, data: Path) -> MeasuredResult:
    """Read the kept runs of an experiment, and work out everything that follows from them."""
    key = experiment.key
    runs = read(key, data)
    points = measured_points(experiment, runs)
    return MeasuredResult(
        experiment, runs, sessions_of(key, data), points, verified_of(key, data), data
    )


def sections(results: Sequence[MeasuredResult], notes: Mapping[str, str]) -> str:
    """Return this part of the page, tasks before digits; nothing where none are kept."""
    tasks = [found for found in results if found.experiment.criterion == MEASURED]
    digits = [found for found in results if found.experiment.criterion != MEASURED]
    parts = [(*part, own) for part, own in zip(PARTS, (tasks, digits), strict=True) if own]
    functions = (overview, place_of, extent, sentence, cells, limits_of, sources_of, causes_of)
    named = {function.__name__: function for function in functions}
    return filled(TEMPLATE, parts=parts, notes=notes, finding=finding, **named)


def overview(results: Sequence[MeasuredResult]) -> list[dict[str, str]]:
    """Return a row for each experiment."""
    rows = []
    for found in results:
        experiment = found.experiment
        kinds = Counter(str(point.verdict) for point in found.points if point.published)
        counted = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())
        rows.append(
            {
                "figure": f"[{plain(experiment.title)} ({place_of(experiment)})]"
                f"(#{experiment.stem})",
                "runs": f"{len(found.runs):,} of {experiment.runs:,}",
                "CPU time here": found.cost("{}", "{} for {} of the iterations") or UNKNOWN,
                "numbers given elsewhere": counted or UNKNOWN,
            }
        )
    return rows


def place_of(experiment: Experiment) -> str:
    """Return where an experiment is shown."""
    where = "; ".join(f"{s.paper.short_title}, {s.number}" for s in experiment.shown)
    return plain(where) or "In no figure"


def extent(found: MeasuredResult) -> str:
    """Return how many runs there are of an experiment, how long they are, and what they cost."""
    experiment, runs = found.experiment, found.runs
    lengths = sorted(set(runs["iterations"].tolist()))
    length = " to ".join(f"{n:,}" for n in dict.fromkeys((lengths[0], lengths[-1])))
    cost = found.cost(" {} of CPU time.", " {} of CPU time for {} of the iterations.")
    told = cut_short(experiment, runs)
    seeds = len(set(runs["seed"].tolist()))
    return (
        f"{len(runs):,} of {experiment.runs:,} runs, {seeds:,} seed{'s' * (seeds != 1)}, "
        f"{length} iterations each.{cost}" + (f" Cut short: {told}." if told else "")
    )


def cells(found: MeasuredResult) -> list[dict[str, str]]:
    """Return a row for every point."""
    return [_cells(point) for point in found.points]


def _cells(point: MeasuredPoint) -> dict[str, str]:
    found, known, measure = point.numbers, point.published, point.measure
    gap = point.difference
    told = UNKNOWN if gap is None else number(gap, measure, sign="+")
    return {
        "model": plain(point.label),
        "point": plain(point.point) or UNKNOWN,
        "measure": plain(point.name),
        "runs": f"{found.runs}" + (f", {found.unending} not finite" if found.unending else ""),
        "median": number(found.median, measure),
        "best": number(found.best, measure),
        "mean": number(found.mean, measure),
        "share below the limit": UNKNOWN if found.share is None else percent(found.share),
        "compared": measure.typical if known else UNKNOWN,
        "given elsewhere": given(known, measure) if known else UNKNOWN,
        "which is": known.standing if known else UNKNOWN,
        "difference": point.pairs.claim if point.pairs else told,
        "runs as good": UNKNOWN if point.as_good is None else str(point.as_good),
        "verdict": point.verdict or UNKNOWN,
    }


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


def limits_of(experiment: Experiment) -> str:
    """Return the limits of the shares."""
    return "; ".join(f"{m.label} {m.below:g}" for m in experiment.measures if m.below is not None)


def sources_of(found: MeasuredResult) -> str:
    """Return where numbers were given, and what stands behind each."""
    known = (point.published for point in found.points if point.published is not None)
    return "; ".join(dict.fromkeys(f"{one.standing}: {one.source}" for one in known))


def causes_of(found: MeasuredResult, notes: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return what departs and why, each cause once; what has none in the notes is unexplained."""
    causes: dict[str, dict[str, list[str]]] = {}
    for point in found.points:
        if point.differs:
            place = ", ".join(filter(None, (point.label, point.point)))
            cause = note(notes, found.experiment.key, point) or "unexplained"
            causes.setdefault(cause, {}).setdefault(place, []).append(point.name)
    return [
        ("; ".join(f"{place} ({', '.join(names)})" for place, names in places.items()), cause)
        for cause, places in causes.items()
    ]
