"""What scripts share that are no training: errors of one line, and exit codes."""

import argparse
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any, NoReturn

from .errors import UsageError

EXIT_USAGE = 2
EXIT_DIVERGED = 3
EXIT_REQUEUE = 75
"""Stopped by SIGTERM with all states saved: submit the same command again, with --resume."""
EXIT_INTERRUPTED = 130
EXIT_BROKEN_PIPE = 141
"""As a shell reports of programs: stopped by Ctrl-C; left by its reader, as in `… | head`."""


class ScriptParser(argparse.ArgumentParser):
    """Says what is wrong in one line; `--help` has the rest."""

    def error(self, message: str) -> NoReturn:
        """Leave with exit code 2."""
        self.exit(EXIT_USAGE, f"{self.prog}: error: {message}\n")


def exit_code(program: str, body: Callable[[], int | None]) -> int:
    """What `body` returns, or the exit code of the way in which it failed."""
    try:
        code = body() or 0
        sys.stdout.flush()
    except UsageError as error:
        sys.stderr.write(f"{program}: error: {error}\n")
        return EXIT_USAGE
    except KeyboardInterrupt:
        sys.stderr.write(f"{program}: interrupted\n")
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # What is still buffered would fail again when Python flushes it at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_BROKEN_PIPE
    return code


STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)

ONE_REQUEST_SECONDS = 1.0
"""Signals that come this close belong together: `timeout` and some schedulers send two."""


class Interruption:
    """While entered, SIGTERM and SIGINT are noted instead of ending the process.

    `signal_number` is the one that came last, or None. A later one ends the process as usual; not
    so if it does not `insist`: a worker is told by its parent and, in a process group, again by
    whoever told the parent.
    """

    def __init__(self, *, insists: bool = True):
        self.signal_number: int | None = None
        self._insists = insists
        self._noted_at: float | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> "Interruption":
        # Only the main thread may install handlers; elsewhere signals keep their effect.
        if threading.current_thread() is threading.main_thread():
            for number in STOP_SIGNALS:
                self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *exception) -> None:
        self._restore()

    def _note(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if self._noted_at is None:
            self._noted_at = now
        self.signal_number = number
        if self._insists and now - self._noted_at > ONE_REQUEST_SECONDS:
            self._restore()
            signal.raise_signal(number)

    def _restore(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before = {}
