"""Train a shard: what is left of it, in as few commands as plan just that."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from stable_nalu.catalogue.expected import ExpectedRun, covering, is_runnable
from stable_nalu.catalogue.experiment import Command
from stable_nalu.catalogue.flags import merged
from stable_nalu.errors import UsageError
from stable_nalu.training.checkpoint import tensorboard_root
from stable_nalu.training.command import EXIT_DIVERGED

from .job_script import ROOT
from .progress import State, can_resume, mark_finished, state_of
from .shard import Shard, how_to_run

EXIT_REQUEUE = 75
"""Of a command that was told to stop, has saved its state and wants to go on later."""


def pending(shard: Shard, max_iterations: int | None = None) -> list[tuple[Command, list[str]]]:
    """Commands for the runs that are neither done nor running, with the names of their runs."""
    return [(command, [run.name for run in runs]) for command, runs in _plan(shard, max_iterations)]


def train_shard(shard: Shard, max_iterations: int | None = None) -> int:
    """Train what is left of a shard; the exit code of the first command that fails, else 0."""
    for command, runs in _plan(shard, max_iterations):
        code = run_command(command)
        if code not in (0, EXIT_DIVERGED):
            return code
        mark_finished(runs, tensorboard_root())
    return 0


def run_command(command: Command) -> int:
    """Run a training script; SIGTERM and its like are passed on to it."""
    process = subprocess.Popen([sys.executable, *command.line], cwd=ROOT)
    with _passing_on(process):
        return process.wait()


def _plan(shard: Shard, max_iterations: int | None) -> list[tuple[Command, list[ExpectedRun]]]:
    if not is_runnable(shard.model):
        raise UsageError(f"{shard.name}: there is no experiments/{shard.model.script}.py")
    root = tensorboard_root()
    extra = how_to_run(shard.model, shard.variant, max_iterations)
    left = [
        run
        for run in shard.expected(extra)
        if state_of(run, root) in (State.MISSING, State.FAILED)
    ]
    resumable = [run for run in left if can_resume(run, root)]
    fresh = [run for run in left if run not in resumable]
    return [
        *covering(resumable, merged(extra, {"--load-checkpoint": ()})),
        *covering(fresh, merged(extra, {"--remove-existing-data": ()})),
    ]


@contextmanager
def _passing_on(process: subprocess.Popen[bytes]) -> Iterator[None]:
    def pass_on(number: int, _frame: FrameType | None) -> None:
        process.send_signal(number)

    before = {number: signal.signal(number, pass_on) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
