"""From a command line to trained runs: the body of every arithmetic training script."""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence

from stable_nalu.errors import UsageError
from stable_nalu.options import Config, ScriptSpec

from .command import EXIT_DIVERGED, run_command
from .console import Console, PlanConsole, StackView, print_configuration
from .interruption import Interruption
from .shards import PlannedRun, shards, worker_count
from .stack_run import StackResult, read_checkpoint, train_stack
from .task import TASKS, Task
from .workers import train_in_workers

EXIT_REQUEUE = 75
"""Stopped by SIGTERM with all states saved: submit the same command again, with --resume."""

LINES_OF_A_PLAN = 10


def run_script(script: str, argv: Sequence[str] | None = None) -> int:
    """Parse, train all runs, return the exit code."""

    def train(spec: ScriptSpec, configs: Sequence[Config]) -> int:
        return train_plan(spec, TASKS[script], configs)

    return run_command(script, argv, train)


def train_plan(spec: ScriptSpec, task: Task, configs: Sequence[Config]) -> int:
    """Train what is not finished yet; the exit code says how it ended."""
    runs = []
    for config in configs:
        name = spec.run_name(config)
        checkpoint = read_checkpoint(config, name)
        if checkpoint is not None:
            _check_same_run(spec, config, name, checkpoint)
        run = PlannedRun(config, name, 0 if checkpoint is None else checkpoint["epoch"])
        if run.start > config.max_iterations:
            sys.stdout.write(
                f"already trained to iteration {run.start - 1}: {name}; "
                "raise --max-iterations to go on\n"
            )
        else:
            runs.append(run)
    if not runs:
        return 0
    with Interruption() as interruption:
        train = _train_one if len(runs) == 1 else _train_many
        results = train(spec, task, runs, interruption)
    return _exit_code(results, interruption)


def _check_same_run(spec: ScriptSpec, config: Config, name: str, checkpoint: dict) -> None:
    """Names do not hold every flag: refuse the checkpoint of a configuration that differs."""
    saved = checkpoint.get("config", {})
    different = [
        f"--{dest.replace('_', '-')} {saved[dest]} there, {value} here"
        for dest, value in spec.unnamed(config).items()
        if dest in saved and dest != "max_iterations" and str(saved[dest]) != str(value)
    ]
    if different:
        raise UsageError(
            f"argument --load-checkpoint: the checkpoint of {name} is of another configuration: "
            f"{'; '.join(different)}"
        )


def _exit_code(results: Sequence[StackResult], interruption: Interruption) -> int:
    stopped = [r.interrupted_at for r in results if r.interrupted_at is not None]
    if stopped:
        sys.stdout.write(
            f"stopped before iteration {min(stopped)}; the same command with --resume goes on\n"
        )
        return EXIT_REQUEUE if interruption.signal_number == signal.SIGTERM else 130
    return EXIT_DIVERGED if any(result.diverged for result in results) else 0


def _train_one(
    spec: ScriptSpec, task: Task, runs: Sequence[PlannedRun], interruption: Interruption
) -> list[StackResult]:
    (run,) = runs
    console = Console(task, first=run.start, last=run.config.max_iterations)
    try:
        print_configuration(console, [run.config.as_dict()])
        console.line("  -")
        return [train_stack(spec, task, runs, console, interruption)]
    finally:
        console.close()


def _train_many(
    spec: ScriptSpec, task: Task, runs: Sequence[PlannedRun], interruption: Interruption
) -> list[StackResult]:
    workers = worker_count(runs)
    stacks = shards(spec, runs, workers)
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
        console.line(
            f"{len(runs)} runs in {len(stacks)} stack(s) on {min(workers, len(stacks))} process(es)"
        )
        if min(workers, len(stacks)) > 1:
            results = train_in_workers(spec.name, stacks, workers, console, interruption)
        else:
            results = _train_here(spec, task, stacks, console, interruption)
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
