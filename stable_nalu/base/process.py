"""The process of a command: what a signal does to it, and standard streams that do not work.

Scripts call `begin` before they import anything that takes time, so this module imports nothing
that does.
"""

import io
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TextIO

EXIT_REQUEUE = 75
"""Stopped by SIGTERM with its state saved: batch systems put the job back into the queue."""
EXIT_INTERRUPTED = 130
"""Stopped by Ctrl-C, as a shell reports of programs."""

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class Terminated(BaseException):
    """Raised by SIGTERM where Ctrl-C raises KeyboardInterrupt."""


class OutputError(OSError):
    """Raised where standard output takes no more, such as on a full disk."""


def begin(name: str = "__main__") -> None:
    """Prepare the process of a script, named by its `__name__`; do nothing where it is imported.

    From now on SIGTERM ends it with exit code 75 and SIGINT with 130, each without a traceback.
    What is written to a stream that is closed, or to a standard error that takes no more, is lost;
    a standard output that takes no more raises OutputError.
    """
    if name != "__main__":
        return
    for number in STOP_SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:  # as `nohup` and `&` have it
            signal.signal(number, _leave)
    for stream, kind in (("stdin", None), ("stdout", _Output), ("stderr", _Messages)):
        if getattr(sys, stream) is None:
            # It takes the lowest number, which is that of the stream, so no other file gets it.
            setattr(sys, stream, os.fdopen(os.open(os.devnull, os.O_RDWR), "w" if kind else "r"))
        elif kind:
            setattr(sys, stream, _rebuilt(getattr(sys, stream), kind))


@contextmanager
def stoppable() -> Iterator[None]:
    """Let a signal raise KeyboardInterrupt or Terminated, so that files are left whole.

    That is so in the process of a script, after `begin`; else nothing changes.
    """
    ours = [number for number in STOP_SIGNALS if signal.getsignal(number) is _leave]
    for number in ours:
        signal.signal(number, _raise)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, _leave)


def drop_output() -> None:
    """Lose what standard output still holds, which would fail again at the end of Python."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _leave(number: int, _frame: FrameType | None) -> None:
    """Leave at once: work has not begun or is done, and imports make others of exceptions."""
    os._exit(EXIT_INTERRUPTED if number == signal.SIGINT else EXIT_REQUEUE)


_PROCESS = os.getpid()


_raised: list[int] = []


def raised() -> int | None:
    """Return the signal, if any, that has raised an exception in this process."""
    return _raised[-1] if _raised else None


def _raise(number: int, _frame: FrameType | None) -> None:
    _raised.append(number)
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    if os.getpid() == _PROCESS:
        raise Terminated
    # A process that this one has forked ends as any other.
    signal.signal(number, signal.SIG_DFL)
    signal.raise_signal(number)


class _Output(io.FileIO):
    def write(self, data, /) -> int | None:
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise OutputError(error.errno, error.strerror) from None


class _Messages(io.FileIO):
    def write(self, data, /) -> int | None:
        try:
            return super().write(data)
        except OSError:  # and nowhere to say so
            return len(data)


def _rebuilt(stream: TextIO, kind: type[io.FileIO]) -> TextIO:
    """Return a stream of another kind for the same file."""
    assert isinstance(stream, io.TextIOWrapper)
    file = kind(stream.fileno(), "w", closefd=False)
    return io.TextIOWrapper(
        file if stream.write_through else io.BufferedWriter(file),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )
