"""CSV files in the dialect of the published tables: text quoted, NA, Inf, TRUE and FALSE."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from stable_nalu.errors import UsageError
from stable_nalu.files import atomic_text_file

if TYPE_CHECKING:
    import pandas as pd


def format_cell(value: object) -> str:
    """One cell; numbers in the fewest digits that give the same double."""
    if isinstance(value, str):
        return '"' + value.replace('"', '""') + '"'
    if value is None:
        return "NA"
    if isinstance(value, bool | np.bool_):
        return str(value).upper()
    if isinstance(value, Real):
        return _format_float(float(value))
    raise TypeError(f"no cell for {value!r}")


def _format_float(value: float) -> str:
    if math.isnan(value):
        return "NA"
    if math.isinf(value):
        return "Inf" if value > 0 else "-Inf"
    return repr(value).removesuffix(".0")


def format_table(columns: Iterable[str], rows: Iterable[Mapping[str, object]]) -> str:
    """Header and rows; a row without a column has NA there."""
    columns = list(columns)
    lines = [",".join(format_cell(column) for column in columns)]
    lines += [",".join(format_cell(row.get(column)) for column in columns) for row in rows]
    return "\n".join(lines) + "\n"


def write_table(path: Path, columns: Iterable[str], rows: Iterable[Mapping[str, object]]) -> None:
    """Write the file whole or not at all; its folder is made."""
    _write_text(path, format_table(columns, rows))


def write_frame(path: Path, table: pd.DataFrame) -> None:
    """Write a data frame, without its index."""
    write_table(path, table.columns, table.to_dict("records"))


def write_plain_frame(path: Path, table: pd.DataFrame) -> None:
    """Write a data frame as exporters do: nothing quoted, a missing cell empty, `inf`."""
    _write_text(path, table.to_csv(index=False))


def _write_text(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_text_file(path) as file:
            file.write(text)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from None
