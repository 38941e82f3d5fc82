"""The body of every training script: a plan of runs, trained, saved and logged to its end.

Several processes may share the stacks of a plan.
"""

import math
import multiprocessing
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from stable_nalu.base import script
from stable_nalu.base.errors import UsageError
from stable_nalu.base.files import model_file, results_root, save_root, tensorboard_root
from stable_nalu.base.script import Interruption, fact, plural
from stable_nalu.layer.registry import all_owned, owned
from stable_nalu.options import Config, ScriptSpec
from stable_nalu.options.flags import owned_names
from stable_nalu.writer.event_file import WAYS_OUT, RunRecord, RunWriter, check_claim, claimed
from torchlanes import VERSION

from . import checkpoint, console, default_dtype, errors_in_one_line, has_gpu
from .checkpoint import LANES, STACKED, TORCH, PlannedRun, SavedState, Stack
from .console import Console, End, StackView
from .loop import Training
from .recorder import Recorder, reported
from .task import EngineTask, Task

if TYPE_CHECKING:
    from stable_nalu.callbacks import Hooks

MOST_FORMULAS = 50
"""Runs beyond which it is not said what they have learned: that would take seconds."""
POLL_SECONDS = 0.5

STACKED_INPUTS = 16_384
"""Runs in one stack, times their inputs: past that, more runs in a stack gain no speed."""

WORK_OF_A_PROCESS = 1_000_000
"""Iterations, summed over runs, below which another process costs more than it saves."""

ENGINE = "STABLE_NALU_ENGINE"
"""The environment variable by which all arithmetic runs of a command train in torch."""

InShort = Callable[[Sequence[Path]], str | None]
"""Says in one line what the runs in some folders have learned."""
Share = list[tuple[int, Stack]]
"""Stacks with their numbers in the plan."""


@dataclass(frozen=True)
class StackResult:
    """How the training of a stack ended.

    interrupted_at: the first unit that is left, after a signal. signal_number: that signal.
    ends: how its runs ended, if they did.
    """

    diverged: bool = False
    interrupted_at: int | None = None
    signal_number: int | None = None
    ends: tuple[End, ...] = ()


TrainStacks = Callable[[Share, Callable[..., None], Interruption], dict[int, StackResult]]
"""Trains stacks, shows by a function, and returns the results of those it began."""


def train_plan(
    task: type[Task],
    spec: ScriptSpec,
    *plans: Sequence[Config],
    learned: InShort | None = None,
    hooks: "Hooks | None" = None,
) -> int:
    """Train what is not finished yet; the exit code says how it ended.

    Each plan is cut into stacks as if it were the only one.
    """
    shell, unit = Shell(task, spec, hooks), task.kind.unit
    planned = [[PlannedRun.of(spec, config) for config in plan] for plan in plans]
    if all_owned():
        shell.probe(run for plan in planned for run in plan)
    planned = [[with_engine(task, run) for run in plan] for plan in planned]
    every = [run for plan in planned for run in plan]
    # Runs are trained by torch one after another, which may not have been asked for.
    asked = {TORCH, LANES, STACKED, f"{TORCH}: --engine torch", f"{TORCH}: {ENGINE}=torch"}
    for reason in sorted({run.engine for run in every} - asked):
        sys.stderr.write(f"trained one run at a time by plain {reason}\n")
    if getattr(every[0].config, "show_engine", False):
        texts = (p.text for run in every if run.engine == LANES for p in _programs(task, run))
        sys.stdout.write("\n".join(dict.fromkeys(texts)))
        return 0
    states = {run.name: checkpoint.saved_states(spec, run) for run in every}
    counts = [worker_count(task, plan) for plan in planned]
    pairs = zip(planned, counts, strict=True)
    cut = [part for plan, count in pairs for part in stacks_of(task, plan, count)]
    if min(max(counts), len(cut)) > 1:
        # What is left may train in this process, and began with the one thread of a worker.
        torch.set_num_threads(1)
    stacks = [part for stack in cut for part in checkpoint.continued(stack, states)]
    before, left = shell.finished(stacks)
    results = [StackResult(diverged=before)]
    with Interruption() as interruption:
        if left:
            shell.require_folders(left)
            if not issubclass(task, EngineTask):
                shell.probe(run for stack in left for run in stack)
            results += shell.train_left(left, max(counts), interruption)
    if stopped := [r for r in results if r.interrupted_at is not None]:
        first = min(r.interrupted_at for r in stopped if r.interrupted_at is not None)
        text = f"stopped before {unit.name} {first}; the same command with --resume goes on"
        console.print_line(text)
        # Workers stop by SIGTERM, whatever signal this process has.
        signals = [interruption.signal_number or result.signal_number for result in stopped]
        return script.EXIT_REQUEUE if signal.SIGTERM in signals else script.EXIT_INTERRUPTED
    if not console.is_quiet.get():
        of_name = {run.name: run for stack in stacks for run in stack}
        ends = [end for result in results for end in result.ends]
        of = dict(zip((run.name for stack in left for run in stack), ends, strict=True))
        learned = learned if left and task.target is not Task.target else None
        shell.show_end([of_name[run.name] for run in every], of, learned)
    return script.EXIT_DIVERGED if any(result.diverged for result in results) else 0


