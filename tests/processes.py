"""Processes that tests start and wait for."""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Protocol, TypeVar

PAUSE = 0.005
MOST_SECONDS = 3600.0
"""On the clock; whatever a test waits for takes a small part of it, however busy the machine is."""


class Leader(Protocol):
    """A process with a session of its own."""

    @property
    def pid(self) -> int: ...
    def __enter__(self) -> object: ...
    def __exit__(self, kind, error, traceback, /) -> object: ...


Process = TypeVar("Process", bound=Leader)


def until(holds: Callable[[], bool], pause: float = PAUSE) -> None:
    """Wait until something holds."""
    end = time.monotonic() + MOST_SECONDS
    while not holds():
        assert time.monotonic() < end, "nothing happens"
        time.sleep(pause)


@contextmanager
def started(command: list, **keywords) -> Iterator[subprocess.Popen]:
    """Start a process in a session of its own, and leave none of that session behind.

    Reading its output or waiting for its end needs no limit of time: a session that hangs is
    killed, and the test fails.
    """
    with watched(subprocess.Popen(command, start_new_session=True, **keywords)) as process:
        yield process


@contextmanager
def watched(process: Process) -> Iterator[Process]:
    """Do this for a process that leads a session already."""
    with process:
        limit = threading.Timer(MOST_SECONDS, _kill, [process])
        limit.daemon = True
        limit.start()
        try:
            yield process
        finally:
            hung = limit.finished.is_set()
            limit.cancel()
            _kill(process)
            assert not hung, "the process hung"


def _kill(process: Leader) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
