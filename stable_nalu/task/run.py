"""The one entrance to all training scripts, for `experiments/*.py` and for jobs alike."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from stable_nalu.machine import cores, granted_cores, usable_cores
from stable_nalu.script import exit_code, packages

from . import SCRIPTS

if TYPE_CHECKING:
    from stable_nalu.training.task import Task

Lines = Sequence[Sequence[str]]
"""Command lines whose runs are trained in the same stacks."""


def task_of(name: str) -> type[Task]:
    """Return what a script trains."""
    return import_module(f"stable_nalu.task.{name}").TASK


def run_script(
    name: str,
    argv: Sequence[str] | None = None,
    *more: Sequence[str],
    beside: Sequence[Lines] = (),
) -> int:
    """Parse the command line of a training script, train its runs and return the exit code.

    more: further command lines, whose runs are trained in the same stacks as those of the first.
    beside: command lines whose runs have stacks of their own, in the same process.
    """
    spec = SCRIPTS[name]
    # --help needs no torch, which takes seconds to import and may not be installed.
    with packages(f"{name}.py"):
        plan = spec.parse(argv)
        task = task_of(name)
        # Small models gain from no more than one thread.
        set_threads(cores() if task.all_cores else 1)

    def obey() -> int:
        from stable_nalu.training.shell import train_plan

        if plan.dry_run:
            sys.stdout.writelines(f"{name}\n" for name in plan.names())
            return 0
        first = plan.configs[0]
        if task.look is not None and first.evaluate is not None:
            return getattr(import_module("stable_nalu.inspection.reports"), task.look)(
                task, spec, first
            )
        others = [[c for words in lines for c in spec.parse(words).configs] for lines in beside]
        joined = [config for words in more for config in spec.parse(words).configs]
        return train_plan(task, spec, [*plan.configs, *joined], *others)

    return exit_code(f"{name}.py", obey)


def set_threads(otherwise: int = 1) -> None:
    """Let torch use the threads that the scheduler grants, else `otherwise`."""
    import torch

    torch.set_num_threads(granted_cores() or min(otherwise, usable_cores()))
