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

    One process trains those that draw the same samples. Output goes to `<logs>/task-<N>.out` and
    `.err`, by the first of them. A signal is passed on to all shards; the same command goes on
    where they saved their states.
    """
    groups = in_groups(left, processes)
    try:
        logs.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot write the log folder {logs}: {error.strerror}") from None
    waiting, started = list(groups), time.monotonic()
    running: dict[tuple[int, ...], subprocess.Popen[bytes]] = {}
    codes: dict[tuple[int, ...], int] = {}
    before = {n: signal.signal(n, _stop) for n in (signal.SIGTERM, signal.SIGINT)}
    try:
        while waiting or running:
            while waiting and len(running) < processes:
                tasks = waiting.pop(0)
                running[tasks] = _start(words, tasks, logs, gpu)
            for tasks in [t for t, process in running.items() if process.poll() is not None]:
                codes[tasks] = running.pop(tasks).returncode
                outcome = _outcome(codes[tasks], tasks[0], logs)
                done = sum(map(len, codes))
                seconds = (time.monotonic() - started) / done * (len(left) - done)
                rest = f", about {duration(seconds)} left" if seconds else ""
                names = "; ".join(left[task].name for task in tasks)
                say(f"[{done}/{len(left)}] {names}: {outcome}{rest}")
            time.sleep(_PAUSE)
    except _Stopped as stopped:
        _stop_all(running)
        return EXIT_INTERRUPTED if stopped.number == signal.SIGINT else EXIT_REQUEUE
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return 1 if any(codes.values()) else 0


def _start(
    words: Sequence[str], tasks: Sequence[int], logs: Path, gpu: str | None
) -> subprocess.Popen[bytes]:
    environment = {"OMP_NUM_THREADS": "1", **os.environ}
    if gpu is not None:
        environment["CUDA_VISIBLE_DEVICES"] = gpu
    command = [sys.executable, "-u", "-m", "stable_nalu.batch.command", *words]
    for task in tasks:
        command += ["--task", str(task)]
    with (
        (logs / f"task-{tasks[0]}.out").open("ab") as out,
        (logs / f"task-{tasks[0]}.err").open("ab") as err,
    ):
        return subprocess.Popen(
            command, cwd=working_root(), env=environment, stdout=out, stderr=err
        )


def _outcome(code: int, task: int, logs: Path) -> str:
    return "done" if code == 0 else f"exit code {code}, see {logs / f'task-{task}.err'}"


def _stop(number: int, _frame: FrameType | None) -> NoReturn:
    raise _Stopped(number)


def _stop_all(running: dict[tuple[int, ...], subprocess.Popen[bytes]]) -> None:
    for process in running.values():
        process.terminate()
    for process in running.values():
        process.wait()
    say(f"stopped {len(running)} shards; the same command goes on")
