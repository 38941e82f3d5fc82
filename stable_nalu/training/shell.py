"""The body of every training script: a plan of runs, trained, saved and logged to its end."""

import math
import os
import signal
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from stable_nalu.base.errors import UsageError
from stable_nalu.base.files import results_root, save_root, tensorboard_root
from stable_nalu.base.script import (
    EXIT_DIVERGED,
    EXIT_INTERRUPTED,
    EXIT_REQUEUE,
    Interruption,
    command_of,
    fact,
    keep_freed_memory,
    plural,
    shown,
)
from stable_nalu.base.script import PROGRESS as PROGRESS_FILE
from stable_nalu.layer import own_entries
from stable_nalu.options import Config, ScriptSpec
from stable_nalu.options.layer_options import units_of
from stable_nalu.statistics.setups import limit_of
from stable_nalu.writer import ResumePoint, RunFolder, RunRecord, RunWriter
from stable_nalu.writer.run_folder import WAYS_OUT
from torchlanes import VERSION

from .checkpoint import BEST_MODELS, BEST_PARAMETERS, model_file, plain, require_writable
from .console import (
    Console,
    End,
    StackView,
    all_flags,
    introduction,
    is_quiet,
    outcome,
    print_line,
    write_board,
)
from .engine_task import EngineTask
from .loop import Training
from .recorder import Recorder
from .result_file import with_reported
from .runs import (
    LANES,
    TORCH,
    PlannedRun,
    Share,
    Stack,
    StackResult,
    States,
    continued,
    explain_torch,
    read_checkpoint,
    resume_point,
    run_control,
    saved_states,
    settle,
    show_engine,
    stacks_of,
    with_engine,
    worker_count,
)
from .surroundings import default_dtype, errors_in_one_line, precision
from .task import Task, Unit

MOST_FORMULAS = 50
"""Runs beyond which it is not said what they have learned: that would take seconds."""


InShort = Callable[[Sequence[Path]], str | None]
"""Says in one line what the runs in some folders have learned."""


def train_plan(
    task: type[Task], spec: ScriptSpec, *plans: Sequence[Config], learned: InShort | None = None
) -> int:
    """Train what is not finished yet; the exit code says how it ended.

    Each plan is cut into stacks as if it were the only one.
    """
    planned = [[PlannedRun.of(spec, config) for config in plan] for plan in plans]
    runs = [run for plan in planned for run in plan]
    if own_entries():
        _probe(task, runs)
    planned = [[with_engine(task, run) for run in plan] for plan in planned]
    every = [run for plan in planned for run in plan]
    explain_torch(task, every)
    if getattr(every[0].config, "show_engine", False):
        return show_engine(task, every)
    states = {run.name: saved_states(spec, run) for run in every}
    counts = [worker_count(task, plan) for plan in planned]
    workers = max(counts)
    cut = [
        stack
        for plan, count in zip(planned, counts, strict=True)
        for stack in stacks_of(plan, count)
    ]
    stacks = [part for stack in cut for part in continued(stack, states)]
    if min(workers, len(cut)) > 1:
        # What is left may train in this process, and began with the one thread of a worker.
        torch.set_num_threads(1)
    left, before = _unfinished(spec, stacks, states, task.kind.unit)
    results = [StackResult(diverged=before)]
    with Interruption() as interruption:
        if left:
            _require_folders(spec, left, states)
            if not issubclass(task, EngineTask):
                _probe(task, [run for stack in left for run in stack])
            results += _train_left(task, spec, left, workers, interruption)
    code = _exit_code(results, interruption, task.kind.unit)
    if code in (0, EXIT_DIVERGED) and not is_quiet():
        in_words = learned if task.target is not Task.target else None
        _show_end(task, spec, every, left, results, states, in_words)
    return code


def _unfinished(
    spec: ScriptSpec, stacks: Sequence[Stack], states: Mapping[str, States], unit: Unit
) -> tuple[list[Stack], bool]:
    """Return the stacks that have something left to train, and whether a finished run diverged."""
    left, diverged, done = list[Stack](), False, Counter[int]()
    for stack in stacks:
        first = stack[0]
        if first.source is None or first.start <= unit.last(first.config):
            left.append(stack)
            continue
        for run in stack if own_entries() else ():  # whose layer may be another one by now
            _folder_of(RunFolder.check, spec, run, states[run.name][run.start].resume_point)
        settle(stack)
        done[first.start - 1] += len(stack)
        diverged |= any(states[run.name][run.start].diverged for run in stack)
    for last, runs in sorted(done.items()):
        text = f"{plural(runs, 'run')} already trained to {unit.name} {last}"
        print_line(f"{text}; raise {unit.flag} to go on")
    return left, diverged


