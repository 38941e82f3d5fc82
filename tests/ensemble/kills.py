"""Kills a plan of runs again and again at moments of its training, and resumes it each time."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from tests.ensemble.plans import assert_identical, fork, start, trained
from tests.forks import Fork
from tests.processes import until, work_of_session

ENDLESS = ("--max-iterations", "100000000")
"""A length that no process reaches before it is killed, however late the kill comes."""


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
    least: int,
    script: str = "single_layer",
    endless: tuple[str, str] = ENDLESS,
    imports: str = "",
) -> tuple[str, str]:
    """Start a plan of endless runs, kill it, and start it again with --resume for every kill.

    The first of several processes is a fresh interpreter, as are its workers; others are forks.
    SIGKILL ends the whole process group, as the end of a job does; SIGTERM goes to the script.
    Return the flag for a length that no run has reached, and that is `least` at the least.
    """
    for number, kill in enumerate(kills):
        command = (root, script, *words, *endless, "--resume")
        fresh = len(kills) > 1 and number == 0
        forked = None if fresh else fork(*command, imports=imports)
        with forked or start(*command) as process:
            for line in process.stdout:
                if " stack" in line:
                    break
            _wait_for(kill, root, process)
            if process.poll() is None:  # else it has failed, as its errors say
                send = os.killpg if kill.number == signal.SIGKILL else os.kill
                send(process.pid, kill.number)
            _, errors = process.communicate()
            assert process.returncode in (75, -kill.number), errors
    return endless[0], str(max(least, _furthest(root) + 7))


def assert_nothing_is_lost(
    root: Path,
    script: str,
    words: Sequence[str],
    kills: Sequence[Kill],
    least: int,
    runs: int,
    flag: str = "--max-iterations",
    imports: str = "",
) -> None:
    """Train with and without kills, and compare every event, checkpoint and table."""
    endless = (flag, ENDLESS[1])
    found = root / "disturbed", root / "undisturbed"
    length = disturb(found[0], words, kills, least, script, endless, imports=imports)
    for folder, more in zip(found, (("--resume",), ()), strict=True):
        with fork(folder, script, *words, *length, *more, imports=imports) as process:
            _, errors = process.communicate()
            assert (process.returncode, errors) == (0, "")
    disturbed, undisturbed = map(trained, found)
    assert len(disturbed) == runs
    assert_identical(disturbed, undisturbed)
    tables = [[f.read_text(encoding="utf-8") for f in (r / "results").glob("*")] for r in found]
    assert tables[0] == tables[1]


def _furthest(root: Path) -> int:
    """Return the iterations that the furthest run has done."""
    files = (root / "save").rglob("[!.]*.pth")
    return max((torch.load(path, weights_only=True)["epoch"] for path in files), default=0)


def _wait_for(kill: Kill, root: Path, process: subprocess.Popen[str] | Fork) -> None:
    state = {"log": _size_of_logs, "checkpoint": _checkpoints_in_writing}.get(kill.moment)
    for _ in range(kill.times if state else 0):
        _until_changed(state, root, process)
    time.sleep(kill.seconds)


def _until_changed(
    state: Callable[[Path], object], root: Path, process: subprocess.Popen[str] | Fork
) -> None:
    before = state(root)
    until(lambda: state(root) != before or process.poll() is not None, work_of_session(process.pid))


def _size_of_logs(root: Path) -> int:
    """Of one run; all of a stack are written to one after another.

    Zero as well while a run that had saved nothing gives up its file and begins a new one.
    """
    try:
        first = next((root / "tensorboard").rglob("events.*"), None)
        return 0 if first is None else first.stat().st_size
    except FileNotFoundError:
        return 0


def _checkpoints_in_writing(root: Path) -> list[str]:
    """Files that are there only while the states of a stack are being saved."""
    return sorted(path.name for path in (root / "save").rglob(".*"))
