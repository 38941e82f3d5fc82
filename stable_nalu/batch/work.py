"""Train a shard: what is left of it, in as few commands as plan just that."""

from __future__ import annotations

from stable_nalu.catalogue.expected import ExpectedRun, covering, is_runnable
from stable_nalu.catalogue.experiment import Command
from stable_nalu.catalogue.flags import merged
from stable_nalu.errors import UsageError
from stable_nalu.machine import tensorboard_root
from stable_nalu.options import SCRIPTS
from stable_nalu.training.command import EXIT_DIVERGED
from stable_nalu.training.plan.shell import EXIT_REQUEUE
from stable_nalu.training.script import run_script

from .progress import State, has_stale_checkpoint, mark_finished, state_of
from .shard import Shard, how_to_run

__all__ = ["EXIT_REQUEUE", "pending", "train_shard"]


def pending(shard: Shard, max_iterations: int | None = None) -> list[tuple[Command, list[str]]]:
    """Commands for the runs that are neither done nor running, with the names of their runs."""
    return [(command, [run.name for run in runs]) for command, runs in _plan(shard, max_iterations)]


def train_shard(shard: Shard, max_iterations: int | None = None) -> int:
    """Train what is left of a shard; the exit code of the first command that fails, else 0."""
    for command, runs in _plan(shard, max_iterations):
        code = run_script(command.script, command.words)
        if code not in (0, EXIT_DIVERGED):
            return code
        mark_finished(runs, tensorboard_root())
    return 0


def _plan(shard: Shard, max_iterations: int | None) -> list[tuple[Command, list[ExpectedRun]]]:
    if not is_runnable(shard.model):
        raise UsageError(f"{shard.name}: there is no experiments/{shard.model.script}.py")
    root = tensorboard_root()
    extra = how_to_run(shard.model, shard.variant, max_iterations)
    left = [
        run for run in shard.expected(extra) if state_of(run, root) in (State.MISSING, State.FAILED)
    ]
    names = {flag.name for flag in SCRIPTS[shard.model.script].flags}
    stale = [run for run in left if "--resume" not in names or has_stale_checkpoint(run, root)]
    others = [run for run in left if run not in stale]
    return [
        *covering(others, merged(extra, {"--resume": ()})),
        *covering(stale, merged(extra, {"--remove-existing-data": ()})),
    ]
