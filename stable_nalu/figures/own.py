"""A user's own files under a kind of drawing: an entry made from what the command line says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from stable_nalu.errors import UsageError

from . import parts
from .entry import Entry, Series
from .order import suggestions
from .parts import Part, Runs, Threshold
from .style import STANDARD

FLAT = 1e-5

Style = Literal["dodge", "line", "category"]


def _panels(x: str, label: str, style: Style, *, alone: bool = False) -> Callable[..., Part]:
    def make(stem: str, column: str | None, threshold: Threshold) -> Part:
        runs = Runs(x=column or x, threshold=threshold, names="single")
        return parts.Panels(
            stem=stem,
            runs=runs,
            x_label=(column or x) if column else label,
            style=style,
            alone=alone,
            size=(STANDARD[0] * (0.5 if alone else 1), STANDARD[1]),
        )

    return make


def _table(stem: str, column: str | None, threshold: Threshold) -> Part:
    runs = Runs(x=column or "interpolation.range", threshold=threshold, names="single")
    return parts.Table(stem=stem, runs=runs, label=stem, caption=stem, show_range=True)


def _histogram(stem: str, column: str | None, threshold: Threshold) -> Part:
    runs = Runs(x="operation", threshold=threshold)
    gate = column or "network.layer_2.nalu.gate.mean"
    return parts.Histogram(stem=stem, runs=runs, column=gate)


def _curve(stem: str, column: str | None, threshold: Threshold) -> Part:
    del threshold
    chosen = column or "metric.test.output.acc"
    return parts.EpochCurves(stem=stem, column=chosen, y_label=chosen)


def _metrics(stem: str, column: str | None, threshold: Threshold) -> Part:
    del threshold
    chosen = column or "metric.test.output.acc"
    return parts.Scatter(stem=stem, metrics=(((chosen,), chosen),), y_label=chosen)


def _path(stem: str, column: str | None, threshold: Threshold) -> Part:
    del column, threshold
    return parts.Path(
        stem=stem,
        file="",
        columns=(("weights.w0", "weights.w1"), ("gate.g0", "gate.g1")),
        time="step",
        limits=(-1.0, 1.0),
    )


KINDS: dict[str, Callable[[str, str | None, Threshold], Part]] = {
    "range": _panels("interpolation.range", "Interpolation range", "dodge"),
    "success": _panels("interpolation.range", "Interpolation range", "dodge", alone=True),
    "distribution": _panels("distribution", "Interpolation range", "dodge"),
    "sweep": _panels("hidden.size", "Hidden size", "line"),
    "table": _table,
    "histogram": _histogram,
    "curve": _curve,
    "metrics": _metrics,
    "surface": lambda stem, column, threshold: parts.Surface(stem=stem),
    "path": _path,
    "matrix": lambda stem, column, threshold: parts.Matrix(stem=stem),
}
"""Kind -> part, from file name, chosen column and thresholds."""


def own_entry(
    kind: str,
    files: Sequence[Path],
    labels: Sequence[str],
    stem: str,
    column: str | None = None,
    threshold: float | None = None,
) -> Entry:
    """An entry of the user's files; labels are the model names, or none."""
    if kind not in KINDS:
        known = list(KINDS)
        raise UsageError(f"no kind {kind!r}{suggestions(kind, known)} (kinds: {', '.join(known)})")
    if labels and len(labels) != len(files):
        raise UsageError(f"{len(labels)} labels are given for {len(files)} files")
    for path in files:
        if not path.is_file():
            raise UsageError(f"cannot read {path}: no such file")
    part = KINDS[kind](stem, column, Threshold(flat=FLAT if threshold is None else threshold))
    if isinstance(part, parts.Path):
        part = replace(part, file=str(files[0].resolve()))
    names = list(labels) or [None] * len(files)
    if not labels and kind in ("curve", "metrics", "surface"):
        names = [path.stem for path in files]
    series = tuple(
        Series((str(path.resolve()),), label) for path, label in zip(files, names, strict=True)
    )
    return Entry(stem, None, "", kind, (part,), series)


def with_threshold(entry: Entry, threshold: float) -> Entry:
    """The same entry, every run judged by one error."""
    flat = Threshold(flat=threshold)
    changed = []
    for part in entry.parts:
        if isinstance(part, parts.Panels | parts.Table | parts.Histogram | parts.Curves):
            part = replace(part, runs=replace(part.runs, threshold=flat))
        changed.append(part)
    return replace(entry, parts=tuple(changed))