def set_threads(task: type[Task]) -> None:
    """Let torch use the threads that the scheduler grants, else all cores if a run gains by them.

    Small models gain from no more than one thread.
    """
    own = script.cores() if task.kind.all_cores else 1
    torch.set_num_threads(script.granted_cores() or min(own, script.usable_cores()))


@dataclass(frozen=True)
class Shell:
    """What trains the runs of a script."""

    task: type[Task]
    spec: ScriptSpec
    hooks: "Hooks | None" = None

    @property
    def _has_board(self) -> bool:
        """Return whether logs have what TensorBoard alone shows."""
        return self.hooks is None or self.hooks.form == "tensorboard"

    def finished(self, stacks: Sequence[Stack]) -> tuple[bool, list[Stack]]:
        """Return whether a finished run diverged, and the remaining stacks."""
        left, diverged, done, unit = list[Stack](), False, Counter[int](), self.task.kind.unit
        for stack in stacks:
            first = stack[0]
            stopped = first.state is not None and first.state.stopped
            if not stopped and (first.state is None or first.start <= unit.last(first.config)):
                left.append(stack)
                continue
            for run in stack if all_owned() else ():  # whose layer may be another one by now
                self._folder_of(check_claim, run, run.state)
            checkpoint.settle(stack)
            if not stopped:
                done[first.start - 1] += len(stack)
            diverged |= any(run.state is not None and run.state.diverged for run in stack)
        for last, runs in sorted(done.items()):
            text = f"{plural(runs, 'run')} already trained to {unit.name} {last}"
            console.print_line(f"{text}; raise {unit.flag} to go on")
        return diverged, left

    def require_folders(self, stacks: Sequence[Stack]) -> None:
        """Refuse what may not be overwritten, or cannot be written to, before training.

        A run exists if there is its log or a model that it saved.
        """
        runs = [run for stack in stacks for run in stack]
        roots = [] if runs[0].config.no_save else [save_root()]
        if getattr(runs[0].config, "save_best_model", False):
            roots += [save_root() / name for name in checkpoint.OF_THE_BEST]
        probed: set[Path] = set()
        for run in runs:
            config = run.config
            replaces = config.remove_existing_data or config.resume or config.load_checkpoint
            self._folder_of(check_claim, run, run.state)
            for file in (model_file(root, run.name) for root in roots):
                checkpoint.require_writable(file, probed)
                if file.exists() and not replaces:
                    *ways, last = self._ways_out()
                    said = f"{file} already holds a trained model of this run"
                    raise UsageError(f"{said}: use {', '.join(ways)}, or {last}")

    def _record(self, run: PlannedRun) -> RunRecord:
        spec, config = self.spec, run.config
        engine = f"{LANES} {VERSION}" if run.engine == LANES else run.engine
        command = script.command_of(f"experiments/{spec.name}.py", *spec.argv_of(config))
        # Absent where it is not given, as in the records of runs that are older than the flags.
        absent = {f.dest for f in spec.flags if f.young and getattr(config, f.dest) == f.default}
        own = checkpoint.plain(config.as_dict())
        values = {name: v for name, v in own.items() if name not in absent}
        record = replace(RunRecord.create(spec.name, values, command), engine=engine)
        if not all_owned():
            return record
        from stable_nalu.layer.own_layers import sources

        return replace(
            record, layer_files=[file._asdict() for file in sources(owned_names(config))]
        )

    def _folder_of(self, how: Callable[..., Any], run: PlannedRun, state: SavedState | None) -> Any:
        """Check or claim the folder of a run, whose data may be there already."""
        return how(
            tensorboard_root() / run.name,
            self._record(run),
            resume=state,
            run_control=checkpoint.run_control(self.spec),
            # A run that is to be resumed but was never saved starts again.
            remove_existing_data=run.config.remove_existing_data or run.config.resume,
            ways_out=self._ways_out(),
        )

    def _ways_out(self) -> list[str]:
        has_id = any(flag.name == "--id" for flag in self.spec.flags)
        return [way if has_id else way.removesuffix(" or --id") for way in WAYS_OUT]

    def probe(self, runs: Iterable[PlannedRun]) -> None:
        """Refuse what cannot be loaded or built before any folder is made."""
        by_flags = {repr({**run.config.as_dict(), "seed": None}): run for run in runs}
        for run in by_flags.values():
            with errors_in_one_line(), default_dtype(run.config):
                self._built([replace(run, engine=TORCH, state=None)])

    def _built(self, runs: Stack) -> Training:
        try:
            return Training(self.task, runs)
        except ValueError as error:
            raise _by_flag(error, runs[0].config) from None

    def train_left(
        self, stacks: Sequence[Stack], workers: int, interruption: Interruption
    ) -> list[StackResult]:
        """Say what is trained, and train it, here or in several processes, with one console."""
        runs = [run for stack in stacks for run in stack]
        configs, kind = [run.config for run in runs], self.task.kind
        last, first, processes = kind.unit.last, configs[0], min(workers, len(stacks))
        amount = plural(len(runs), "run")
        if len(runs) > 1 and hasattr(first, "workers"):
            amount += f" in {plural(len(stacks), 'stack')} on {plural(processes, 'process')}"
        left = sum(last(run.config) + 1 - run.start for run in runs)
        begun = partial(self._show_in_tensorboard, runs) if self._has_board else None
        how = {"unit": f"{kind.unit.name}s", "verbose": first.verbose, "begun": begun}
        screen = Console(runs=len(runs), left=left, last=last(first), **how)
        train = partial(self.train_stacks, len(runs))
        try:
            lines = console.introduction(self.spec, configs, amount)
            if first.verbose:
                ahead = ((reported(config, kind.reported), config) for config in configs)
                lines += console.all_flags([{**own, **c.as_dict(), **own} for own, c in ahead])
            for line in lines:
                screen.line(line)
            numbered = list(enumerate(stacks))
            if processes > 1:
                shares = [numbered[k::processes] for k in range(processes)]
                return train_in_workers(train, shares, screen, interruption)
            return list(train(numbered, screen.obey, interruption).values())
        finally:
            screen.close()

    def _show_in_tensorboard(self, runs: Stack) -> None:
        """Tell TensorBoard what the runs of a folder have in common, if it can be written."""
        records = {tensorboard_root() / run.name: self._record(run) for run in runs}
        judged = self.task if issubclass(self.task, EngineTask) else None
        with suppress(OSError, UsageError):
            for folder in dict.fromkeys(path.parent for path in records):
                console.write_board(self.spec, folder, records, judged)

    def train_stacks(
        self, count: int, stacks: Share, send: Callable[..., None], interruption: Interruption
    ) -> dict[int, StackResult]:
        """Train stacks, those that draw the same samples in turns; return results by their numbers.

        count: the runs of the plan. send: passes on what the console is to show. A signal leaves
        out what has not begun.
        """
        script.keep_freed_memory()
        results: dict[int, StackResult] = {}
        for group in groups_of(self.spec, stacks):
            first = group[0][1][0].config
            single = count == 1 or not hasattr(first, "workers")
            how = {"single": single, "alone": count == 1}
            with errors_in_one_line(), default_dtype(first), ExitStack() as ending:
                opened: dict[Training, ExitStack] = {}
                for number, runs in group:
                    files = ending.enter_context(ExitStack())
                    view = StackView(send, number, len(runs), **how)
                    opened[self._opened(runs, view, files)] = files
                trained = _train_in_turns(opened, interruption)
            results |= {number: result for (number, _), result in zip(group, trained, strict=True)}
            if any(result.interrupted_at is not None for result in trained):
                break
        return dict(sorted(results.items()))

    def _opened(self, runs: Stack, view: StackView, files: ExitStack) -> Training:
        """Return the training of a stack, where its saved states were taken, with its logs open."""
        saved = [checkpoint.read(r, r.state.path) for r in runs if r.state is not None]
        training = self._built(runs)
        training.hooks = self.hooks or None
        # Before the logs are cut back to where the checkpoints were taken: these may not fit.
        if saved:
            training.restore([content for content, _ in saved])
        view.begin()
        control, writers = checkpoint.run_control(self.spec), []
        states = [state for _, state in saved] or [None] * len(runs)
        for run, state in zip(runs, states, strict=True):
            events = files.enter_context(self._folder_of(claimed, run, state))
            values = self._record(run).config.items()
            own = {name: value for name, value in values if name not in control}
            shown = {"script": self.spec.name, **own} if self._has_board else None
            writers.append(RunWriter(events, config=shown))
        checkpoint.settle(runs)
        recorder = Recorder(writers, stacked=training.stacked)
        is_short = all(run.config.short_names is not None for run in runs)
        recorder.in_log = self._has_board and is_short
        training.open(recorder, view)
        earlier = [content["progress"].get("callbacks", ()) for content, _ in saved]
        for run, own in enumerate(earlier or [()] * len(runs)) if self.hooks is not None else ():
            self.hooks.begin(training.short_name(run), own)
        if saved:
            view.detail("Checkpoint loaded")
        if view.single and not view.alone:
            view.detail(f"run {runs[0].name}")
        if view.single and training.config.verbose:
            for text in training.task.report(training.model, runs[0].name, None):
                view.line(text)
        return training

    def show_end(self, runs: Stack, of: dict[str, End], learned: InShort | None) -> None:
        """Say how all runs have ended, where their logs and models are, and what comes next."""
        for run in runs:
            state, limit = run.state, self.task.goal(run.config).limit
            if run.name not in of and state is not None:  # which was trained before
                error = math.nan if state.diverged or state.error is None else state.error
                known = state.error is not None and limit is not None
                of[run.name] = End(error, bool(limit.met(error)) if known else None)
        first, pairs = runs[0].config, [(run.config, of[run.name]) for run in runs]
        goals = [self.task.goal(config) for config, end in pairs if end.solved is not None]
        limits = [goal.limit.threshold for goal in goals if goal.limit]
        lines = console.outcome(self.spec, pairs, limits)
        is_read = script.PROGRESS not in os.environ and len(runs) <= MOST_FORMULAS
        if learned is not None and not first.no_save and is_read:
            # Everything is saved, and a formula that fails must not look as if training had.
            with suppress(Exception):
                said = learned([tensorboard_root() / run.name for run in runs])
                lines += [] if said is None else [said]
        folder = Path(runs[0].name).parent
        logs = script.shown(tensorboard_root() / folder)
        lines.append(fact("logs", logs))
        if not first.no_save:
            lines.append(fact("models", script.shown(save_root() / folder)))
        table = script.shown(results_root() / f"{folder}.csv")
        words = "--tensorboard-dir", logs, "--csv-out", table
        exporter = f"export/{self.task.kind.exporter}"
        lines.append(fact("next", script.command_of(exporter, *words)))
        for line in lines:
            console.print_line(line)


