"""What is on record of kept runs, as CSV files: what they cost, and which were trained again."""

from __future__ import annotations

import csv
import hashlib
import json
import resource
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from stable_nalu.errors import UsageError
from stable_nalu.files import atomic_text_file, locked, table_rows
from stable_nalu.machine import processor
from stable_nalu.paper.index import EXPERIMENTS
from stable_nalu.writer.run_folder import RunRecord

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
    """Return what numbers were made with: packages, processor and revision, as in records."""
    found = RunRecord.create("reproduce", {}, "")
    made_with = {**found.versions, "processor": processor()}
    return {
        "versions": ", ".join(f"{name} {value}" for name, value in made_with.items()),
        "git_revision": found.git_revision or "",
    }


@dataclass(frozen=True)
class Session:
    """One time that runs of an experiment were trained, from start to end or interruption.

    began: the time in UTC, which tells sessions apart.
    runs, run_iterations: the runs that came to their end, and their iterations.
    cpu_seconds: of all training processes together.
    processes: how many trained at a time, at most.
    versions: of the packages, as text.
    """

    began: str
    runs: int
    run_iterations: int
    cpu_seconds: float
    wall_seconds: float
    processes: int
    versions: str
    git_revision: str


class Stopwatch:
    """A stopwatch of the processes that this one starts and waits for.

    whose: other processes, by the constants of `resource`.
    """

    def __init__(self, *whose: int) -> None:
        self._whose = whose or (resource.RUSAGE_CHILDREN,)
        self.began = datetime.now(UTC).isoformat(timespec="milliseconds")
        self._wall, self._cpu = time.monotonic(), self._cpu_seconds()

    def session(self, finished: Mapping[str, int], processes: int) -> Session:
        """Return what was done since the stopwatch was made.

        finished: the iterations of every run that came to its end.
        """
        return Session(
            began=self.began,
            runs=len(finished),
            run_iterations=sum(finished.values()),
            cpu_seconds=round(self._cpu_seconds() - self._cpu, 1),
            wall_seconds=round(time.monotonic() - self._wall, 1),
            processes=processes,
            **origin(),
        )

    def _cpu_seconds(self) -> float:
        used = [resource.getrusage(who) for who in self._whose]
        return sum(one.ru_utime + one.ru_stime for one in used)


def read_sessions(path: Path) -> list[Session]:
    """Read all sessions of a file; there are none where there is no file."""
    return read_records(Session, path)


def add_sessions(path: Path, sessions: Iterable[Session]) -> None:
    """Add sessions to a file, in order of time; one that is there already stays."""
    new = list(sessions)
    if not new:
        return
    with locked(path):
        every = dict.fromkeys((*read_sessions(path), *new))
        write_records(path, sorted(every, key=attrgetter("began")))


ALONE = "alone"
"""How a row was trained that was trained without others."""


@dataclass(frozen=True)
class Verified:
    """A kept row that was trained again.

    row: what tells it apart. digest: of its kept cells; those of a row that was replaced differ.
    verify_seed: of the random choice; None for a row that was named.
    trained: alone, or in what stack.
    compared, equal: how many cells, and how many of them came out again.
    ended: the time in UTC.
    """

    key: str
    row: str
    digest: str
    verify_seed: int | None
    trained: str
    compared: int
    equal: int
    ended: str
    versions: str
    git_revision: str


def digest_of(cells: Mapping[str, str]) -> str:
    """Return what a kept row is known by, whatever the order of its columns."""
    text = json.dumps(cells, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def file_of(data: Path) -> Path:
    """Return the file of all that is known of the kept rows of a folder."""
    return data / "verified.csv"


def add_verified(data: Path, found: Iterable[Verified]) -> Path:
    """Add what came of rows, and return the file.

    It replaces what was known of the same digits; what is known of replaced rows stays.
    """
    path = file_of(data)
    with locked(path):
        known = read_records(Verified, path)
        every = {(one.key, one.row, one.digest): one for one in (*known, *found)}
        places = {key: place for place, key in enumerate(EXPERIMENTS)}
        # The sort is stable: rows of an experiment stay in the order in which they came.
        ordered = sorted(every.values(), key=lambda one: places.get(one.key, len(places)))
        write_records(path, ordered)
    return path
