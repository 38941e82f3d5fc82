"""Stopping between two iterations when the scheduler or the user asks for it."""

from __future__ import annotations

import signal
import threading
import time
from types import FrameType
from typing import Any

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

    def __enter__(self) -> Interruption:
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