def worker_count(task: type[Task], runs: Sequence[PlannedRun]) -> int:
    """Return how many processes to use: `--workers`, else one per core while there is work for it.

    A script without the flag uses one, and so do runs that a GPU trains. The work of the whole plan
    counts, done or not, so that a resumed plan is cut alike.
    """
    wanted = getattr(runs[0].config, "workers", 1)
    if wanted is not None:
        return min(wanted, len(runs))
    if issubclass(task, EngineTask) and not task.in_python and has_gpu(runs[0].config):
        from torchlanes import gpu

        in_lanes = [run for run in runs if run.engine == LANES]
        programs = [one for run in in_lanes for one in _programs(task, run)]
        if len(in_lanes) >= gpu.FEW and gpu.not_for_gpu(programs) is None:
            return 1
    work = task.kind.cost * sum(task.kind.unit.last(run.config) + 1 for run in runs)
    return max(1, min(script.cores(), len(runs), work // WORK_OF_A_PROCESS))


def stacks_of(task: type[Task], runs: Sequence[PlannedRun], workers: int) -> list[Stack]:
    """Cut a plan into stacks of runs that differ only in what may differ within a stack.

    Runs of a stack share their layers' options. A stack is no larger than `--ensemble-size`, and
    there are enough stacks for all workers. Runs of a seed are together, as they share their
    samples. What torch trains is trained alone.
    """
    alone = [[run] for run in runs if not run.in_lanes]
    stacked = [run for run in runs if run.in_lanes]
    if not stacked:
        return alone
    groups: dict[str, Stack] = {}
    for run in stacked:
        kind = run.layer_options
        if run.engine == STACKED:
            assert issubclass(task, EngineTask)
            own = run.config.as_dict().items()
            kind = kind | {name: value for name, value in own if name not in task.in_torch}
        groups.setdefault(repr(sorted(kind.items())), []).append(run)
    first = stacked[0].config
    # A GPU has room for all of them, and is only busy with many.
    fitting = len(stacked) if has_gpu(first) else max(1, STACKED_INPUTS // first.inputs)
    largest = first.ensemble_size or min(fitting, math.ceil(len(stacked) / workers))
    parts: list[Stack] = []
    for group in groups.values():
        count = math.ceil(len(group) / largest)
        bounds = [round(k * len(group) / count) for k in range(count + 1)]
        order = np.argsort([getattr(run.config, "seed", 0) for run in group], kind="stable")
        parts += [[group[k] for k in sorted(order[a:b])] for a, b in pairwise(bounds)]
    return [*parts, *alone]


def with_engine(task: type[Task], run: PlannedRun) -> PlannedRun:
    """Return a run that knows what trains it, which its configuration alone decides."""
    config = run.config
    if not issubclass(task, EngineTask):
        return run
    if config.engine == TORCH or config.no_compile:
        return replace(run, engine=f"{TORCH}: --engine torch")
    if os.environ.get(ENGINE) == TORCH:
        return replace(run, engine=f"{TORCH}: {ENGINE}=torch")
    if task.in_torch:
        return replace(run, engine=STACKED)
    try:
        with errors_in_one_line():
            reason = _reason_for_torch(task, run)
    except ValueError as error:  # of a unit that refuses an option
        raise _by_flag(error, config) from None
    return replace(run, engine=LANES if reason is None else f"{TORCH}: {reason}")


def _by_flag(error: ValueError, config: Config) -> UsageError:
    """Return the error of a unit, with the flag that names a layer of a user."""
    for dest in ("layer_type", "first_layer", "nalm_name"):
        unit = owned(str(getattr(config, dest, "")))
        if unit is not None and getattr(unit, "origin", True) is not None:
            return UsageError(f"argument --{dest.replace('_', '-')}: {error}")
    return UsageError(str(error))


def _reason_for_torch(task: type[EngineTask], run: PlannedRun) -> str | None:
    from torchlanes.tiles import not_compiled
    from torchlanes.values import NotLoweredError

    try:
        return next(filter(None, map(not_compiled, _programs(task, run))), None)
    except NotLoweredError as error:
        return str(error)


def _programs(task: type[Task], run: PlannedRun) -> list[Any]:
    from .engine_stack import programs_for

    assert issubclass(task, EngineTask)
    with default_dtype(run.config):
        return list(programs_for(task, run.config, run.layer_options).values())


def groups_of(spec: ScriptSpec, stacks: Iterable[tuple[int, Stack]]) -> list[Share]:
    """Gather stacks that the engine trains on the same samples, run by run; others are alone."""
    groups: dict[object, Share] = {}
    for number, stack in stacks:
        drawn = [spec.samples_of(run.config) for run in stack]
        shared = stack[0].in_lanes and None not in drawn
        first = stack[0].config
        key = (tuple(drawn), first.no_cuda, first.pytorch_precision) if shared else number
        groups.setdefault(key, []).append((number, stack))
    return list(groups.values())


def _train_in_turns(
    opened: Mapping[Training, ExitStack], interruption: Interruption
) -> list[StackResult]:
    """Train to the end, or until a signal stops all at the same unit; return every result.

    Those that are furthest behind go first. Once all stand at the same unit, they share samples,
    which changes no number. Each one's files are closed when it has ended.
    """
    left = {training: training.steps() for training in opened}
    results: dict[Training, StackResult] = {}
    began, runs = time.process_time(), sum(training.runs for training in opened)

    def end(training: Training, result: StackResult) -> None:
        results[training] = result
        training.view.close()
        training.in_step.remove(training)
        del left[training]
        for run in training.stack:
            RunRecord.add_cost(tensorboard_root() / run.name, (time.process_time() - began) / runs)
        opened[training].close()

    hooks = next(iter(opened)).hooks
    while left:
        if hooks is not None and hooks.failure is not None:
            interruption.signal_number = signal.SIGINT
        if interruption.signal_number is not None:
            for training in list(left):
                left[training].close()
                training.stop()
                end(training, StackResult(False, training.at, interruption.signal_number))
            break
        least = min(training.at for training in left)
        turn = [training for training in left if training.at == least]
        if len(turn) == len(left) > len(turn[0].in_step):
            turn[0].share_samples(turn[1:])
        for training in turn:
            if next(left[training], "ended") == "ended":
                _report(training)
                end(training, StackResult(training.diverged, ends=training.ends))
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


def train_in_workers(
    train: TrainStacks, shares: Sequence[Share], screen: Console, interruption: Interruption
) -> list[StackResult]:
    """Train stacks, each share in a process; a signal makes all of them save and stop."""
    crew = [_start(train, share) for share in shares]
    working = {connection: (process, k) for k, (connection, process) in enumerate(crew)}
    done: dict[int, StackResult] = {}
    stopping = False
    try:
        while working:
            if interruption.signal_number is not None and not stopping:
                stopping = True
                for process, _ in working.values():
                    process.terminate()
            ready = wait(list(working), POLL_SECONDS)
            for connection in [one for one in working if one in ready]:
                try:
                    kind, *arguments = connection.recv()
                except EOFError:
                    process, k = working.pop(connection)
                    process.join()
                    if process.exitcode:
                        lost = _incomplete(dict(shares[k]).keys() - done.keys())
                        early = f"a worker process ended early, exit code {process.exitcode}"
                        screen.line(f"{early}; {lost}")
                    continue
                if kind == "result":
                    stack, done[stack] = arguments
                elif kind == "error":
                    raise UsageError(arguments[0])
                else:
                    screen.obey(kind, *arguments)
    finally:
        # All save and stop, and nobody listens to what they still have to say.
        for connection, process in crew:
            connection.close()
            process.terminate()
        for _, process in crew:
            process.join()
    if lost := {k for share in shares for k, _ in share} - done.keys():
        raise UsageError(f"a worker process ended early; {_incomplete(lost)}")
    return [result for _, result in sorted(done.items())]


def _incomplete(stacks: set[int]) -> str:
    numbers = ", ".join(map(str, sorted(stacks)))
    remedy = "run the same command with --resume, or with fewer --workers"
    return f"stacks {numbers} are incomplete: {remedy}"


def _start(train: TrainStacks, share: Share) -> tuple[Connection, BaseProcess]:
    """Start a process, whose pipe is its own, so that none can block another by dying."""
    from stable_nalu.layer.own_layers import loaded_files

    context = multiprocessing.get_context("spawn")
    receiving, sending = context.Pipe(duplex=False)
    work = (train, share, sending, loaded_files())
    process = context.Process(target=_work, args=work, daemon=False)
    # The first process of this kind starts a helper, which would unblock the signals below.
    resource_tracker.ensure_running()
    # Inherited by the worker: signals wait until it can handle them.
    signal.pthread_sigmask(signal.SIG_BLOCK, script.STOP_SIGNALS)
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, script.STOP_SIGNALS)
    sending.close()
    return receiving, process


def _work(train: TrainStacks, share: Share, connection: Connection, files: Sequence[Any]) -> None:
    from stable_nalu.layer.own_layers import load_layers

    torch.set_num_threads(1)
    with Interruption(insists=False) as interruption:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, script.STOP_SIGNALS)

        def send(kind: str, *arguments: object) -> None:
            try:
                connection.send((kind, *arguments))
            except OSError:  # the process that started this one is gone
                interruption.signal_number = signal.SIGTERM

        try:
            load_layers(files)
            results = {} if interruption.signal_number else train(share, send, interruption)
        except UsageError as error:
            send("error", str(error))
            return
        for k, stack in share:
            stopped = StackResult(False, stack[0].start, interruption.signal_number)
            send("result", k, results.get(k, stopped))
