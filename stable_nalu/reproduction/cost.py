"""The cost of training: a line in `sessions.csv` for every time that a reproduction trained."""

from __future__ import annotations

import csv
import resource
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path

from stable_nalu.files import atomic_text_file
from stable_nalu.writer.run_record import RunRecord


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
        origin = RunRecord.create("reproduce", {}, "")
        return Session(
            began=self.began,
            runs=len(finished),
            run_iterations=sum(finished.values()),
            cpu_seconds=round(self._cpu_seconds() - self._cpu, 1),
            wall_seconds=round(time.monotonic() - self._wall, 1),
            processes=processes,
            versions=", ".join(f"{name} {number}" for name, number in origin.versions.items()),
            git_revision=origin.git_revision or "",
        )

    def _cpu_seconds(self) -> float:
        used = [resource.getrusage(who) for who in self._whose]
        return sum(one.ru_utime + one.ru_stime for one in used)


def read_sessions(path: Path) -> list[Session]:
    """Read all sessions of a file; there are none where there is no file."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return [_session(row) for row in csv.DictReader(file)]


def add_sessions(path: Path, sessions: Iterable[Session]) -> None:
    """Add sessions to a file, in order of time; one that is there already stays."""
    every = {session.began: session for session in (*sessions, *read_sessions(path))}
    if not every:
        return
    with atomic_text_file(path) as file:
        names = [field.name for field in fields(Session)]
        writer = csv.DictWriter(file, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(every[began]) for began in sorted(every))


def _session(row: dict[str, str]) -> Session:
    kinds = {"int": int, "float": float, "str": str}
    return Session(**{f.name: kinds[str(f.type)](row[f.name]) for f in fields(Session)})
