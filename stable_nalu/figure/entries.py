"""Figures of a user's files, and how all figures are drawn and written."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from stable_nalu.base.errors import OptionError, UsageError, did_you_mean, is_text
from stable_nalu.base.files import atomic_text_file, table_rows
from stable_nalu.statistics.table import TEST, write_frame

from .comparison import critical_difference, profile
from .curves import epoch_curves, histogram, iterations, matrix, path, scatter, surface
from .panels import sweep_panels, table
from .runs import Context, Drawing, Part, Product, Runs, Series
from .style import FORMATS, STANDARD, drawable, drawing, save

Texts = Sequence[str]
_FIRST_TWO = re.compile(r"(.+)\.[a-z]?[01]")
_WEIGHTS = ("weights.w0", "weights.w1")
_PATHS = ("weights", "label2out")
"""What a path is drawn of unless `--column` says: a module's weights, a last layer's."""


def _path(stem: str, files: Texts, header: Texts, column: str | None) -> Part:
    """Return the path of one file: of the weights that --column begins, or the first it has."""
    if len(files) > 1:
        raise UsageError("argument --csv: --kind path draws one file; name one")
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
    return Part(path, stem, file=files[0], columns=tuple(shown), time=time)


_AXES = {
    "range": ("interpolation.range", "Interpolation range"),
    "success": ("interpolation.range", "Interpolation range"),
    "distribution": ("distribution", "Input distribution"),
    "sweep": ("hidden.size", "Hidden size"),
}
"""Kind of panels -> column on the x axis unless `--column` says, and its label."""

_GATE, _ACCURACY = "network.layer_2.nalu.gate.mean", "metric.test.output.acc"
_OF_PAIRS = {"critical-difference": critical_difference, "profile": profile}
USER_KINDS = (*_AXES, "table", "histogram", "curve", "metrics", "surface", "path", "matrix")
USER_KINDS += (*_OF_PAIRS,)
"""Words of `--kind`."""


def _part(kind: str, stem: str, files: Texts, header: Texts, column: str | None) -> Part:
    """Return the part of a figure of a user's files; `header` is of the first."""
    shown, ranges = column or _ACCURACY, Runs(column or "interpolation.range")
    match kind:
        case "table":
            return Part(table, stem, runs=ranges, label=stem, caption=stem, show_range=True)
        case "histogram":
            return Part(histogram, stem, runs=Runs("operation"), column=column or _GATE)
        case "curve" if "epoch" in header:
            return Part(epoch_curves, stem, column=shown, y_label=drawable(shown))
        case "curve":  # arithmetic runs
            text, runs = drawable(column or "Test error"), Runs("interpolation.range")
            return Part(iterations, stem, column=column or TEST, y_label=text, runs=runs)
        case "metrics":
            return Part(scatter, stem, metrics=(((shown,), shown),), y_label=drawable(shown))
        case "path":
            return _path(stem, files, header, column)
        case "matrix" | "surface":
            return Part(matrix if kind == "matrix" else surface, stem)
        case "critical-difference" | "profile":
            return Part(_OF_PAIRS[kind], stem)
    x, label = _AXES[kind]
    options: dict[str, Any] = {"style": "line" if kind == "sweep" else "dodge"}
    if kind == "success":
        options |= {"alone": True, "size": (STANDARD[0] * 0.5, STANDARD[1])}
    text = drawable(column or label)
    return Part(sweep_panels, stem, runs=Runs(column or x), x_label=text, **options)


def entry_of_files(kind: str, files: Sequence[Path], *own: Any) -> Drawing:
    """Return a figure of files that the user names; `own`: the rest as in `entry_of_tables`."""
    header, *_ = [next(table_rows(file), []) for file in files]
    return entry_of_tables(kind, [str(file.resolve()) for file in files], header, *own)


def entry_of_tables(
    kind: str, names: Texts, header: Texts, labels: Texts, stem: str, column: str | None = None
) -> Drawing:
    """Return a figure of files, or of tables by their names; `header` is of the first."""
    if not isinstance(kind, str) or kind not in USER_KINDS:
        hint = did_you_mean(str(kind), USER_KINDS, f"kinds are {', '.join(USER_KINDS)}")
        raise OptionError("--kind", f"no kind {kind!r}", hint)
    for label in labels:
        if not is_text(label):
            raise UsageError(f"label {label!r} is not text; write it in UTF-8")
    if labels and len(labels) != len(names):
        raise UsageError(f"{len(labels)} labels are given for {len(names)} files")
    part = _part(kind, stem, names, header, column)
    shown = list(map(drawable, labels)) or [None] * len(names)
    if not labels and part.kind in (epoch_curves, scatter, surface):
        shown = [drawable(Path(name).stem) for name in names]
    series = tuple(Series((name,), label) for name, label in zip(names, shown, strict=True))
    return Drawing((part,), series, key=stem, title=kind)


def made(part: Part, context: Context) -> Product:
    """Read, reduce and draw what the context names."""
    context.stem = part.stem.replace("{key}", context.figure.key)
    with drawing():
        return part.kind(context, **part.options)


def render(context: Context, folder: Path, *how: Any, **more: Any) -> list[Path]:
    """Write all parts of a figure, as `write` does, and return the paths.

    A part without any data is a warning, unless no part has some.
    """
    written: list[Path] = []
    failures: list[UsageError] = []
    for part in context.figure.parts:
        try:
            product = made(part, context)
        except UsageError as error:
            failures.append(error)
            continue
        written += write(product, folder, *how, **more)
    if failures and not written:
        raise failures[0]
    for error in failures:
        context.warn(str(error))
    return written


def write(
    product: Product, folder: Path, formats: Sequence[str] = FORMATS, dpi: int = 200, side=True
) -> list[Path]:
    """Write one product, and its side tables if wanted, and return the paths."""
    written = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if product.figure is not None:
            for form in formats:
                path = folder / f"{product.stem}.{form}"
                written.append(save(product.figure, path, form, dpi))
        if product.text is not None:
            path = folder / f"{product.stem}.tex"
            with atomic_text_file(path) as file:
                file.write(product.text)
            written.append(path)
    except OSError as error:
        raise UsageError(f"cannot write to {folder}: {error.strerror}") from None
    for name, own in product.side.items() if side else ():
        path = folder / f"{name}.csv"
        write_numbered(path, own)
        written.append(path)
    return written


def write_numbered(path: Path, table: pd.DataFrame) -> None:
    """Write a table behind an unnamed column of row numbers, as the published files have."""
    numbered = table.rename(columns=str)
    numbered.insert(0, "", [str(number) for number in range(1, len(table) + 1)])
    write_frame(path, numbered)
