"""From a command line to trained runs: the body of every arithmetic training script."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from itertools import groupby

from stable_nalu.errors import UsageError
from stable_nalu.options import Config, ScriptSpec
from stable_nalu.writer import ResumePoint

from .best_model import BestModel
from .checkpoint import load_torch, model_file, save_root
from .command import EXIT_DIVERGED, device_of, open_writer, run_command
from .console import Console, print_configuration, print_outcome, print_parameters
from .recorder import Recorder
from .session import Session, default_dtype
from .task import TASKS, Task
from .trainer import Outcome, Trainer


def run_script(script: str, argv: Sequence[str] | None = None) -> int:
    """Parse, train all runs, return the exit code."""

    def train(spec: ScriptSpec, configs: Sequence[Config]) -> int:
        return train_plan(spec, TASKS[script], configs)

    return run_command(script, argv, train)


def train_plan(spec, task: Task, configs: Sequence) -> int:
    """Train runs that stand at the same iteration together; 3 if any of them diverged."""
    names = [spec.run_name(config) for config in configs]
    checkpoints = [_find_checkpoint(config, name) for config, name in zip(configs, names, strict=True)]
    diverged = False
    items = sorted(
        zip(configs, names, checkpoints, strict=True), key=lambda item: _start(item[2])
    )
    for start, group in groupby(items, key=lambda item: _start(item[2])):
        if start > configs[0].max_iterations:
            for _, name, _ in group:
                sys.stdout.write(
                    f"already trained to iteration {start - 1}: {name}; "
                    "raise --max-iterations to go on\n"
                )
            continue
        outcome = _train_group(spec, task, list(group), start)
        diverged |= bool(outcome.diverged_at) or not _finite(outcome.total)
    return EXIT_DIVERGED if diverged else 0


def _finite(values: Iterable[float]) -> bool:
    return all(value - value == 0 for value in values)


def _start(checkpoint: dict | None) -> int:
    return 0 if checkpoint is None else checkpoint["epoch"]


def _find_checkpoint(config, name: str) -> dict | None:
    if not getattr(config, "load_checkpoint", False):
        return None
    checkpoint = load_torch(model_file(save_root(), name))
    missing = {"epoch", "model_state_dict", "optimizer_state_dict", "progress"} - set(checkpoint)
    if missing:
        raise UsageError(
            f"argument --load-checkpoint: {name}.pth lacks {', '.join(sorted(missing))}; "
            "it is not a checkpoint of this script"
        )
    return checkpoint


def _train_group(spec, task: Task, items: list[tuple], start: int) -> Outcome:
    configs, names, checkpoints = map(list, zip(*items, strict=True))
    first = configs[0]
    stacked = len(configs) > 1
    with default_dtype(first.pytorch_precision), ExitStack() as stack:
        session = Session(
            task,
            configs,
            [spec.layer_options(config) for config in configs],
            names,
            stacked=stacked,
            device=device_of(first),
            start=start,
        )
        writers = [
            open_writer(stack, spec, config, name, _resume_point(checkpoint))
            for config, name, checkpoint in zip(configs, names, checkpoints, strict=True)
        ]
        console = Console(task, runs=len(configs), first=start, last=first.max_iterations)
        stack.callback(console.close)
        print_configuration(console, [config.as_dict() for config in configs])
        console.line("  -")
        if not stacked:
            console.line(f"  - dataset: {session.data.datasets[0].print_operation()}")
        return _train(session, console, Recorder(writers, stacked=stacked), checkpoints)


def _resume_point(checkpoint: dict | None) -> ResumePoint | None:
    if checkpoint is None or "event_file" not in checkpoint["progress"]:
        return None
    progress = checkpoint["progress"]
    return ResumePoint(progress["event_file"], progress["event_position"])


def _train(
    session: Session, console: Console, recorder: Recorder, checkpoints: list[dict | None]
) -> Outcome:
    first, task = session.configs[0], session.task
    best = BestModel(session) if getattr(first, "save_best_model", False) else None

    def on_log(point) -> None:
        console.log_point(point)
        if best is not None:
            best.update(point, console)

    trainer = Trainer(
        task,
        session.configs,
        session.model,
        session.step,
        session.data,
        recorder,
        stacked=session.stacked,
        reset_run=session.reset_run,
        on_log=on_log,
        on_message=console.line,
    )
    if checkpoints[0] is not None:
        session.restore(checkpoints)
        trainer.set_state([checkpoint["progress"] for checkpoint in checkpoints])
        console.line("Checkpoint loaded")
    _introduce(session, console)
    interval = getattr(first, "checkpoint_interval", 0)
    for iteration in range(session.start, first.max_iterations + 1):
        if interval and iteration % interval == 0 and iteration > session.start:
            session.save(iteration, trainer.get_state())
        trainer.iterate(iteration)
        console.bar.update()
        if trainer.all_diverged:
            break
    outcome = trainer.outcome()
    recorder.flush()
    _conclude(session, console, trainer, outcome)
    return outcome


def _introduce(session: Session, console: Console) -> None:
    if session.stacked:
        console.line(f"{len(session.configs)} runs, the first of them {session.names[0]}")
        return
    console.line(f"{session.model}\n\n{session.names[0]}\n")
    if session.task.prints_weights_always or session.configs[0].input_size <= 10:
        print_parameters(console, session.model)


def _conclude(session: Session, console: Console, trainer: Trainer, outcome: Outcome) -> None:
    task, first = session.task, session.configs[0]
    restarts = None if trainer.restarts is None else sum(trainer.restarts.counts)
    print_outcome(console, task, outcome, restarts)
    if not session.stacked and (task.prints_weights_always or first.input_size <= 10):
        console.line()
        print_parameters(console, session.model)
    for run, iteration in outcome.diverged_at.items():
        console.line(f"diverged by iteration {iteration}: {session.names[run]}")
    if task.reports_success and not session.stacked:
        console.line(f"Success (last epoch): \t{outcome.succeeded[0]}")
    if not getattr(first, "no_save", False) and not trainer.all_diverged:
        session.save(first.max_iterations + 1, trainer.get_state())
        console.line(f"Model (/checkpoint)  trained for {first.max_iterations} epochs has been saved")
