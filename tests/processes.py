"""Processes that tests start and wait for: as long as they work, however busy the machine is."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol, TypeVar

PAUSE = 0.005
CHECK_INTERVAL = 5.0

REST = 300.0
"""Seconds on the clock in which processes have to work a little, or nothing happens any more."""
LEAST_WORK = 3.0
"""CPU seconds that count as work within `REST`; a process that only looks around uses fewer."""
MOST_WORK = 1800.0
"""CPU seconds in which whatever a test waits for has happened, or never will."""

PROCESSES = Path("/proc")
TICKS = os.sysconf("SC_CLK_TCK")


class Leader(Protocol):
    """A process with a session of its own."""

    @property
    def pid(self) -> int: ...
    def __enter__(self) -> object: ...
    def __exit__(self, kind, error, traceback, /) -> object: ...


Process = TypeVar("Process", bound=Leader)
Work = Callable[[], float]
"""Return the CPU seconds that some processes have used so far."""


def work_of_session(number: int) -> Work:
    """Return what measures all processes of a session, such as those that `started` starts."""

    def belongs(folder: Path, fields: list[bytes]) -> bool:
        del folder
        return int(fields[3]) == number

    return lambda: _work_of(belongs)


def work_with_environment(entry: str) -> Work:
    """Return what measures all processes that were started with `NAME=value` in the environment."""

    def belongs(folder: Path, fields: list[bytes]) -> bool:
        del fields
        return entry.encode() in (folder / "environ").read_bytes().split(b"\0")

    return lambda: _work_of(belongs)


def _work_of(belongs: Callable[[Path, list[bytes]], bool]) -> float:
    """Return the CPU seconds of some processes and of their children that have ended.

    Where the system does not tell, the clock has to do.
    """
    if not (PROCESSES / "self" / "stat").exists():
        return time.monotonic()
    ticks = 0
    for folder in PROCESSES.glob("[0-9]*"):
        with suppress(OSError):
            # The name of the program stands in parentheses, and may hold any character.
            fields = (folder / "stat").read_bytes().rpartition(b")")[2].split()
            if belongs(folder, fields):
                ticks += sum(map(int, fields[11:15]))
    return ticks / TICKS


class Patience:
    """Tells whether processes still work towards what a test waits for."""

    def __init__(self, work: Work):
        self._work = work
        self._total = 0.0
        self._checked = self._since = time.monotonic()
        self._mark = work()

    def ends(self) -> bool:
        """Return whether it is certain by now that nothing will happen."""
        now = time.monotonic()
        if now - self._checked < CHECK_INTERVAL:
            return False
        self._checked = now
        done = self._work() - self._mark
        # Less than before: a process has ended, and nobody counts what it has used.
        if done >= LEAST_WORK or done < 0:
            self._total += max(done, 0.0)
            self._mark += done
            self._since = now
        return now - self._since > REST or self._total > MOST_WORK


def until(holds: Callable[[], bool], work: Work, pause: float = PAUSE) -> None:
    """Wait until something holds, as long as processes work on it."""
    patience = Patience(work)
    while not holds():
        assert not patience.ends(), "nothing happens"
        time.sleep(pause)


@contextmanager
def started(command: list, **keywords) -> Iterator[subprocess.Popen]:
    """Start a process in a session of its own, and leave none of that session behind.

    Reading its output or waiting for its end needs no limit of time: a session that does not work
    any more is killed, and the test fails.
    """
    with watched(subprocess.Popen(command, start_new_session=True, **keywords)) as process:
        yield process


@contextmanager
def watched(process: Process) -> Iterator[Process]:
    """Do this for a process that leads a session already."""
    with process:
        over, given_up = threading.Event(), threading.Event()

        def watch() -> None:
            patience = Patience(work_of_session(process.pid))
            while not over.wait(CHECK_INTERVAL):
                if patience.ends():
                    given_up.set()
                    _kill(process)
                    return

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        try:
            yield process
        finally:
            over.set()
            watcher.join()
            _kill(process)
            assert not given_up.is_set(), "nothing happened any more in the process"


def _kill(process: Leader) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
