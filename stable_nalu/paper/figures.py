"""Every figure and table of the papers by its key."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

from stable_nalu.base.errors import UsageError, did_you_mean
from stable_nalu.base.papers import STUDIES
from stable_nalu.figure.drawing import Drawing, Series
from stable_nalu.figure.entry import Source
from stable_nalu.figure.panels import sweep_panels

from .experiment import Experiment
from .index import EXPERIMENTS, OTHER_KEYS, known

TRAINED_IN = {m.csv: m.prefix for one in EXPERIMENTS.values() for m in one.models}
"""Table of a model -> folder of its runs, after which an exporter names the tables of many."""


@cache
def all_entries() -> Mapping[str, Drawing]:
    """Return figures by key, in the order of the papers; a key that comes twice is an error."""
    entries: dict[str, Drawing] = {}
    for experiment in EXPERIMENTS.values():
        for own in experiment.drawings:
            entry = _completed(experiment, own)
            if entry.key in entries:
                raise ValueError(f"figure key {entry.key!r} is defined twice")
            entries[entry.key] = entry
    return entries


def _completed(experiment: Experiment, drawing: Drawing) -> Drawing:
    """Return a figure with what it has from its experiment: key, number, paper, title, series."""
    labels: dict[str, list[str]] = {}
    for model in experiment.models:
        labels.setdefault(model.csv, []).append(model.label)
    return replace(
        drawing,
        key=drawing.key or experiment.stem,
        paper=drawing.paper or experiment.paper,
        number=drawing.number if drawing.key else ", ".join(experiment.numbers),
        title=drawing.title or experiment.title,
        judgement=experiment.judgement,
        series=drawing.series
        or tuple(Series((csv,), own[0] if len(own) == 1 else None) for csv, own in labels.items()),
    )


def find(key: str) -> Drawing:
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


def kind_of(entry: Drawing) -> str:
    """Return what `--list` calls the first part; of three panels, by what is on the x axis."""
    part = entry.parts[0]
    x = part.options["runs"].x if part.kind is sweep_panels else ""
    return {"interpolation.range": "range", "distribution": x}.get(x, part.kind.title)


def listing(entries: Mapping[str, Drawing]) -> str:
    """Return key, kind, content and number of every entry, one per line, under its paper."""
    width = max(map(len, entries))
    kinds = max(len(kind_of(entry)) for entry in entries.values())
    lines = []
    for paper in STUDIES:
        shown = {key: entry for key, entry in entries.items() if entry.paper == paper}
        if shown:
            lines.append(f"{paper.title} ({paper.reference})")
        for key, entry in shown.items():
            text = entry.title + (f" [{entry.number}]" if entry.number else "")
            lines.append(f"  {key:{width}}  {kind_of(entry):{kinds}}  {text}")
    return "\n".join(lines) + "\n"


def source_of(entry: Drawing, folder: Path) -> Source:
    """Return the exported files of a figure below a folder."""
    return Source(folder, entry.folders, TRAINED_IN)
