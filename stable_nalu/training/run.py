"""From a command line to trained runs: the body of every arithmetic training script."""

from __future__ import annotations

import signal
import sys
from collections.abc import Mapping, Sequence

from stable_nalu.options import Config, ScriptSpec

from .best_model import BEST_MODELS, BEST_PARAMETERS
from .checkpoint import model_file, require_writable, save_root
from .command import EXIT_DIVERGED, check_folder, run_command
from .console import Console, PlanConsole, StackView, print_configuration
from .interruption import Interruption
from .resume import States, continued, saved_states, settle
from .shards import PlannedRun, shards, worker_count
from .stack_run import StackResult, train_stack
from .task import TASKS, Task
from .workers import Stack, train_in_workers

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
    plan = [PlannedRun(config, spec.run_name(config)) for config in configs]
    states = {run.name: saved_states(spec, run) for run in plan}
    workers = worker_count(plan)
    stacks = [part for stack in shards(spec, plan, workers) for part in continued(stack, states)]
    finished = [run for stack in stacks for run in stack if run.start > run.config.max_iterations]
    for run in finished:
        settle(run)
        sys.stdout.write(
            f"already trained to iteration {run.start - 1}: {run.name}; "
            "raise --max-iterations to go on\n"
        )
    before = [states[run.name][run.start] for run in finished]
    left = [stack for stack in stacks if stack[0].start <= stack[0].config.max_iterations]
    results = [StackResult(diverged=any(state.diverged for state in before))]
    with Interruption() as interruption:
        if left:
            _require_folders(spec, left, states)
            train = _train_one if sum(map(len, left)) == 1 else _train_many
            results += train(spec, task, left, workers, interruption)
    return _exit_code(results, interruption)


def _require_folders(
    spec: ScriptSpec, stacks: Sequence[Stack], states: Mapping[str, States]
) -> None:
    """Refuse run folders in use, and a place that models cannot be saved to, before training."""
    runs = [run for stack in stacks for run in stack]
    for run in runs:
        state = states[run.name].get(run.start)
        check_folder(spec, run.config, run.name, state.resume_point if state else None)
    _require_save_files(runs)


def _require_save_files(runs: Sequence[PlannedRun]) -> None:
    """Refuse a place that models cannot be saved to before the first run starts."""
    first = runs[0].config
    roots = [] if first.no_save else [save_root()]
    if first.save_best_model:
        roots += [save_root() / BEST_MODELS, save_root() / BEST_PARAMETERS]
    for root in roots:
        for run in runs:
            require_writable(model_file(root, run.name))


def _exit_code(results: Sequence[StackResult], interruption: Interruption) -> int:
    stopped = [r.interrupted_at for r in results if r.interrupted_at is not None]
    if stopped:
        sys.stdout.write(
            f"stopped before iteration {min(stopped)}; the same command with --resume goes on\n"
        )
        return EXIT_REQUEUE if interruption.signal_number == signal.SIGTERM else 130
    return EXIT_DIVERGED if any(result.diverged for result in results) else 0


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
