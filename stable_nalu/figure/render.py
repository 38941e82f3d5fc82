"""From a figure to its files: every kind of part by its name, made and written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from stable_nalu.errors import UsageError
from stable_nalu.files import atomic_text_file
from stable_nalu.paper.drawing import Drawing, Sketch
from stable_nalu.statistics.table import write_table

# Each of these modules adds its kinds.
from . import answers, digits, error_curves, panels, surfaces, tables, weights  # noqa: F401
from .entry import KINDS, Context, Product
from .style import FORMATS, drawing, save

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Output:
    """Where files go and which are written.

    side: whether to write the tables beside a drawing, too.
    """

    folder: Path
    formats: Sequence[str] = FORMATS
    dpi: int = 200
    side: bool = True


def made(part: Sketch, context: Context) -> Product:
    """Read, reduce and draw what the context names."""
    with drawing():
        stem = part.stem.replace("{key}", context.key)
        return KINDS[part.kind].make(replace(context, stem=stem), **part.options)


def needs(figure: Drawing) -> set[str]:
    """Return what the parts of a figure are drawn from."""
    return {KINDS[part.kind].needs for part in figure.parts}


def render(context: Context, output: Output) -> list[Path]:
    """Write all parts of a figure and return the paths.

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
        written += write(product, output)
    if failures and not written:
        raise failures[0]
    for error in failures:
        context.source.warn(str(error))
    return written


def write(product: Product, output: Output) -> list[Path]:
    """Write one product and return the paths."""
    written = []
    try:
        output.folder.mkdir(parents=True, exist_ok=True)
        if product.figure is not None:
            written += save(product.figure, output.folder, product.stem, output.formats, output.dpi)
        if product.text is not None:
            path = output.folder / f"{product.stem}.tex"
            with atomic_text_file(path) as file:
                file.write(product.text)
            written.append(path)
    except OSError as error:
        raise UsageError(f"cannot write to {output.folder}: {error.strerror}") from None
    if output.side:
        for name, table in product.side.items():
            path = output.folder / f"{name}.csv"
            write_numbered(path, table)
            written.append(path)
    return written


def write_numbered(path: Path, table: pd.DataFrame) -> None:
    """Write a table behind an unnamed column of row numbers, as the published files have."""
    columns = ["", *map(str, table.columns)]
    records = (
        {"": str(number), **{str(name): value for name, value in row.items()}}
        for number, row in enumerate(table.to_dict("records"), start=1)
    )
    write_table(path, columns, records)
