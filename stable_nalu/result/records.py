"""Records in CSV files: a line for each, in columns that a dataclass names."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from stable_nalu.errors import UsageError
from stable_nalu.files import atomic_text_file, table_rows
from stable_nalu.writer.run_record import RunRecord

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Record = TypeVar("Record", bound="DataclassInstance")

_READ: dict[str, Callable[[str], object]] = {
    "int": int,
    "float": float,
    "str": str,
    "int | None": lambda cell: int(cell) if cell else None,
}
"""Types of columns, as they are written in the dataclass -> how a cell is read."""


def read_records(kind: type[Record], path: Path) -> list[Record]:
    """Read all records of a file; there are none where there is no file."""
    if not path.exists():
        return []
    readers = {field.name: _READ[str(field.type)] for field in fields(kind)}
    rows = cells_of(path)
    if rows and rows[0].keys() != readers.keys():
        raise UsageError(f"{path}: its columns are not {', '.join(readers)}")
    return [_record(kind, readers, cells, f"{path}: row {i}") for i, cells in enumerate(rows, 1)]


def _record(
    kind: type[Record],
    readers: Mapping[str, Callable[[str], object]],
    cells: Mapping[str, str],
    place: str,
) -> Record:
    values = {}
    for name, read in readers.items():
        try:
            values[name] = read(cells[name])
        except ValueError:
            raise UsageError(f"{place}: column {name} holds {cells[name]!r}, no number") from None
    return kind(**values)


def write_records(path: Path, records: Sequence[DataclassInstance]) -> None:
    """Write a file of records, of which there is at least one."""
    with atomic_text_file(path) as file:
        names = [field.name for field in fields(records[0])]
        writer = csv.DictWriter(file, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(map(asdict, records))


def cells_of(path: Path) -> list[dict[str, str]]:
    """Return all rows of a CSV file, as they stand there: every digit."""
    rows = table_rows(path)
    header = next(rows, [])
    return [dict(zip(header, row, strict=True)) for row in rows]


def origin() -> dict[str, str]:
    """Return the versions of the packages and the revision of the code, as records name them."""
    found = RunRecord.create("reproduce", {}, "")
    return {
        "versions": ", ".join(f"{name} {number}" for name, number in found.versions.items()),
        "git_revision": found.git_revision or "",
    }
