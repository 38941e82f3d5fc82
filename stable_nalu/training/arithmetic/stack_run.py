"""Training one stack of runs, from configurations to saved models."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack

from stable_nalu import native
from stable_nalu.machine import keep_freed_memory
from stable_nalu.options import ScriptSpec

from ..command import device_of, memory_errors_as_usage_errors, open_writer
from ..compiled.errors import CompiledErrors
from ..compiled.step import CompiledStep
from ..logging.console import Console, View, print_outcome, print_parameters
from ..logging.recorder import Recorder
from ..plan.interruption import Interruption
from ..plan.runs import ITERATED, PlannedRun, read_checkpoint, resume_point, settle
from ..plan.shell import StackResult
from ..saved.best_model import BestModel
from .evaluation import EVALUATION_ROWS
from .session import Session, default_dtype
from .task import Task
from .trainer import Outcome, Trainer

WORK_WORTH_COMPILING = 6_000_000
"""`stack_work` from which compiled code saves more than compiling costs."""

DRAWS_WORTH_COMPILING = 1_000_000_000
"""Input elements that take NumPy about as long to draw as torch's compiler takes to load."""

ELEMENTS_WORTH_COMPILING = 400_000_000
"""Input elements from which compiled evaluation saves more than taking it from torch's cache costs.

Compiling it takes longer, once, and serves all models of a figure that differ only in numbers.
"""

WIDEST_COMPILED = 32
"""Inputs up to which compiled code is faster: wider layers spend their time in matrix products."""

SHOWN_INPUTS = 10


def train_stack(
    spec: ScriptSpec,
    task: Task,
    runs: Sequence[PlannedRun],
    view: View,
    interruption: Interruption,
) -> StackResult:
    """Train the runs together, or the one run alone."""
    keep_freed_memory()
    configs = [run.config for run in runs]
    names = [run.name for run in runs]
    start = runs[0].start
    checkpoints = [read_checkpoint(run.source, ITERATED) for run in runs if run.source is not None]
    with (
        memory_errors_as_usage_errors(),
        default_dtype(configs[0].pytorch_precision),
        ExitStack() as stack,
    ):
        session = Session(
            task,
            configs,
            [spec.layer_options(config) for config in configs],
            names,
            stacked=len(runs) > 1,
            device=device_of(configs[0]),
            start=start,
        )
        # Before the logs are cut back to where the checkpoints were taken: these may not fit.
        if checkpoints:
            session.restore(checkpoints)
        resume_points = [resume_point(c) for c in checkpoints] or [None] * len(runs)
        writers = [
            open_writer(stack, spec, config, name, point)
            for config, name, point in zip(configs, names, resume_points, strict=True)
        ]
        for run in runs:
            settle(run)
        recorder = Recorder(writers, stacked=session.stacked)
        worthwhile = runs[0].stack_work >= WORK_WORTH_COMPILING
        trainer = _build_trainer(session, recorder, view, may_compile=worthwhile)
        if trainer.compiled is not None or _draws_much(session):
            native.load()
        if checkpoints:
            trainer.set_state([checkpoint["progress"] for checkpoint in checkpoints])
            view.line("Checkpoint loaded")
        if isinstance(view, Console):
            _introduce(session, view)
        return _train(session, trainer, view, interruption)


def _build_trainer(
    session: Session, recorder: Recorder, view: View, *, may_compile: bool
) -> Trainer:
    first = session.configs[0]
    best = BestModel(session) if first.save_best_model else None

    def on_log(point) -> None:
        view.log_point(point)
        if best is not None:
            best.update(point)

    code = CompiledStep(session.step) if may_compile and _can_be_compiled(session) else None
    much = _evaluated_elements(session) >= ELEMENTS_WORTH_COMPILING
    return Trainer(
        session.task,
        session.configs,
        session.model,
        session.step,
        session.data,
        recorder,
        stacked=session.stacked,
        compiled=code,
        compiled_errors=CompiledErrors(session.model) if code is not None and much else None,
        reset_run=session.reset_run,
        on_log=on_log,
        on_message=view.line,
    )


def _can_be_compiled(session: Session) -> bool:
    first = session.configs[0]
    return (
        session.stacked
        and not first.no_compile
        and first.inputs <= WIDEST_COMPILED
        and not first.verbose
        and CompiledStep.supports(session.model)
    )


def _evaluated_elements(session: Session) -> int:
    first = session.configs[0]
    points = (first.max_iterations - session.start) // getattr(first, "log_interval", 1000) + 1
    rows = EVALUATION_ROWS * len(session.data.evaluation) * len(session.configs)
    return points * rows * first.inputs


def _draws_much(session: Session) -> bool:
    first = session.configs[0]
    iterations = len(session.configs) * (first.max_iterations - session.start)
    draws = iterations * first.batch_size * first.inputs
    return not first.no_compile and draws >= DRAWS_WORTH_COMPILING


def _train(
    session: Session, trainer: Trainer, view: View, interruption: Interruption
) -> StackResult:
    first = session.configs[0]
    interval = first.checkpoint_interval
    for iteration in range(session.start, first.max_iterations + 1):
        if interruption.signal_number is not None:
            if iteration > session.start and not first.no_save:
                session.save(iteration, trainer.get_state())
            trainer.recorder.flush()
            return StackResult(interrupted_at=iteration)
        if interval and iteration % interval == 0 and iteration > session.start:
            session.save(iteration, trainer.get_state())
        trainer.iterate(iteration)
        view.advance(1)
        if trainer.all_diverged:
            break
    outcome = trainer.outcome()
    trainer.recorder.flush()
    _conclude(session, view, trainer, outcome)
    return StackResult(diverged=bool(outcome.diverged_at) or not _finite(outcome.total))


def _finite(values: Iterable[float]) -> bool:
    return all(value - value == 0 for value in values)


def _introduce(session: Session, view: View) -> None:
    view.line(f"  - dataset: {session.data.datasets[0].print_operation()}")
    view.line(f"{session.model}\n\n{session.names[0]}\n")
    if _shows_parameters(session):
        print_parameters(view, session.model)


def _shows_parameters(session: Session) -> bool:
    return session.task.prints_weights_always or session.configs[0].input_size <= SHOWN_INPUTS


def _conclude(session: Session, view: View, trainer: Trainer, outcome: Outcome) -> None:
    first = session.configs[0]
    alone = isinstance(view, Console)
    if alone:
        restarts = None if trainer.restarts is None else sum(trainer.restarts.counts)
        print_outcome(view, session.task, outcome, restarts)
        if _shows_parameters(session):
            view.line()
            print_parameters(view, session.model)
    for run, iteration in outcome.diverged_at.items():
        view.line(f"diverged by iteration {iteration}: {session.names[run]}")
    if alone and session.task.reports_success:
        view.line(f"Success (last epoch): \t{outcome.succeeded[0]}")
    if not first.no_save:
        session.save(first.max_iterations + 1, trainer.get_state())
        if alone:
            epochs = first.max_iterations
            view.line(f"Model (/checkpoint)  trained for {epochs} epochs has been saved")
