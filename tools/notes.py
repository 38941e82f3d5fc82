"""Words beside numbers: notes and reasons written by hand, rows trained again, what runs show."""

import re
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from stable_nalu.base.errors import UsageError
from stable_nalu.base.script import duration
from stable_nalu.options.flags import half_open
from stable_nalu.paper.experiment import Experiment
from stable_nalu.paper.index import EXPERIMENTS
from stable_nalu.result import stored
from stable_nalu.result.document import number, plain
from stable_nalu.result.judged import MeasuredPoint, measured_points, places, shortened
from stable_nalu.result.stored import Verified
from stable_nalu.statistics.summary import solved_of

from . import grouped, rows_in

NOTES, REASONS = "notes.md", "not_run.csv"
CORES = 2
"""The number of cores that estimates are made for."""


def cut_short(experiment: Experiment, runs: Any) -> str:
    """Return `NMU 2,000 of 50,000 iterations` for all models with shorter runs than published.

    Where a script counts epochs, it is these.
    """
    lengths, unit = [], "iterations"
    for model in experiment.models:
        if length := shortened(experiment, runs.loc[runs["model"] == model.key]):
            if model.steps_per_epoch:
                length, unit = [count // model.steps_per_epoch for count in length], "epochs"
            lengths.append("{} {:,} of {:,}".format(model.label, *length))
    return f"{'; '.join(lengths)} {unit}" if lengths else ""


def read_notes(folder: Path) -> dict[str, str]:
    """Read heading -> text from `notes.md`; a heading is `## key`, or has a model and a point."""
    path = folder / NOTES
    if not path.exists():
        return {}
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not text in UTF-8") from None
    parts = re.split(r"^## +(.+)$", text, flags=re.MULTILINE)
    texts = zip(parts[1::2], parts[2::2], strict=True)
    return {_plain(heading): " ".join(text.split()) for heading, text in texts if text.strip()}


def note(notes: Mapping[str, str], key: str, model: str, point: str) -> str:
    """Return the note about a point, or else its model, or else its figure, or else nothing."""
    names = (f"{key} / {model} / {point}", f"{key} / {model}", key)
    return next((notes[_plain(name)] for name in names if _plain(name) in notes), "")


def _plain(heading: str) -> str:
    return re.sub(r"\s+", "", heading)


def reason(folder: Path, experiment: Experiment) -> str:
    """Return why an experiment was not run in full: by `not_run.csv`, or its cost.

    The first row counts whose key, a pattern as of file names, fits.
    """
    for row in rows_in(folder / REASONS):
        if fnmatchcase(experiment.key, row["key"]):
            return row["reason"]
    if not experiment.models:
        return experiment.note
    seconds = stored.seconds_here(experiment, CORES)
    if seconds is None:
        return "not run so far"
    return f"not run so far; all of it takes about {duration(seconds)} on {CORES} cores"


def verified_of(key: str, data: Path) -> list[Verified]:
    """Return what is known of the rows of an experiment that are still kept as they were then."""
    found = [one for one in stored.read_records(Verified, stored.file_of(data)) if one.key == key]
    kept = _digests(key, data) if found else set()
    return [one for one in found if one.digest in kept]


def replaced(data: Path) -> list[Verified]:
    known = stored.read_records(Verified, stored.file_of(data))
    wrong = [one for one in known if one.equal < one.compared]
    kept = {key: _digests(key, data) for key in {one.key for one in wrong}}
    return [one for one in wrong if one.digest not in kept[one.key]]


def _digests(key: str, data: Path) -> set[str]:
    rows = rows_in(stored.path_of(key, data)) if key in EXPERIMENTS else []
    return set(map(stored.digest_of, rows))


Counts = Mapping[str, tuple[int, int]]
"""Solved and all runs by point."""

TOO_SHORT = 100
"""Runs of less than one in so many of the published iterations rank no models."""


def finding(experiment: Experiment, runs: pd.DataFrame) -> str:
    """Return which model is best and which one worst, and where the best one fails most."""
    lengths = (shortened(experiment, own) for _, own in runs.groupby("model"))
    if any(TOO_SHORT * ours < whole for ours, whole in filter(None, lengths)):
        return "Runs are too short to rank models."
    if experiment.is_measured:
        return plain(_of_measures(measured_points(experiment, runs)))
    found: dict[str, dict[str, tuple[int, int]]] = {}
    for model, point, _, group in places(experiment, runs):
        counts = found.setdefault(experiment.model(model).label, {})
        counts[half_open(point)] = (solved_of(group), len(group))
    return plain(_of_rates(found))


def _of_rates(found: Mapping[str, Counts]) -> str:
    if len({tuple(sorted(points)) for points in found.values()}) > 1:
        # Sums over different points cannot be compared.
        points = dict.fromkeys(point for counts in found.values() for point in counts)
        at = {p: {name: c[p] for name, c in found.items() if p in c} for p in points}
        parts = (f"on {p} with {_named(_those(max, own), own)}" for p, own in at.items())
        return f"Success is highest {'; '.join(parts)}."
    sums: Any = {name: np.sum(list(c.values()), 0).tolist() for name, c in found.items()}
    best, worst = _those(max, sums), _those(min, sums)
    rest = {name: counts for name, counts in sums.items() if counts[0] < counts[1]}
    if not rest or not any(solved for solved, _ in sums.values()):
        return f"{'No' if rest else 'Every'} run is solved, with {_named(best)}."
    said = f"Success is {'equal' if best == worst else 'highest'} with {_named(best, sums)}"
    if len(sums) == 1:
        said = "{:,} of {:,} runs are solved".format(*sums[best[0]])
    name = _those(max, rest)[0]
    if len(points := found[name]) > 1:
        least = _those(min, points)
        where = least if len(least) == 1 else [f"{len(least)} of {len(points)} points"]
        said += "," if best == [name] else f"; {name} has"
        said += " the fewest on {} ({:,} of {:,})".format(*where, *points[least[0]])
    if best != worst and (name not in worst or len(points) == 1):
        said += f"; lowest with {_named(worst, sums)}"
    return f"{said}."


def _those(end: Callable[..., float], counts: Counts) -> list[str]:
    shares = {name: solved / runs for name, (solved, runs) in counts.items()}
    return [name for name, share in shares.items() if share == end(shares.values())]


def _of_measures(points: Sequence[MeasuredPoint]) -> str:
    first = points[0]
    ordered = sorted(points, key=lambda one: one.ours, reverse=not first.measure.lower)
    own = [one for one in ordered if one.column == first.column]
    places = dict(grouped(own, lambda one: one.point))
    best, worst = ("lowest", "highest") if first.measure.lower else ("highest", "lowest")
    name, (leader, *_, last) = f"{first.name[0].upper()}{first.name[1:]}", places[first.point] * 2
    if len(places) > 1:
        there = sorted(places, key=[one.point for one in points].index)
        winners = grouped(there, lambda place: places[place][0].label)
        best_of = [
            f"{label} ({'everywhere' if len(winners) == 1 else ', '.join(map(half_open, where))})"
            for label, where in winners
        ]
        return f"{name} ends {best} with {_named(best_of)}."
    of = f", {first.measure.typical} of {leader.numbers['runs']} runs"
    said = number(leader.ours) + (of if leader.numbers["runs"] > 1 else "")
    if len(places[first.point]) == 1:
        return f"{name} ends at {said}."
    there = f"{last.label} ({number(last.ours)})"
    return f"{name} ends {best} with {leader.label} ({said}) and {worst} with {there}."


def and_last(names: Sequence[str]) -> str:
    """Return `A, B and C`."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _named(names: Sequence[str], counts: Counts | None = None) -> str:
    """Return names, with the counts of the first one."""
    said = and_last(names)
    return f"{said} ({'{:,} of {:,}'.format(*counts[names[0]])})" if counts else said
