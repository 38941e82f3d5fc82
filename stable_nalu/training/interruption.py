"""Stopping between two iterations when the scheduler or the user asks for it."""

from __future__ import annotations

import signal
import threading
from types import FrameType

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class Interruption:
    """While entered, SIGTERM and SIGINT are noted instead of ending the process.

    `signal_number` is the one that came last, or None. A second one ends the process as usual; not
    so if it does not `insist`: a worker is told by its parent and, in a process group, again by
    whoever told the parent.
    """

    def __init__(self, *, insists: bool = True):
        self.signal_number: int | None = None
        self._insists = insists
        self._before: dict[int, object] = {}

    def __enter__(self) -> Interruption:
        # Only the main thread may install handlers; elsewhere signals keep their effect.
        if threading.current_thread() is threading.main_thread():
            for number in STOP_SIGNALS:
                self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *exception) -> None:
        self._restore()

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.signal_number = number
        if self._insists:
            self._restore()

    def _restore(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before = {}