def _require_folders(
    spec: ScriptSpec, stacks: Sequence[Stack], states: Mapping[str, States]
) -> None:
    """Refuse what may not be overwritten, and a place that cannot be written to, before training.

    A run exists if there is its log or a model that it saved.
    """
    runs = [run for stack in stacks for run in stack]
    first = runs[0].config
    roots = [] if first.no_save else [save_root()]
    if getattr(first, "save_best_model", False):
        roots += [save_root() / BEST_MODELS, save_root() / BEST_PARAMETERS]
    probed: set[Path] = set()
    for run in runs:
        config, state = run.config, states[run.name].get(run.start)
        replaces = config.remove_existing_data or config.resume or config.load_checkpoint
        _folder_of(RunFolder.check, spec, run, state.resume_point if state else None)
        for root in roots:
            file = model_file(root, run.name)
            require_writable(file, probed)
            if file.exists() and not replaces:
                *ways, last = _ways_out(spec)
                raise UsageError(
                    f"{file} already holds a trained model of this run: use {', '.join(ways)}, "
                    f"or {last}"
                )


def _record(spec: ScriptSpec, run: PlannedRun) -> RunRecord:
    config = run.config
    engine = f"{LANES} {VERSION}" if run.in_lanes else run.engine
    command = command_of(f"experiments/{spec.name}.py", *spec.argv_of(config))
    # Absent where it is not given, as in the records of runs that are older than the flags.
    absent = {f.dest for f in spec.flags if f.young and getattr(config, f.dest) == f.default}
    values = {name: v for name, v in plain(config.as_dict()).items() if name not in absent}
    record = replace(RunRecord.create(spec.name, values, command), engine=engine)
    if not own_entries():
        return record
    from stable_nalu.layer.own_layers import sources

    return replace(record, layer_files=[vars(file) for file in sources(units_of(config))])


def _folder_of(
    how: Callable[..., Any], spec: ScriptSpec, run: PlannedRun, point: ResumePoint | None
) -> Any:
    """Check or claim the folder of a run, whose data may be there already."""
    return how(
        tensorboard_root() / run.name,
        _record(spec, run),
        resume=point,
        run_control=run_control(spec),
        # A run that is to be resumed but was never saved starts again.
        remove_existing_data=run.config.remove_existing_data or run.config.resume,
        ways_out=_ways_out(spec),
    )


def _ways_out(spec: ScriptSpec) -> list[str]:
    """Return what to do about a run that exists, with the flags that the script has."""
    anew, resume, elsewhere = WAYS_OUT
    if not any(flag.name == "--id" for flag in spec.flags):
        elsewhere = elsewhere.removesuffix(" or --id")
    return [anew, resume, elsewhere]


def _probe(task: type[Task], runs: Sequence[PlannedRun]) -> None:
    """Refuse what cannot be loaded or built before any folder is made."""
    by_flags = {repr({**run.config.as_dict(), "seed": None}): run for run in runs}
    for run in by_flags.values():
        with errors_in_one_line(), default_dtype(precision(run.config)):
            _build(task, [replace(run, engine=TORCH)])


def _build(task: type[Task], runs: Stack) -> Training:
    try:
        return Training(task, runs)
    except ValueError as error:
        raise UsageError(str(error)) from None


def _console(
    task: type[Task], spec: ScriptSpec, runs: Sequence[PlannedRun], left: Sequence[Stack], how: str
) -> Console:
    """Say what is trained, and return the console of all runs."""
    configs = [run.config for run in runs]
    unit, first = task.kind.unit, configs[0]
    units = sum(unit.last(run.config) + 1 - run.start for stack in left for run in stack)
    console = Console(
        runs=sum(map(len, left)),
        left=units,
        last=unit.last(first),
        unit=f"{unit.name}s",
        verbose=first.verbose,
        begun=partial(_show_in_tensorboard, task, spec, runs),
    )
    for line in introduction(spec, configs, plural(len(runs), "run") + how):
        console.line(line)
    if first.verbose:
        for line in all_flags([with_reported(config, task.kind.reported) for config in configs]):
            console.line(line)
    return console


def _show_in_tensorboard(task: type[Task], spec: ScriptSpec, runs: Sequence[PlannedRun]) -> None:
    """Tell TensorBoard what the runs of a folder have in common, if it can be written."""
    folders: dict[Path, dict[str, RunRecord]] = {}
    for run in runs:
        path = tensorboard_root() / run.name
        folders.setdefault(path.parent, {})[path.name] = _record(spec, run)
    shown = [flag for flag in spec.flags if flag.dest not in run_control(spec)]
    last = task.kind.unit.last if issubclass(task, EngineTask) else None
    with suppress(OSError, UsageError):
        for folder, records in folders.items():
            write_board(spec, folder, records, shown=shown, last=last)


