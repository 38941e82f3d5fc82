"""Kills a plan of runs again and again at moments of its training, and resumes it each time."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.ensemble.plans import start

PAUSE = 0.001
LONGEST_WAIT = 120.0


@dataclass(frozen=True)
class Kill:
    """A moment of training and the signal sent then.

    moment: what has to happen `times` times first: `log`, `checkpoint`, or nothing.
    seconds: waited after that.
    """

    number: signal.Signals
    moment: str = ""
    times: int = 1
    seconds: float = 0.0


def disturb(
    root: Path,
    words: Sequence[str],
    kills: Sequence[Kill],
    script: str = "single_layer",
    **keywords,
) -> list[int]:
    """Start, kill and start again with --resume; the exit code of every process.

    SIGKILL ends the whole process group, as the end of a job does; SIGTERM goes to the script.
    """
    codes = []
    for kill in kills:
        process = start(root, script, *words, "--resume", **keywords)
        with _ended_at_last(process):
            for line in process.stdout:
                if "stack(s)" in line or "already trained" in line:
                    break
            _wait_for(kill, root, process)
            if kill.number == signal.SIGKILL:
                os.killpg(process.pid, kill.number)
            else:
                process.send_signal(kill.number)
            _, errors = process.communicate(timeout=LONGEST_WAIT)
            assert process.returncode in (0, 75, -kill.number), errors
            codes.append(process.returncode)
    return codes


@contextmanager
def _ended_at_last(process: subprocess.Popen[str]) -> Iterator[None]:
    """A failure leaves no process behind, which a later test would be blamed for."""
    try:
        yield
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()


def _wait_for(kill: Kill, root: Path, process: subprocess.Popen[str]) -> None:
    state = {"log": _size_of_logs, "checkpoint": _checkpoints_in_writing}.get(kill.moment)
    for _ in range(kill.times if state else 0):
        _until_changed(state, root, process)
    time.sleep(kill.seconds)


def _until_changed(
    state: Callable[[Path], object], root: Path, process: subprocess.Popen[str]
) -> None:
    before, deadline = state(root), time.monotonic() + LONGEST_WAIT
    while state(root) == before and process.poll() is None:
        assert time.monotonic() < deadline, "nothing happens"
        time.sleep(PAUSE)


def _size_of_logs(root: Path) -> int:
    """Of one run; all of a stack are written to one after another.

    Zero as well while a run that had saved nothing gives up its file and begins a new one.
    """
    try:
        files = sorted((root / "tensorboard").rglob("events.*"))
        return files[0].stat().st_size if files else 0
    except FileNotFoundError:
        return 0


def _checkpoints_in_writing(root: Path) -> list[str]:
    """Files that are there only while the states of a stack are being saved."""
    return sorted(path.name for path in (root / "save").rglob(".*"))
