"""From a command line to trained runs: the body of every arithmetic training script."""

from __future__ import annotations

from collections.abc import Sequence

from stable_nalu.options import Config, ScriptSpec

from ..command import run_command
from ..logging.console import Console, PlanConsole, StackView, print_configuration
from ..plan.interruption import Interruption
from ..plan.runs import PlannedRun, continued, saved_states, shards, worker_count
from ..plan.shell import ITERATIONS, StackResult, plan_exit_code, require_folders, unfinished
from ..plan.workers import Stack, train_in_workers
from .stack_run import train_stack
from .task import TASKS, Task

LINES_OF_A_PLAN = 10


def run_script(script: str, argv: Sequence[str] | None = None) -> int:
    """Parse, train all runs, return the exit code."""

    def train(spec: ScriptSpec, configs: Sequence[Config]) -> int:
        return train_plan(spec, TASKS[script], configs)

    return run_command(script, argv, train)


def train_plan(spec: ScriptSpec, task: Task, configs: Sequence[Config]) -> int:
    """Train what is not finished yet; the exit code says how it ended."""
    plan = [PlannedRun(config, spec.run_name(config)) for config in configs]
    states = {run.name: saved_states(spec, run) for run in plan}
    workers = worker_count(plan)
    stacks = [part for stack in shards(spec, plan, workers) for part in continued(stack, states)]
    left, before = unfinished(stacks, states, ITERATIONS)
    results = [StackResult(diverged=before)]
    with Interruption() as interruption:
        if left:
            require_folders(spec, left, states)
            train = _train_one if sum(map(len, left)) == 1 else _train_many
            results += train(spec, task, left, workers, interruption)
    return plan_exit_code(results, interruption, ITERATIONS)


def _train_one(
    spec: ScriptSpec,
    task: Task,
    stacks: Sequence[Stack],
    workers: int,
    interruption: Interruption,
) -> list[StackResult]:
    ((run,),) = stacks
    console = Console(task, first=run.start, last=run.config.max_iterations)
    try:
        print_configuration(console, [run.config.as_dict()])
        console.line("  -")
        return [train_stack(spec, task, [run], console, interruption)]
    finally:
        console.close()


def _train_many(
    spec: ScriptSpec,
    task: Task,
    stacks: Sequence[Stack],
    workers: int,
    interruption: Interruption,
) -> list[StackResult]:
    runs = [run for stack in stacks for run in stack]
    processes = min(workers, len(stacks))
    last = runs[0].config.max_iterations
    console = PlanConsole(
        task,
        runs=len(runs),
        total=sum(last + 1 - run.start for run in runs),
        lines_every=max(1, last // LINES_OF_A_PLAN),
    )
    try:
        print_configuration(console, [run.config.as_dict() for run in runs])
        console.line("  -")
        console.line(f"{len(runs)} runs in {len(stacks)} stack(s) on {processes} process(es)")
        if processes > 1:
            results = train_in_workers(spec.name, stacks, processes, console, interruption)
        else:
            results = _train_here(spec, task, stacks, console, interruption)
        if not any(result.interrupted_at is not None for result in results):
            console.line(f"finished: {len(runs)} runs")
        return results
    finally:
        console.close()


def _train_here(spec, task, stacks, console: PlanConsole, interruption) -> list[StackResult]:
    def send(method: str, *arguments) -> None:
        getattr(console, method)(*arguments)

    results = []
    for k, stack in enumerate(stacks):
        view = StackView(send, k, len(stack))
        results.append(train_stack(spec, task, stack, view, interruption))
        view.close()
        if results[-1].interrupted_at is not None:
            break
    return results