def _train_left(
    task: type[Task],
    spec: ScriptSpec,
    stacks: Sequence[Stack],
    workers: int,
    interruption: Interruption,
) -> list[StackResult]:
    """Train stacks, here or in several processes, with one console for all."""
    runs = [run for stack in stacks for run in stack]
    processes, how = min(workers, len(stacks)), ""
    if len(runs) > 1 and hasattr(runs[0].config, "workers"):
        how = f" in {plural(len(stacks), 'stack')} on {plural(processes, 'process')}"
    console = _console(task, spec, runs, stacks, how)
    train = partial(_train_stacks, task, spec, len(runs))
    try:
        if processes > 1:
            from .workers import train_in_workers

            return train_in_workers(train, stacks, processes, console, interruption)
        numbered = list(enumerate(stacks))
        return list(
            train(numbered, lambda how, *a: getattr(console, how)(*a), interruption).values()
        )
    finally:
        console.close()


def _train_stacks(
    task: type[Task],
    spec: ScriptSpec,
    count: int,
    stacks: Share,
    send: Callable[..., None],
    interruption: Interruption,
) -> dict[int, StackResult]:
    """Train stacks, those that draw the same samples in turns; return results by their numbers.

    count: the runs of the plan. send: passes on what the console is to show. A signal leaves out
    what has not begun.
    """
    results: dict[int, StackResult] = {}
    for group in groups_of(spec, stacks):
        single = count == 1 or not hasattr(group[0][1][0].config, "workers")
        views = [
            StackView(send, number, len(stack), single=single, alone=count == 1)
            for number, stack in group
        ]
        found = train_side_by_side(task, spec, [stack for _, stack in group], views, interruption)
        for view in views:
            view.close()
        results |= {number: result for (number, _), result in zip(group, found, strict=True)}
        if any(result.interrupted_at is not None for result in found):
            break
    return dict(sorted(results.items()))


def groups_of(spec: ScriptSpec, stacks: Iterable[tuple[int, Stack]]) -> list[Share]:
    """Gather stacks that the engine trains on the same samples, run by run; others are alone."""
    groups: dict[object, Share] = {}
    for number, stack in stacks:
        drawn = [spec.samples_of(run.config) for run in stack]
        shared = stack[0].in_lanes and None not in drawn
        first = stack[0].config
        key = (tuple(drawn), first.no_cuda, precision(first)) if shared else number
        groups.setdefault(key, []).append((number, stack))
    return list(groups.values())


def train_side_by_side(
    task: type[Task],
    spec: ScriptSpec,
    stacks: Sequence[Stack],
    views: Sequence[StackView],
    interruption: Interruption,
) -> list[StackResult]:
    """Train a group of stacks, or of one stack, whose runs train together."""
    keep_freed_memory()
    first = stacks[0][0].config
    with errors_in_one_line(), default_dtype(precision(first)), ExitStack() as ending:
        opened: dict[Training, ExitStack] = {}
        for runs, view in zip(stacks, views, strict=True):
            files = ending.enter_context(ExitStack())
            opened[_opened(task, spec, runs, view, files)] = files
        return _train_in_turns(opened, interruption)


def _train_in_turns(
    opened: Mapping[Training, ExitStack], interruption: Interruption
) -> list[StackResult]:
    """Train to the end, or until a signal stops all at the same unit; return every result.

    Those that are furthest behind go first. Once all stand at the same unit, they share samples,
    which changes no number. Each one's files are closed when it has ended.
    """
    left = {training: training.steps() for training in opened}
    results: dict[Training, StackResult] = {}

    def end(training: Training, result: StackResult) -> None:
        results[training] = result
        training.leave()
        del left[training]
        opened[training].close()

    def advance(training: Training) -> None:
        try:
            next(left[training])
        except StopIteration:
            _report(training)
            end(training, StackResult(training.diverged, ends=training.ends))

    for training in opened:
        advance(training)
    together = len(left) < 2
    while left:
        signalled, turn = interruption.signal_number, list(left)
        if signalled is not None:
            for training in turn:
                left[training].close()
                training.stop()
                end(training, StackResult(False, training.at, signalled))
            break
        if not together:
            least = min(training.at for training in turn)
            turn = [training for training in turn if training.at == least]
            if len(turn) == len(left):
                turn[0].share_samples(turn[1:])
                together = True
        for training in turn:
            advance(training)
    return [results[training] for training in opened]


