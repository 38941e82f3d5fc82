"""The cost of training: a line in `sessions.csv` for every time that a reproduction trained."""

from __future__ import annotations

import resource
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from stable_nalu.files import locked

from .records import origin, read_records, write_records


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
        every: list[Session] = list(dict.fromkeys((*read_sessions(path), *new)))
        write_records(path, sorted(every, key=lambda session: session.began))
