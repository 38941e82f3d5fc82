"""A command line of a training script, trained: what `run_script` and shards share."""

import sys
from collections.abc import Callable, Sequence

import torch

from stable_nalu.base.script import cores, exit_code, granted_cores, packages, usable_cores
from stable_nalu.options import Config, ScriptSpec
from stable_nalu.training.shell import InShort, train_plan
from stable_nalu.training.task import Task

Lines = Sequence[Sequence[str]]
"""Command lines whose runs are trained in the same stacks."""

Evaluate = Callable[[type[Task], ScriptSpec, Config], int]
"""Looks at the saved model that `--evaluate` names, and returns the exit code."""


def train_script(
    spec: ScriptSpec,
    task: type[Task],
    argv: Sequence[str] | None = None,
    *more: Sequence[str],
    beside: Sequence[Lines] = (),
    evaluate: Evaluate | None = None,
    learned: InShort | None = None,
) -> int:
    """Parse the command line of a training script, train its runs and return the exit code.

    more: further command lines, whose runs are trained in the same stacks as those of the first.
    beside: command lines whose runs have stacks of their own, in the same process.
    learned: says in one line what runs have learned.
    """
    with packages(f"{spec.name}.py"):
        plan = spec.parse(argv)
        # Small models gain from no more than one thread.
        set_threads(cores() if task.kind.all_cores else 1)

    def obey() -> int:
        if plan.dry_run:
            sys.stdout.writelines(f"{name}\n" for name in plan.names())
            return 0
        first = plan.configs[0]
        if evaluate is not None and getattr(first, "evaluate", None) is not None:
            return evaluate(task, spec, first)
        others = [[c for words in lines for c in spec.parse(words).configs] for lines in beside]
        joined = [config for words in more for config in spec.parse(words).configs]
        return train_plan(task, spec, [*plan.configs, *joined], *others, learned=learned)

    return exit_code(f"{spec.name}.py", obey)


def set_threads(otherwise: int = 1) -> None:
    """Let torch use the threads that the scheduler grants, else `otherwise`."""
    torch.set_num_threads(granted_cores() or min(otherwise, usable_cores()))
