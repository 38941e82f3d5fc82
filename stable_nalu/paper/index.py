"""Every experiment by its key, and every figure and table of the papers."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

from stable_nalu.base.errors import OptionError, did_you_mean
from stable_nalu.base.files import cells_of
from stable_nalu.base.papers import STUDIES
from stable_nalu.figure.panels import sweep_panels
from stable_nalu.figure.runs import Drawing, Series

from . import (
    arithmetic_units,
    articles,
    calcnet,
    depth,
    division,
    eql_2016,
    inalu,
    mclstm,
    nalu,
    new_units,
    npu,
    primer,
    robust,
    sequences,
)
from .experiment import Experiment

_PAPERS = (
    *(arithmetic_units, sequences, division, primer, robust, new_units),
    *(nalu, articles, depth, mclstm, calcnet, eql_2016, npu, inalu),
)
EXPERIMENTS: dict[str, Experiment] = {e.key: e for paper in _PAPERS for e in paper.EXPERIMENTS}

OTHER_KEYS = {
    row["name"]: row["key"] for row in cells_of(Path(__file__).with_name("other_keys.csv"))
}
"""Name of a figure in published commands and earlier versions -> its key."""

TRAINED_IN = {m.csv: m.prefix for one in EXPERIMENTS.values() for m in one.models}
"""Table of a model -> folder of its runs, after which an exporter names the tables of many."""


def known(key: str) -> Experiment | None:
    """Return the experiment of a key, of a figure of it, or of another name of one of them.

    A `/` may be written as in the names of files.
    """
    key = OTHER_KEYS.get(key, key)
    if key in EXPERIMENTS:
        return EXPERIMENTS[key]
    stem = key.replace("/", "-")
    return next((e for e in EXPERIMENTS.values() if stem in (e.stem, *e.figure_keys)), None)


def find(key: str) -> Experiment:
    """Return the experiment of a key; UsageError names similar ones."""
    experiment = known(key)
    if experiment is not None:
        return experiment
    hint = did_you_mean(key, EXPERIMENTS, "--list names them all", most=3)
    raise OptionError("KEY", f"there is no experiment {key!r}", hint)


@cache
def all_entries() -> Mapping[str, Drawing]:
    """Return figures by key, in the order of the papers; a key that comes twice is an error.

    A figure has from its experiment what it does not say: key, number, paper, title, series.
    """
    entries: dict[str, Drawing] = {}
    for experiment in EXPERIMENTS.values():
        labels: dict[str, list[str]] = {}
        for model in experiment.models:
            labels.setdefault(model.csv, []).append(model.label)
        series = tuple(Series((k,), v[0] if len(v) == 1 else None) for k, v in labels.items())
        for own in experiment.drawings:
            key = own.key or experiment.stem
            if key in entries:
                raise ValueError(f"figure key {key!r} is defined twice")
            number = own.number if own.key else ", ".join(experiment.numbers)
            has = {"paper": own.paper or experiment.paper, "series": own.series or series}
            has |= {"title": own.title or experiment.title, "judgement": experiment.judgement}
            entries[key] = replace(own, key=key, number=number, trained_in=TRAINED_IN, **has)
    return entries


def find_figure(key: str) -> Drawing:
    """Return the figure of a key, or of another name that published commands have for it."""
    entries = all_entries()
    key = OTHER_KEYS.get(key, key)
    key = key if key in entries else key.replace("/", "-")
    if key in entries:
        return entries[key]
    experiment = known(key)
    if experiment is not None:
        drawn = [name for name in experiment.figure_keys if name in entries]
        remedy = f"draw {', '.join(drawn)}" if drawn else "experiments/reproduce.py sums it up"
        raise OptionError("KEY", f"{key} has no figure of its own", remedy)
    hint = did_you_mean(key, entries, "--list names them all", most=3)
    raise OptionError("KEY", f"no figure {key!r}", hint)


def _kind_of(entry: Drawing) -> str:
    """Return what `--list` calls the first part; of three panels, by what is on the x axis."""
    part = entry.parts[0]
    x = part.options["runs"].x if part.kind is sweep_panels else ""
    return {"interpolation.range": "range", "distribution": x}.get(x, part.kind.title)


def listing() -> str:
    """Return key, kind, content and number of every figure, one per line, under its paper."""
    entries = all_entries()
    width = max(map(len, entries))
    kinds = max(len(_kind_of(entry)) for entry in entries.values())
    lines = []
    for paper in STUDIES:
        shown = {key: entry for key, entry in entries.items() if entry.paper == paper}
        if shown:
            lines.append(f"{paper.title} ({paper.reference})")
        for key, entry in shown.items():
            text = entry.title + (f" [{entry.number}]" if entry.number else "")
            lines.append(f"  {key:{width}}  {_kind_of(entry):{kinds}}  {text}")
    return "\n".join(lines) + "\n"