def _report(training: Training) -> None:
    """Show on the console how training ended, once everything is saved."""
    task, view = training.task, training.view
    if view.single:
        show = view.line if view.alone else view.detail
        show("finished:")
        for name, value in training.results.items():
            show(f"  - {name}: {value}")
        if training.config.verbose:
            for text in task.report(training.model, training.stack[0].name, training.results):
                view.line(text)
    if isinstance(task, EngineTask):
        for run, clock in training.diverged_at.items():
            name = training.stack[run].name
            view.line(f"diverged by {training.clock_name} {clock}: {name}")


def _opened(
    task: type[Task], spec: ScriptSpec, runs: Stack, view: StackView, files: ExitStack
) -> Training:
    """Return the training of a stack, where its saved states were taken, with its logs open."""
    checkpoints = [read_checkpoint(run, run.source) for run in runs if run.source is not None]
    training = _build(task, runs)
    # Before the logs are cut back to where the checkpoints were taken: these may not fit.
    if checkpoints:
        training.restore(checkpoints)
    view.begin()
    points = list(map(resume_point, runs, checkpoints)) or [None] * len(runs)
    writers = [
        _open_writer(files, spec, run, point) for run, point in zip(runs, points, strict=True)
    ]
    settle(runs)
    training.open(Recorder(writers, stacked=training.stacked), view)
    if checkpoints:
        view.detail("Checkpoint loaded")
    if view.single and not view.alone:
        view.detail(f"run {runs[0].name}")
    if view.single and training.config.verbose:
        for text in training.task.report(training.model, runs[0].name, None):
            view.line(text)
    return training


def _open_writer(
    files: ExitStack, spec: ScriptSpec, run: PlannedRun, point: ResumePoint | None
) -> RunWriter:
    """Claim the folder of a run until `files` closes, and open its event file."""
    folder = files.enter_context(_folder_of(RunFolder.claim, spec, run, point))
    values, control = _record(spec, run).config.items(), run_control(spec)
    own = {name: value for name, value in values if name not in control}
    return RunWriter(folder.events, config={"script": spec.name, **own})


def _show_end(
    task: type[Task],
    spec: ScriptSpec,
    runs: Sequence[PlannedRun],
    left: Sequence[Stack],
    results: Sequence[StackResult],
    states: Mapping[str, States],
    learned: InShort | None,
) -> None:
    """Say how all runs have ended, where their logs and models are, and what comes next."""
    ends = [end for result in results for end in result.ends]
    of = dict(zip((run.name for stack in left for run in stack), ends, strict=True))
    of |= {run.name: _saved_end(task, run, states[run.name]) for run in runs if run.name not in of}
    first = runs[0].config
    limits = [limit_of(run.config).threshold for run in runs if of[run.name].solved is not None]
    lines = outcome(spec, [(run.config, of[run.name]) for run in runs], limits)
    is_read = PROGRESS_FILE not in os.environ and len(runs) <= MOST_FORMULAS
    if learned is not None and left and not first.no_save and is_read:
        # Everything is saved, and a formula that fails must not look as if training had.
        with suppress(Exception):
            said = learned([tensorboard_root() / run.name for run in runs])
            lines += [] if said is None else [said]
    folders = dict.fromkeys(str(Path(run.name).parent) for run in runs)
    logs = shown(tensorboard_root() / next(iter(folders)))
    lines.append(fact("logs", logs))
    if not first.no_save:
        lines.append(fact("models", shown(save_root() / next(iter(folders)))))
    table = shown(results_root() / f"{next(iter(folders))}.csv")
    words = "--tensorboard-dir", logs, "--csv-out", table
    lines.append(fact("next", command_of(f"export/{task.kind.exporter}", *words)))
    for line in lines:
        print_line(line)


def _saved_end(task: type[Task], run: PlannedRun, states: States) -> End:
    """Return how a run ended that was trained before, as its saved state says."""
    state, limit = max(states.values(), key=lambda one: one.iteration), task.goal(run.config).limit
    error = math.nan if state.diverged or state.error is None else state.error
    solved = None if state.error is None or limit is None else bool(limit.met(error))
    return End(error, solved)


def _exit_code(results: Sequence[StackResult], interruption: Interruption, unit: Unit) -> int:
    """Return how a plan ended, as an exit code."""
    stopped = [r for r in results if r.interrupted_at is not None]
    if stopped:
        first = min(r.interrupted_at for r in stopped if r.interrupted_at is not None)
        print_line(f"stopped before {unit.name} {first}; the same command with --resume goes on")
        # Workers stop by SIGTERM, whatever signal this process has.
        signals = [interruption.signal_number or result.signal_number for result in stopped]
        return EXIT_REQUEUE if signal.SIGTERM in signals else EXIT_INTERRUPTED
    return EXIT_DIVERGED if any(result.diverged for result in results) else 0
