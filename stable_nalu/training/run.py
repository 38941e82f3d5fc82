"""From a command line to trained runs: the body of every arithmetic training script."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from itertools import groupby

import torch

from stable_nalu.errors import UsageError
from stable_nalu.options import SCRIPTS
from stable_nalu.options.repeat import argv_of
from stable_nalu.writer import ResumePoint, RunFolder, RunRecord, RunWriter

from .best_model import BestModel
from .checkpoint import load_torch, save_root, tensorboard_root
from .console import Console, print_configuration, print_outcome, print_parameters
from .recorder import Recorder
from .session import Session, default_dtype, plain
from .task import TASKS, Task
from .trainer import Outcome, Trainer

LENGTH_AND_LOGGING = frozenset(
    {"max_iterations", "log_interval", "verbose", "save_best_model", "id", "name_prefix"}
)
"""Flags that change how long or how densely a run is recorded, not what it computes."""

EXIT_USAGE = 2
EXIT_DIVERGED = 3


def run_script(script: str, argv: Sequence[str] | None = None) -> int:
    """Parse, train all runs, return the exit code."""
    spec = SCRIPTS[script]
    plan = spec.parse(argv)
    set_threads()
    try:
        return train_plan(spec, TASKS[script], plan.configs)
    except UsageError as error:
        sys.stderr.write(f"{script}.py: error: {error}\n")
        return EXIT_USAGE


def set_threads() -> None:
    """Threads of torch: what the scheduler grants, else one: these models are too small for more."""
    granted = os.environ.get("LSB_DJOB_NUMPROC") or os.environ.get("SLURM_CPUS_PER_TASK")
    torch.set_num_threads(int(granted) if granted and granted.isdigit() else 1)


def train_plan(spec, task: Task, configs: Sequence) -> int:
    """Train runs that stand at the same iteration together; 3 if any of them diverged."""
    names = [spec.run_name(config) for config in configs]
    if configs[0].dry_run:
        sys.stdout.writelines(f"{name}\n" for name in names)
        return 0
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
    checkpoint = load_torch(save_root() / f"{name}.pth")
    missing = {"epoch", "model_state_dict", "optimizer_state_dict", "progress"} - set(checkpoint)
    if missing:
        raise UsageError(
            f"argument --load-checkpoint: {name}.pth lacks {', '.join(sorted(missing))}; "
            "it is not a checkpoint of this script"
        )
    return checkpoint


def run_control(spec) -> set[str]:
    """Flags in which two recordings of the same run may differ."""
    return {flag.dest for flag in spec.flags if not flag.result} | LENGTH_AND_LOGGING


def _train_group(spec, task: Task, items: list[tuple], start: int) -> Outcome:
    configs, names, checkpoints = map(list, zip(*items, strict=True))
    first = configs[0]
    stacked = len(configs) > 1
    cuda = torch.cuda.is_available() and not first.no_cuda
    with default_dtype(first.pytorch_precision), ExitStack() as stack:
        session = Session(
            task,
            configs,
            [spec.layer_options(config) for config in configs],
            names,
            stacked=stacked,
            device=torch.device("cuda" if cuda else "cpu"),
            start=start,
        )
        writers = [
            _open_writer(stack, spec, config, name, checkpoint)
            for config, name, checkpoint in zip(configs, names, checkpoints, strict=True)
        ]
        console = Console(task, runs=len(configs), first=start, last=first.max_iterations)
        stack.callback(console.close)
        print_configuration(console, [config.as_dict() for config in configs])
        if not stacked:
            console.line(f"  - dataset: {session.data.datasets[0].print_operation()}")
        return _train(session, console, Recorder(writers, stacked=stacked), checkpoints)


def _open_writer(stack: ExitStack, spec, config, name: str, checkpoint: dict | None) -> RunWriter:
    resume = None
    if checkpoint is not None and "event_file" in checkpoint["progress"]:
        progress = checkpoint["progress"]
        resume = ResumePoint(progress["event_file"], progress["event_position"])
    command = f"python3 experiments/{spec.name}.py {shlex.join(argv_of(spec, config))}"
    folder = RunFolder.claim(
        tensorboard_root() / name,
        RunRecord.create(spec.name, plain(config.as_dict()), command),
        run_control=run_control(spec),
        remove_existing_data=config.remove_existing_data,
        resume=resume,
    )
    stack.callback(folder.release)
    return RunWriter(folder, verbose=config.verbose)


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
