"""Runs of a training script as tasks: of a batch system, or processes of this machine.

The runs of a plan, in their order, are cut into parts of equal size, each with stacks of its own. A
task trains its part with --resume, whatever is trained already.
"""

import argparse
from collections.abc import Mapping, Sequence
from itertools import groupby, pairwise
from typing import Any

from stable_nalu.base import script as console
from stable_nalu.base.errors import OptionError
from stable_nalu.base.files import save_root, tensorboard_root
from stable_nalu.options import Config, Plan, ScriptSpec
from stable_nalu.paper.experiment import Resources
from stable_nalu.training.shell import train_plan
from stable_nalu.training.task import Task

from .batch import hand_over, render_job, site_of
from .shard import (
    FEWEST_RUNS,
    PlannedRun,
    State,
    between_saves,
    mark_finished,
    run_modules,
    state_of,
)

_MINUTES = 12 * 60
_LEAVE_OUT = "evaluate", "show_engine", "remove_existing_data", "load_checkpoint"

Part = Sequence[Sequence[Config]]


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
        count = console.cores() if scheduler == "local" else -(-runs // size)
        words += ["--tasks", str(count)]
    parts = _parts(plans, min(count, runs))
    if number is not None and number < len(parts):
        return _train(task, spec, parts[number])
    if number is not None:
        problem = f"{number} is no task of {len(parts)}, which are counted from 0"
        raise OptionError("--shard", problem, "choose another")
    every = enumerate(_runs(spec, part) for part in parts)
    wanted = {State.MISSING, State.FAILED}
    left = {n: of for n, of in every if any(state_of(run) in wanted for run in of)}
    if not left:
        console.say("nothing left to train")
        return 0
    return _hand_over(task, first, how, left, words)


def _parts(plans: Sequence[Plan], count: int) -> list[list[list[Config]]]:
    """Cut plans into parts, each with the runs of its plans apart."""
    every = [(k, config) for k, plan in enumerate(plans) for config in plan.configs]
    bounds = [len(every) * n // count for n in range(count + 1)]
    groups = (groupby(every[a:b], lambda pair: pair[0]) for a, b in pairwise(bounds))
    return [[[config for _, config in group] for _, group in of] for of in groups]


def _runs(spec: ScriptSpec, part: Part) -> list[PlannedRun]:
    return [PlannedRun(spec.run_name(config), config) for plan in part for config in plan]


def _train(task: type[Task], spec: ScriptSpec, part: Part) -> int:
    def of_a_task(config: Config) -> Config:
        interval = between_saves(task.kind.unit.last(config), "max_iterations" in spec.defaults)
        own = {"workers": 1, "checkpoint_interval": max(1, interval)}
        usual = {n: v for n, v in own.items() if n in spec.defaults and not config.is_typed(n)}
        return config.replace(**usual, resume=True)

    code = train_plan(task, spec, *([of_a_task(config) for config in plan] for plan in part))
    if code not in (0, console.EXIT_DIVERGED):
        return code
    mark_finished(_runs(spec, part))
    return 0


def _hand_over(
    task: type[Task],
    first: Config,
    how: Mapping[str, Any],
    left: Mapping[int, Sequence[PlannedRun]],
    words: list[str],
) -> int:
    scheduler, cores = how["scheduler"], getattr(first, "workers", None) or 1
    site, name = site_of(argparse.Namespace(**{"site": None, **how})), first.name_prefix
    logs, dry = site.logs / name, scheduler == "print" or getattr(first, "dry_run", False)
    sizes = {n: len(of) for n, of in left.items()}
    said = {n: console.plural(size, "run") for n, size in sizes.items()}
    amount = f"{console.plural(sum(sizes.values()), 'run')} in {console.plural(len(left), 'task')}"
    commands = {n: [first.script, *words, "--shard", str(n)] for n in left}
    if scheduler != "local":
        variables = {"STABLE_NALU_SCRIPT": first.script, "SAVE_DIR": str(save_root().absolute())}
        variables["TENSORBOARD_DIR"] = str(tensorboard_root().absolute())
        resources = site.resources(Resources(_MINUTES, cores))
        text = render_job(name, resources, site, words, list(left), **variables)
        shown = [(n, f"{said[n]}, {of[0].name} to {of[-1].name}") for n, of in left.items()]
        hand_over(scheduler, text, logs, amount, shown if dry else None)
        return 0
    if dry:
        for script, *of in commands.values():
            console.say(console.command_of(f"experiments/{script}.py", *of))
        return 0
    at_once = max(1, console.cores() // cores)
    console.say(f"{amount}, {at_once} at a time; output in {logs}")
    modules = {n: ["stable_nalu", *of] for n, of in commands.items()}
    names = {n: f"task {n}, {of}" for n, of in said.items()}
    unit = f"{task.kind.unit.name}s"
    return run_modules(modules, names, logs, processes=at_once, runs=sizes, unit=unit)
