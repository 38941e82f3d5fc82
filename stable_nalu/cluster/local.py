"""Train shards on this machine: a process for each, as many at a time as there are cores for."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import NoReturn

from stable_nalu.errors import UsageError
from stable_nalu.machine import working_root
from stable_nalu.script import EXIT_INTERRUPTED, EXIT_REQUEUE, duration, say

from .shard import Shard, in_groups

_PAUSE = 0.05
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
    for group in in_groups(left, processes):
        tasks = [word for task in group for word in ("--task", str(task))]
        modules[group[0]] = ["stable_nalu.cluster.command", *words, *tasks]
        names[group[0]] = "; ".join(left[task].name for task in group)
    return run_modules(modules, names, logs, processes=processes, gpu=gpu)


def run_modules(
    modules: Mapping[int, Sequence[str]],
    names: Mapping[int, str],
    logs: Path,
    *,
    processes: int,
    gpu: str | None = None,
) -> int:
    """Run a module with its words for every number, each as a process; return 0 if all succeed.

    Output goes to `<logs>/task-<N>.out` and `.err`. A signal is passed on to all processes; the
    same command goes on where they saved their states.
    """
    try:
        logs.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot write the log folder {logs}: {error.strerror}") from None
    waiting, started = list(names), time.monotonic()
    running: dict[int, subprocess.Popen[bytes]] = {}
    codes: dict[int, int] = {}
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
                say(f"[{len(codes)}/{len(names)}] {names[task]}: {outcome}{rest}")
            time.sleep(_PAUSE)
    except _Stopped as stopped:
        _stop_all(running)
        return EXIT_INTERRUPTED if stopped.number == signal.SIGINT else EXIT_REQUEUE
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return 1 if any(codes.values()) else 0


def _start(words: Sequence[str], task: int, logs: Path, gpu: str | None) -> subprocess.Popen[bytes]:
    environment = {"OMP_NUM_THREADS": "1", **os.environ}
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
