"""From an entry to files: figures, tables, and the numbers that they were drawn from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from stable_nalu.errors import UsageError
from stable_nalu.files import atomic_text_file
from stable_nalu.statistics.table import write_table

from .entry import Context, Entry, Product
from .style import FORMATS, save


@dataclass(frozen=True)
class Output:
    """Where files go and which are written.

    side: whether to write the tables beside a drawing, too.
    """

    folder: Path
    formats: Sequence[str] = FORMATS
    dpi: int = 200
    side: bool = True


def render(entry: Entry, context: Context, output: Output) -> list[Path]:
    """Write all parts of an entry and return the paths.

    A part without any data is a warning, unless no part has some.
    """
    written: list[Path] = []
    failures: list[UsageError] = []
    for part in entry.parts:
        try:
            product = part.render(context)
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
