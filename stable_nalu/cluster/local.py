"""Train shards on this machine: a process for each, as many at a time as there are cores for."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import NoReturn

from stable_nalu.console import PROGRESS, Progress, bar, is_terminal
from stable_nalu.errors import UsageError
from stable_nalu.machine import working_root
from stable_nalu.script import EXIT_INTERRUPTED, EXIT_REQUEUE, duration, say
from stable_nalu.task import SCRIPTS

from .shard import Shard, in_groups

_PAUSE, _SECONDS_BETWEEN_MOVES = 0.05, 0.3
_STOPPING = (signal.SIGTERM, signal.SIGINT)


class _Stopped(BaseException):
    """Raised by a signal that asks all shards to stop."""

    def __init__(self, number: int):
        super().__init__()
        self.number = number


def run_shards(
    words: Sequence[str],
    left: Mapping[int, Shard],
    logs: Path,
    *,
    processes: int,
    gpu: str | None = None,
) -> int:
    """Run `batch.py WORDS --task N` for every N of `left`; return 0 when all succeed.

    One process trains those that draw the same samples, under the number of the first.
    """
    modules: dict[int, list[str]] = {}
    names: dict[int, str] = {}
    runs: dict[int, int] = {}
    for group in in_groups(left, processes):
        tasks = [word for task in group for word in ("--task", str(task))]
        modules[group[0]] = ["stable_nalu.cluster.command", *words, *tasks]
        names[group[0]] = "; ".join(left[task].name for task in group)
        runs[group[0]] = sum(left[task].runs for task in group)
    scripts = {shard.model.script for shard in left.values()}
    counts_iterations = all("max_iterations" in SCRIPTS[script].defaults for script in scripts)
    unit = "iterations" if counts_iterations else "epochs"
    return run_modules(modules, names, logs, processes=processes, gpu=gpu, runs=runs, unit=unit)


def run_modules(
    modules: Mapping[int, Sequence[str]],
    names: Mapping[int, str],
    logs: Path,
    *,
    processes: int,
    gpu: str | None = None,
    runs: Mapping[int, int] | None = None,
    unit: str = "",
) -> int:
    """Run a module with its words for every number, each as a process; return 0 if all succeed.

    Output goes to `<logs>/task-<N>.out` and `.err`. A signal is passed on to all processes; the
    same command goes on where they saved their states. runs: how many each trains; a terminal then
    shows one bar, of iterations or another unit, and a line only for what fails.
    """
    try:
        logs.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot write the log folder {logs}: {error.strerror}") from None
    waiting, started = list(names), time.monotonic()
    running: dict[int, subprocess.Popen[bytes]] = {}
    codes: dict[int, int] = {}
    watched = _Watched(runs or {}, unit, logs)
    before = {n: signal.signal(n, _stop) for n in _STOPPING}
    try:
        while waiting or running:
            while waiting and len(running) < processes:
                task = waiting.pop(0)
                running[task] = _start(modules[task], task, logs, gpu)
            for task in [t for t, process in running.items() if process.poll() is not None]:
                codes[task] = running.pop(task).returncode
                outcome = _outcome(codes[task], task, logs)
                left = (time.monotonic() - started) / len(codes) * (len(names) - len(codes))
                rest = f", about {duration(left)} left" if left else ""
                if codes[task] or not watched.is_shown:
                    watched.line(f"[{len(codes)}/{len(names)}] {names[task]}: {outcome}{rest}")
            watched.move(codes)
            time.sleep(_PAUSE)
    except _Stopped as stopped:
        watched.close()
        _stop_all(running)
        return EXIT_INTERRUPTED if stopped.number == signal.SIGINT else EXIT_REQUEUE
    finally:
        watched.close()
        for number, handler in before.items():
            signal.signal(number, handler)
    return 1 if any(codes.values()) else 0


class _Watched:
    """One bar over all processes, which each write how far they are."""

    def __init__(self, runs: Mapping[int, int], unit: str, logs: Path):
        self._runs = runs
        self._files = {task: progress_of(task, logs) for task in runs}
        for file in self._files.values():
            file.unlink(missing_ok=True)
        self._seen: dict[int, Progress] = {}
        self._bar = bar(unit=unit)
        self._moved = -math.inf
        self.is_shown = bool(runs) and is_terminal() and not self._bar.disable

    def line(self, text: str) -> None:
        """Print a line and leave the bar intact."""
        with self._bar.external_write_mode():
            say(text)

    def move(self, ended: Collection[int]) -> None:
        """Show how far all are; what has ended has nothing left."""
        if self._bar.disable or time.monotonic() - self._moved < _SECONDS_BETWEEN_MOVES:
            return
        self._moved = time.monotonic()
        for task, file in self._files.items():
            if (progress := Progress.read(file)) is not None:
                self._seen[task] = progress
        done = sum(progress.done for progress in self._seen.values())
        left = sum(self._seen[task].left for task in self._seen.keys() - ended)
        begun = sum(self._runs[task] for task in self._seen)
        every = sum(self._runs.values())
        if begun and self._bar.total is None:
            self._bar.unpause()  # no time is counted until a process trains
        if begun:  # of those that have not, runs are taken to be as long
            self._bar.total = round((done + left) * every / begun)
        self._bar.n = round(done)
        if solved := sum(progress.solved for progress in self._seen.values()):
            self._bar.set_postfix_str(f"solved {solved}/{every}", refresh=False)
        self._bar.refresh()

    def close(self) -> None:
        """Take the bar and the files away."""
        self._bar.close()
        for file in self._files.values():
            file.unlink(missing_ok=True)


def progress_of(task: int, logs: Path) -> Path:
    """Return the file in which a process says how far it is."""
    return logs / f"task-{task}.progress"


def _start(words: Sequence[str], task: int, logs: Path, gpu: str | None) -> subprocess.Popen[bytes]:
    environment = {"OMP_NUM_THREADS": "1", **os.environ}
    environment[PROGRESS] = str(progress_of(task, logs).absolute())
    if gpu is not None:
        environment["CUDA_VISIBLE_DEVICES"] = gpu
    command = [sys.executable, "-u", "-m", *words]
    with (
        (logs / f"task-{task}.out").open("ab") as out,
        (logs / f"task-{task}.err").open("ab") as err,
    ):
        return subprocess.Popen(
            command, cwd=working_root(), env=environment, stdout=out, stderr=err
        )


def _outcome(code: int, task: int, logs: Path) -> str:
    if code == 0:
        return "done"
    path = logs / f"task-{task}.err"
    told = path.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return ": ".join([f"exit code {code}, see {path}", *told[-1:]])


def _stop(number: int, _frame: FrameType | None) -> NoReturn:
    for other in _STOPPING:  # a second one would end the wait for processes that save their states
        signal.signal(other, signal.SIG_IGN)
    raise _Stopped(number)


def _stop_all(running: dict[int, subprocess.Popen[bytes]]) -> None:
    for process in running.values():
        process.terminate()
    for process in running.values():
        process.wait()
    say(f"stopped {len(running)} shard{'s' * (len(running) != 1)}; the same command goes on")
