"""Drawings of a user's own files: an entry made from what the command line says."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from stable_nalu.errors import UsageError, did_you_mean, is_text
from stable_nalu.files import table_rows

from . import kinds
from .entry import Entry, Part, Runs, Threshold
from .source import Series
from .style import STANDARD, drawable

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


KINDS: dict[str, Callable[[str, str | None, Threshold], Part]] = {
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
    if not isinstance(kind, str) or kind not in KINDS:
        hint = did_you_mean(str(kind), KINDS, f"kinds are {', '.join(KINDS)}")
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
    part = KINDS[kind](stem, column, Threshold(flat=threshold))
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
