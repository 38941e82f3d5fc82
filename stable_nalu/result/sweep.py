"""Runs of a training script as tasks: of a batch system, or processes of this machine.

The runs of a plan, in their order, are cut into parts of equal size, each with stacks of its own. A
task trains its part with --resume, whatever is trained already.
"""

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

from stable_nalu.base import script as console
from stable_nalu.base.errors import OptionError
from stable_nalu.base.files import save_root, tensorboard_root
from stable_nalu.options import Config, Plan, ScriptSpec
from stable_nalu.paper.experiment import Resources
from stable_nalu.training.shell import train_plan
from stable_nalu.training.task import Task

from .batch import hand_over, render_job, site_of
from .shard import FEWEST_RUNS, PlannedRun, State, between_saves, mark_finished, run_modules
from .shard import state_of as state

_MINUTES = 12 * 60
_LEAVE_OUT = "evaluate", "show_engine", "remove_existing_data", "load_checkpoint"

Parts = Sequence[Sequence[Config]]


def scheduled(
    task: type[Task],
    spec: ScriptSpec,
    plans: Sequence[Plan],
    how: Mapping[str, Any],
    words: Sequence[str],
) -> int:
    """Train one task of a command line, or hand over those that are left; return the exit code."""
    first, runs = plans[0].configs[0], sum(map(len, plans))
    scheduler, count, number = (how.get(name) for name in ("scheduler", "tasks", "shard"))
    for name in _LEAVE_OUT:
        if getattr(first, name, None) not in (None, False):
            flag = f"--{name.replace('_', '-')}"
            raise OptionError(flag, "a task goes on with its runs", "leave it out")
    if scheduler is None and number is None:
        flag = next(name for name in how if name != "sweep")
        remedy = "add --scheduler slurm, lsf or local"
        raise OptionError(f"--{flag.replace('_', '-')}", "nothing is scheduled", remedy)
    words = [word for word in words if word != "--dry-run"]
    if count is None:
        size = 1 if task.kind.all_cores else FEWEST_RUNS
        count = min(console.cores(), runs) if scheduler == "local" else -(-runs // size)
        words = [*words, "--tasks", str(count)]
    parts = [_part(plans, n, min(count, runs)) for n in range(min(count, runs))]
    if number is not None:
        if number >= len(parts):
            problem = f"{number} is no task of {len(parts)}, which are counted from 0"
            raise OptionError("--shard", problem, "choose another")
        return _train(task, spec, parts[number])
    every = {n: _runs(spec, part) for n, part in enumerate(parts)}
    left = {
        n: [run.name for run in part]
        for n, part in every.items()
        if any(state(run) in (State.MISSING, State.FAILED) for run in part)
    }
    if not left:
        console.say("nothing left to train")
        return 0
    return _hand_over(task, spec, first, how, left, [*words])


def _part(plans: Sequence[Plan], number: int, count: int) -> list[list[Config]]:
    every = [(k, config) for k, plan in enumerate(plans) for config in plan.configs]
    start, end = (len(every) * n // count for n in (number, number + 1))
    chosen = every[start:end]
    return [
        [config for k, config in chosen if k == of] for of in dict.fromkeys(k for k, _ in chosen)
    ]


def _runs(spec: ScriptSpec, part: Parts) -> list[PlannedRun]:
    return [PlannedRun(spec.run_name(config), config) for plan in part for config in plan]


def _train(task: type[Task], spec: ScriptSpec, part: Parts) -> int:
    def of_a_task(config: Config) -> Config:
        own: dict[str, Any] = {"resume": True}
        if not config.is_typed("workers") and "workers" in spec.defaults:
            own["workers"] = 1
        if not config.is_typed("checkpoint_interval"):
            length = task.kind.unit.last(config)
            own["checkpoint_interval"] = max(
                1, between_saves(length, "max_iterations" in spec.defaults)
            )
        return config.replace(**own)

    code = train_plan(task, spec, *([of_a_task(config) for config in plan] for plan in part))
    if code not in (0, console.EXIT_DIVERGED):
        return code
    mark_finished(_runs(spec, part))
    return 0


def _hand_over(
    task: type[Task],
    spec: ScriptSpec,
    first: Config,
    how: Mapping[str, Any],
    left: Mapping[int, Sequence[str]],
    words: list[str],
) -> int:
    scheduler, cores = how["scheduler"], getattr(first, "workers", None) or 1
    site, name = site_of(argparse.Namespace(**{"site": None, **how})), first.name_prefix
    logs, dry = site.logs / name, scheduler == "print" or getattr(first, "dry_run", False)
    runs = sum(map(len, left.values()))
    amount = f"{console.plural(runs, 'run')} in {console.plural(len(left), 'task')}"
    if scheduler == "local":
        commands = {n: [*words, "--shard", str(n)] for n in left}
        if dry:
            for of in commands.values():
                console.say(console.command_of(f"experiments/{spec.name}.py", *of))
            return 0
        at_once = max(1, console.cores() // cores)
        console.say(f"{amount}, {at_once} at a time; output in {logs}")
        return run_modules(
            {n: ["stable_nalu", spec.name, *of] for n, of in commands.items()},
            {n: f"task {n}, {console.plural(len(names), 'run')}" for n, names in left.items()},
            logs,
            processes=at_once,
            runs={n: len(names) for n, names in left.items()},
            unit=f"{task.kind.unit.name}s",
        )
    variables = {
        "STABLE_NALU_SCRIPT": spec.name,
        "TENSORBOARD_DIR": str(tensorboard_root().absolute()),
        "SAVE_DIR": str(save_root().absolute()),
    }
    resources = site.resources(Resources(_MINUTES, cores))
    text = render_job(name, resources, site, words, list(left), **variables)
    ends = ((n, dict.fromkeys((names[0], names[-1]))) for n, names in left.items())
    shown = [(n, f"{console.plural(len(left[n]), 'run')}: {' to '.join(of)}") for n, of in ends]
    hand_over(scheduler, text, logs, amount, shown if dry else None)
    return 0
