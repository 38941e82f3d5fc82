"""Every figure and table of the papers, by lookup key, and those of a user's own files."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Literal

from stable_nalu.errors import UsageError, did_you_mean, is_text
from stable_nalu.files import table_rows
from stable_nalu.paper.drawing import STANDARD, Drawing, Runs, Series, Sketch, Threshold
from stable_nalu.paper.experiment import Experiment
from stable_nalu.paper.index import EXPERIMENTS, OTHER_KEYS, known
from stable_nalu.papers import STUDIES

from . import kinds
from .entry import Entry, Part
from .style import drawable


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
        labels: dict[str, list[str]] = {}
        for model in experiment.models:
            labels.setdefault(model.csv, []).append(model.label)
        series = tuple(
            Series((csv,), found[0] if len(found) == 1 else None) for csv, found in labels.items()
        )
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


_FIRST_TWO = re.compile(r"(.+)\.[a-z]?[01]")
_WEIGHTS = ("weights.w0", "weights.w1")
_PATHS = ("weights", "label2out")
"""What a path is drawn of unless `--column` says: a module's weights, a last layer's."""

Style = Literal["dodge", "line", "category"]


def _panels(x: str, label: str, style: Style, *, alone: bool = False) -> Callable[..., Part]:
    def make(stem: str, column: str | None, threshold: Threshold) -> Part:
        runs = Runs(x=column or x, threshold=threshold, names="single")
        size = (STANDARD[0] * (0.5 if alone else 1), STANDARD[1])
        return kinds.Panels(stem, runs, drawable(column or label), style, alone=alone, size=size)

    return make


def _table(stem: str, column: str | None, threshold: Threshold) -> Part:
    runs = Runs(x=column or "interpolation.range", threshold=threshold, names="single")
    return kinds.Table(stem, runs, label=stem, caption=stem, show_range=True)


def _histogram(stem: str, column: str | None, threshold: Threshold) -> Part:
    runs = Runs(x="operation", threshold=threshold)
    return kinds.Histogram(stem, runs, column or "network.layer_2.nalu.gate.mean")


def _curve(stem: str, column: str | None, _: Threshold) -> Part:
    chosen = column or "metric.test.output.acc"
    return kinds.EpochCurves(stem, chosen, y_label=drawable(chosen))


def _metrics(stem: str, column: str | None, _: Threshold) -> Part:
    chosen = column or "metric.test.output.acc"
    return kinds.Scatter(stem, (((chosen,), chosen),), y_label=drawable(chosen))


def _path(stem: str, *_: object) -> Part:
    return kinds.Path(stem, file="", columns=(), time="", limits=(-1.0, 1.0))


def _along(part: kinds.Path, files: Sequence[Path], column: str | None) -> Part:
    """Return the path of one file: of the weights that --column begins, or the first it has."""
    if len(files) > 1:
        raise UsageError("argument --csv: --kind path draws one file; name one")
    header = next(table_rows(files[0]), [])
    pairs: dict[str, list[str]] = {}
    for name in header:
        if match := _FIRST_TWO.fullmatch(name):
            pairs.setdefault(match[1], []).append(name)
    known = {start: (two[0], two[1]) for start, two in pairs.items() if len(two) == 2}
    start = column or next((name for name in _PATHS if name in known), _PATHS[0])
    if start not in known and column:
        hint = did_you_mean(start, known, f"it has {', '.join(known) or 'no weights'}")
        raise UsageError(f"argument --column: no weights {start!r} in {files[0]}; {hint}")
    shown = [known.get(start, _WEIGHTS)]
    shown += [known["gate"]] if start == "weights" and "gate" in known else []
    time = "epoch" if "epoch" in header else "step"
    return replace(part, file=str(files[0].resolve()), columns=tuple(shown), time=time)


USER_KINDS: dict[str, Callable[[str, str | None, Threshold], Part]] = {
    "range": _panels("interpolation.range", "Interpolation range", "dodge"),
    "success": _panels("interpolation.range", "Interpolation range", "dodge", alone=True),
    "distribution": _panels("distribution", "Input distribution", "dodge"),
    "sweep": _panels("hidden.size", "Hidden size", "line"),
    "table": _table,
    "histogram": _histogram,
    "curve": _curve,
    "metrics": _metrics,
    "surface": lambda stem, column, threshold: kinds.Surface(stem),
    "path": _path,
    "matrix": lambda stem, column, threshold: kinds.Matrix(stem),
}
"""Word of `--kind` -> what makes its part from file name, chosen column and thresholds."""


def entry_of_files(
    kind: str,
    files: Sequence[Path],
    labels: Sequence[str],
    stem: str,
    column: str | None = None,
    threshold: float | None = None,
) -> Entry:
    """Return an entry of the user's files; labels are the model names, or none."""
    if not isinstance(kind, str) or kind not in USER_KINDS:
        hint = did_you_mean(str(kind), USER_KINDS, f"kinds are {', '.join(USER_KINDS)}")
        raise UsageError(f"no kind {kind!r}; {hint}")
    for label in labels:
        if not is_text(label):
            raise UsageError(f"label {label!r} is no text; write it in UTF-8")
    if labels and len(labels) != len(files):
        raise UsageError(f"{len(labels)} labels are given for {len(files)} files")
    for path in files:
        try:
            there = path.is_file()
        except OSError as error:
            raise UsageError(f"cannot read {path}: {error.strerror}") from None
        if not there:
            raise UsageError(f"cannot read {path}: no such file")
    part = USER_KINDS[kind](stem, column, Threshold(flat=threshold))
    if isinstance(part, kinds.Path):
        part = _along(part, files, column)
    names = list(map(drawable, labels)) or [None] * len(files)
    if not labels and kind in ("curve", "metrics", "surface"):
        names = [drawable(path.stem) for path in files]
    series = tuple(
        Series((str(path.resolve()),), label) for path, label in zip(files, names, strict=True)
    )
    return Entry(stem, None, "", kind, (part,), series)


def with_threshold(entry: Entry, threshold: float) -> Entry:
    """Return the same entry with every run judged by one error."""
    flat = Threshold(flat=threshold)
    changed = []
    for part in entry.parts:
        if isinstance(part, kinds.Panels | kinds.Table | kinds.Histogram):
            part = replace(part, runs=replace(part.runs, threshold=flat))
        elif isinstance(part, kinds.Successes):
            panels = [(*names, replace(runs, threshold=flat)) for *names, runs in part.panels]
            part = replace(part, panels=tuple(panels))
        changed.append(part)
    return replace(entry, parts=tuple(changed))
