"""From an experiment's key to its figure: trained in shards and jobs, exported, judged, compared.

Scheduling is left to the batch system; without one, processes of this machine share the shards.
What `experiments/*.py` and `stable-nalu` call is here: the one entrance to all training scripts.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import torch

from stable_nalu.base.script import cores, exit_code, granted_cores, packages, usable_cores
from stable_nalu.options import ScriptSpec
from stable_nalu.training.shell import train_plan
from stable_nalu.training.task import Task

Lines = Sequence[Sequence[str]]
"""Command lines whose runs are trained in the same stacks."""


def run_script(
    spec: ScriptSpec,
    task: type[Task],
    argv: Sequence[str] | None = None,
    *more: Sequence[str],
    beside: Sequence[Lines] = (),
    formulas: bool = True,
) -> int:
    """Do what the command line of a training script says, and return the exit code.

    It trains runs and says what they have learned, or looks at the model that `--evaluate` names.

    more: further command lines, whose runs are trained in the same stacks as those of the first.
    beside: command lines whose runs have stacks of their own, in the same process.
    formulas: whether to say in one line what runs have learned.
    """
    with packages(f"{spec.name}.py"):
        plan = spec.parse(argv)
        # Small models gain from no more than one thread.
        set_threads(cores() if task.kind.all_cores else 1)

    def learned(folders: Sequence[Path]) -> str | None:
        from stable_nalu.inspection.saved_model import in_short

        return in_short(spec, task, folders)

    def obey() -> int:
        if plan.dry_run:
            sys.stdout.writelines(f"{name}\n" for name in plan.names())
            return 0
        first = plan.configs[0]
        if getattr(first, "evaluate", None) is not None:
            from .reports import report  # It draws: matplotlib and pandas take long to import.

            return report(task, spec, first)
        others = [[c for words in lines for c in spec.parse(words).configs] for lines in beside]
        runs = [*plan.configs, *(config for words in more for config in spec.parse(words).configs)]
        return train_plan(task, spec, runs, *others, learned=learned if formulas else None)

    return exit_code(f"{spec.name}.py", obey)


def set_threads(otherwise: int = 1) -> None:
    """Let torch use the threads that the scheduler grants, else `otherwise`."""
    torch.set_num_threads(granted_cores() or min(otherwise, usable_cores()))
