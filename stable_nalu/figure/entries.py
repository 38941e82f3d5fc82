"""Every figure and table of the papers, by lookup key."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from stable_nalu.errors import UsageError, did_you_mean
from stable_nalu.paper.drawing import Drawing, Series, Sketch
from stable_nalu.paper.experiment import Experiment
from stable_nalu.paper.index import EXPERIMENTS, OTHER_KEYS, known
from stable_nalu.papers import STUDIES

from . import kinds
from .entry import Entry, Part


@cache
def all_entries() -> Mapping[str, Entry]:
    """Return entries by key, in the order of the papers; a key that comes twice is an error."""
    entries: dict[str, Entry] = {}
    for experiment in EXPERIMENTS.values():
        for drawing in experiment.drawings:
            entry = entry_of(experiment, drawing)
            if entry.key in entries:
                raise ValueError(f"figure key {entry.key!r} is defined twice")
            entries[entry.key] = entry
    return entries


def entry_of(experiment: Experiment, drawing: Drawing) -> Entry:
    """Return a figure of an experiment; one without a key has the key and the numbers of that."""
    series = drawing.series
    if series is None:
        series = tuple(Series((model.csv,), model.label) for model in experiment.models)
    numbers = ", ".join(shown.number for shown in experiment.shown)
    return Entry(
        key=drawing.key or experiment.stem,
        paper=drawing.paper or experiment.shown[0].paper,
        number=drawing.number if drawing.key else numbers,
        shows=drawing.title or experiment.title,
        parts=tuple(map(part_of, drawing.parts)),
        series=series,
        folders=drawing.folders,
    )


def part_of(sketch: Sketch) -> Part:
    """Return what draws a sketch."""
    return getattr(kinds, sketch.kind)(sketch.stem, **sketch.options)


def find(key: str) -> Entry:
    """Return the entry of a key, or of another name that published commands have for it."""
    entries = all_entries()
    key = OTHER_KEYS.get(key, key)
    key = key if key in entries else key.replace("/", "-")
    if key in entries:
        return entries[key]
    experiment = known(key)
    if experiment is not None:
        drawn = [name for name in experiment.figure_keys if name in entries]
        remedy = f"draw {', '.join(drawn)}" if drawn else "experiments/reproduce.py sums it up"
        raise UsageError(f"{key} has no figure of its own; {remedy}")
    hint = did_you_mean(key, entries, "--list names them all", most=3)
    raise UsageError(f"no figure {key!r}; {hint}")


def listing(entries: Mapping[str, Entry]) -> str:
    """Return key, kind, content and number of every entry, one per line, under its paper."""
    width = max(map(len, entries))
    kinds = max(len(entry.kind) for entry in entries.values())
    lines = []
    for paper in STUDIES:
        shown = {key: entry for key, entry in entries.items() if entry.paper == paper}
        if shown:
            lines.append(f"{paper.title} ({paper.reference})")
        for key, entry in shown.items():
            text = f"{entry.shows}" + (f" [{entry.number}]" if entry.number else "")
            lines.append(f"  {key:{width}}  {entry.kind:{kinds}}  {text}")
    return "\n".join(lines) + "\n"
