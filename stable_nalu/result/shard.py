"""Shards: parts of an experiment that one job trains, and what is left of each.

Without a batch system processes of this machine train them, as many at a time as there are cores.
"""

import json
import math
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from enum import Enum
from math import ceil
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from stable_nalu.base import files
from stable_nalu.base import script as console
from stable_nalu.base.errors import UsageError
from stable_nalu.options.flag import Config, seeds_text
from stable_nalu.paper.experiment import (
    EPOCH_FLAG,
    ITERATION_FLAG,
    Command,
    ExpectedRun,
    Flags,
    Model,
    Variant,
    covering,
    expected_runs,
    merged,
)
from stable_nalu.task.table import SCRIPTS, TASKS
from stable_nalu.training.shell import set_threads, train_plan
from stable_nalu.writer.event_file import LOCK_NAME

FEWEST_RUNS, MOST_RUNS = 50, 250
"""Bounds of the runs per shard, as far as seeds and points allow: more runs train faster together
and take longer."""
_WORK = 25_000_000
_FEWEST_CHECKPOINTS, _MOST_CHECKPOINTS = 5, 50
_FEWEST_UPDATES_SAVED = {True: 10_000, False: 1_000}
"""Updates between two checkpoints of a long run, by whether the script counts iterations: a stack
of arithmetic runs takes seconds for so many, and saving more often would cost more time."""
_DATA = {"--sample-distribution", "--interpolation-range", "--extrapolation-range"}
"""Flags that runs of one stack differ in, though a command has one distribution only."""
_RESUMED, _ANEW = "--resume", "--remove-existing-data"
"""How the runs of a command begin; every command of a plan has one of these flags."""
_LOG_INTERVAL = 1000
_LOG_POINTS = 20


@dataclass(frozen=True)
class Shard:
    """Some seeds of a model, over all its points, in one variant or in some that stack."""

    name: str
    model: Model
    variants: tuple[Variant, ...]
    seeds: tuple[int, ...]

    @property
    def runs(self) -> int:
        return len(self.seeds) * max(1, len(self.model.points)) * len(self.variants)

    def expected(self, extra: Flags | None = None) -> list[ExpectedRun]:
        return expected_runs(replace(self.model, variants=self.variants), self.seeds, extra)

    @property
    def samples(self) -> object:
        """Return what is equal for shards that train on the same inputs; None: none are shared."""
        model = self.model
        names = {f"--{dest.replace('_', '-')}" for dest in SCRIPTS[model.script].drawn_by}
        every = (*model.points, *(merged(model.flags, one.flags) for one in self.variants))
        drawn = [sorted((n, values) for n, values in of.items() if n in names) for of in every]
        lengths = [model.length(variant) for variant in self.variants]
        found = repr((model.script, self.seeds, len(model.points), drawn, lengths))
        return found if names and self.runs > 1 else None

    def states(self, max_iterations: int | None) -> "Counter[State]":
        extra = how_to_run(self.model, self.variants[0], max_iterations)
        return Counter(map(state_of, self.expected(extra)))


def shards(
    models: Mapping[str, Model], seeds: Sequence[int] | None, runs_per_shard: int | None = None
) -> list[Shard]:
    """Return all shards in a fixed order, so that a number always means the same shard.

    seeds: the published ones when None. A shard holds at least one seed of every point.
    """

    def size(model: Model, variant: Variant) -> int:
        usual = min(MOST_RUNS, max(FEWEST_RUNS, _WORK // model.length(variant)))
        return runs_per_shard or (1 if model.resources.gpu else usual)

    found: list[Shard] = []
    for name, model in models.items():
        chosen = model.seeds if seeds is None else seeds
        per_seed = max(1, len(model.points))
        # Variants that differ in their data only are trained together.
        data = _DATA | {f"--{dest.replace('_', '-')}" for dest in SCRIPTS[model.script].of_data}
        alike = all(variant.flags.keys() <= data for variant in model.variants)
        together = size(model, model.variants[0]) // max(1, per_seed * len(chosen)) if alike else 1
        for start in range(0, len(model.variants), max(1, together)):
            variants = model.variants[start : start + max(1, together)]
            kinds = "+".join(variant.name for variant in variants)
            step = max(1, size(model, variants[0]) // per_seed)
            for first in range(0, len(chosen), step):
                part = tuple(chosen[first : first + step])
                texts = filter(None, (name, kinds, f"seeds {seeds_text(part)}"))
                found.append(Shard(" ".join(texts), model, variants, part))
    return found


def how_to_run(
    model: Model, variant: Variant, max_iterations: int | None = None, workers: int = 1
) -> Flags:
    """Return flags that say how runs are carried out: their length, and where they can resume.

    max_iterations: updates, also of scripts that count epochs, which then train whole ones.
    workers: processes of an ensemble, which in a job would compete with other shards.
    """
    flags = {flag.name for flag in SCRIPTS[model.script].flags}
    updates = 1 if ITERATION_FLAG in flags else max(1, model.steps_per_epoch)
    length = model.length(variant) if max_iterations is None else max_iterations
    extra: dict[str, tuple[str, ...]] = {}
    if max_iterations is not None and ITERATION_FLAG in flags:
        extra[ITERATION_FLAG] = (str(max_iterations),)
        if "--log-interval" in flags and max_iterations < _LOG_POINTS * _LOG_INTERVAL:
            extra["--log-interval"] = (str(max(1, max_iterations // _LOG_POINTS)),)
    elif max_iterations is not None and EPOCH_FLAG in flags:
        epochs = max(1, ceil(max_iterations / updates))
        extra[EPOCH_FLAG] = (str(SCRIPTS[model.script].max_epochs(epochs)),)
    if "--checkpoint-interval" in flags:
        interval = between_saves(length, ITERATION_FLAG in flags)
        extra["--checkpoint-interval"] = (str(max(1, interval // updates)),)
    if "--workers" in flags:
        extra["--workers"] = (str(workers),)
    return extra


def between_saves(length: int, counts_iterations: bool) -> int:
    """Return the updates between two saved states of a run."""
    fewest = min(_FEWEST_UPDATES_SAVED[counts_iterations], length // _FEWEST_CHECKPOINTS)
    return max(fewest, length // _MOST_CHECKPOINTS)


MARKER = ".finished.json"
AnyRun: TypeAlias = "ExpectedRun | PlannedRun"


class PlannedRun(NamedTuple):
    """A run of no experiment."""

    name: str
    config: Config


class State(Enum):
    """What has become of one run; a failed one is begun, not finished, and no process trains it."""

    DONE = "done"
    RUNNING = "running"
    FAILED = "failed"
    MISSING = "missing"


def pending(shard: Shard, max_iterations: int | None = None) -> list[tuple[Command, list[str]]]:
    """Return commands for runs that are neither done nor running, with the names of the runs."""
    plan = _plan(shard, max_iterations)
    return [(command, [run.name for run in runs]) for command, runs in plan if runs]


def show_training(left: Iterable[Shard], max_iterations: int | None) -> None:
    for shard in left:
        for command, _ in pending(shard, max_iterations):
            console.say(console.command_of(*command.line))


def refuse_running(every: Iterable[Shard], max_iterations: int | None = None) -> None:
    """Refuse to look at runs that a process still trains, such as one left by a killed command."""
    if running := sum(shard.states(max_iterations)[State.RUNNING] for shard in every):
        problem = f"another process trains {running} of these runs"
        raise UsageError(f"{problem}; repeat the command when it is done")


def train_shards(
    every: Sequence[Shard], max_iterations: int | None = None, workers: int = 1
) -> int:
    """Train the remaining runs of shards of one script together.

    Return the exit code of the first command that fails, else 0. The commands run in this process,
    so signals reach them: first all that resume runs together, then all that start runs.
    """
    script = every[0].model.script
    plans = [_plan(shard, max_iterations, workers) for shard in every]
    for how in (_RESUMED, _ANEW):
        parts = [[pair for pair in plan if how in pair[0].words] for plan in plans]
        if lines := [[command.words for command, _ in part] for part in parts if part]:
            code = train_commands(script, *lines)
            if code not in (0, console.EXIT_DIVERGED):
                return code
            mark_finished([run for part in parts for _, runs in part for run in runs])
    return 0


def train_commands(script: str, *commands: Sequence[Sequence[str]]) -> int:
    """Train the runs of command lines. The lines of one sequence share stacks."""
    spec, task = SCRIPTS[script], TASKS[script]
    plans = [[c for words in lines for c in spec.parse(words).configs] for lines in commands]
    set_threads(task)
    return console.exit_code(f"{script}.py", lambda: train_plan(task, spec, *plans))


def state_of(run: AnyRun) -> State:
    folder = files.tensorboard_root() / run.name
    events = _event_files(folder)
    if not events:
        return State.MISSING
    if files.is_locked(folder / LOCK_NAME):
        return State.RUNNING
    try:
        mark = files.json_of(folder / MARKER)
        # A run that began again has another event file.
        done = mark["event_files"] == events and mark["iterations"] >= _length(run)
    except (OSError, ValueError, KeyError, TypeError):  # saved at its end, if it is finished
        saved = _saved_state(run)
        done = saved is not None and [saved[0]] == events and saved[1] > _length(run)
    return State.DONE if done else State.FAILED


def mark_finished(runs: Sequence[AnyRun]) -> None:
    """Record that these runs have come to their end, even if they diverged."""
    for run in runs:
        folder = files.tensorboard_root() / run.name
        events = _event_files(folder)
        with files.atomic_text_file(folder / MARKER) as file:
            json.dump({"event_files": events, "iterations": _length(run)}, file)


def _plan(
    shard: Shard, max_iterations: int | None, workers: int = 1
) -> list[tuple[Command, list[ExpectedRun]]]:
    """Return commands that train the remaining runs of a shard, each with its unfinished runs.

    Finished runs are planned, too, if their checkpoints let the script skip them: it cuts a plan
    into stacks whatever is finished, and a resumed run needs the stack that it began in.
    """
    extra = how_to_run(shard.model, shard.variants[0], max_iterations, workers)
    every = shard.expected(extra)
    states = {run.name: state_of(run) for run in every}
    left = {name for name, state in states.items() if state in (State.MISSING, State.FAILED)}
    resumed: set[str] = set()
    if _RESUMED in {flag.name for flag in SCRIPTS[shard.model.script].flags}:
        unfinished = (run for run in every if run.name in left)
        resumed = {run.name for run in unfinished if _owns_checkpoint(run) is not False}
    anew = left - resumed
    if resumed:
        done = (run for run in every if states[run.name] is State.DONE)
        resumed |= {run.name for run in done if _owns_checkpoint(run)}
    return [
        (command, [run for run in runs if run.name in left])
        for chosen, how in ((resumed, _RESUMED), (anew, _ANEW))
        for command, runs in covering([r for r in every if r.name in chosen], {**extra, how: ()})
    ]


def _event_files(folder: Path) -> list[str]:
    return [entry.name for entry in files.visible_entries(folder)] if folder.is_dir() else []


def _saved_state(run: AnyRun) -> tuple[str, int] | None:
    """Return the event file that a run's checkpoint belongs to, and the iteration it goes on at."""
    path = files.model_file(files.save_root(), run.name)
    if not path.exists():
        return None
    from stable_nalu.training.checkpoint import load_torch

    try:
        checkpoint = load_torch(path)
        file, epoch = checkpoint["progress"]["event_file"], checkpoint["epoch"]
    except (UsageError, KeyError, TypeError, IndexError):
        return None
    return (file, epoch) if isinstance(file, str) and isinstance(epoch, int) else None


def _owns_checkpoint(run: ExpectedRun) -> bool | None:
    """Return whether a run's checkpoint belongs to the events in its folder; None without one."""
    saved, folder = _saved_state(run), files.tensorboard_root() / run.name
    return None if saved is None else _event_files(folder) == [saved[0]]


def _length(run: AnyRun) -> int:
    """Return the last iteration, or epoch, of a run."""
    return int(getattr(run.config, "max_iterations", getattr(run.config, "max_epochs", 0)))


_PAUSE, _SECONDS_BETWEEN_MOVES = 0.05, 0.3


def run_shards(
    words: list[str], left: Mapping[int, Shard], logs: Path, *, processes: int, gpu: Any = None
) -> int:
    """Run `batch.py WORDS --task N` for every N of `left`; return 0 when all succeed.

    One process trains those that draw the same samples side by side, under the number of the first,
    but no more than its share.
    """
    groups: dict[object, list[int]] = {}
    for number, shard in left.items():
        key = shard.samples
        groups.setdefault(("alone", number) if key is None else key, []).append(number)
    most = max(1, ceil(len(left) / processes))
    parts = [of[i : i + most] for of in groups.values() for i in range(0, len(of), most)]
    modules: dict[int, list[str]] = {}
    names: dict[int, str] = {}
    runs: dict[int, int] = {}
    for group in parts:
        tasks = [word for task in group for word in ("--task", str(task))]
        modules[group[0]] = ["stable_nalu", "batch", *words, *tasks]
        names[group[0]] = "; ".join(left[task].name for task in group)
        runs[group[0]] = sum(left[task].runs for task in group)
    specs = (SCRIPTS[shard.model.script] for shard in left.values())
    unit = "iterations" if all("max_iterations" in one.defaults for one in specs) else "epochs"
    return run_modules(modules, names, logs, processes=processes, gpu=gpu, runs=runs, unit=unit)


def run_modules(
    modules: Mapping[int, Sequence[str]],
    names: Mapping[int, str],
    logs: Path,
    *,
    processes: int,
    gpu: str | None = None,
    runs: Mapping[int, int] | None = None,
    unit: str = "",
) -> int:
    """Run a module with its words for every number, each as a process; return 0 if all succeed.

    Output goes to `<logs>/task-<N>.out` and `.err`. A signal is passed on to all processes; the
    same command goes on where they saved their states. runs: how many each trains; a terminal then
    shows one bar, of iterations or another unit, and a line only for what fails.
    """
    try:
        logs.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot write the log folder {logs}: {error.strerror}") from None
    waiting, started = list(names), time.monotonic()
    running: dict[int, subprocess.Popen[Any]] = {}
    codes: dict[int, int] = {}
    watched = _Watched(runs or {}, unit, logs)
    # A second signal does not end the wait for processes that save their states.
    with console.Interruption(insists=False) as interruption, closing(watched):
        while waiting or running:
            if (number := interruption.signal_number) is not None:
                watched.close()
                for process in running.values():
                    process.terminate()
                for process in running.values():
                    process.wait()
                stopped = console.plural(len(running), "shard")
                console.say(f"stopped {stopped}; the same command goes on")
                interrupted = number == signal.SIGINT
                return console.EXIT_INTERRUPTED if interrupted else console.EXIT_REQUEUE
            while waiting and len(running) < processes:
                task = waiting.pop(0)
                running[task] = _start(modules[task], task, logs, gpu)
            for task in [t for t, process in running.items() if process.poll() is not None]:
                codes[task] = code = running.pop(task).returncode
                left = (time.monotonic() - started) / len(codes) * (len(names) - len(codes))
                rest = f", about {console.duration(left)} left" if left else ""
                outcome = "done"
                if code:
                    path = logs / f"task-{task}.err"
                    said = path.read_text(encoding="utf-8", errors="replace").strip().splitlines()
                    outcome = ": ".join([f"exit code {code}, see {path}", *said[-1:]])
                if code or not watched.is_shown:
                    watched.line(f"[{len(codes)}/{len(names)}] {names[task]}: {outcome}{rest}")
            watched.move(codes)
            time.sleep(_PAUSE)
    return 1 if any(codes.values()) else 0


class _Watched:
    """One bar over all processes, which each write how far they are."""

    def __init__(self, runs: Mapping[int, int], unit: str, logs: Path):
        self._runs = runs
        self._files = {task: progress_of(task, logs) for task in runs}
        for file in self._files.values():
            file.unlink(missing_ok=True)
        self._seen: dict[int, console.Progress] = {}
        self._bar = console.bar(unit=unit)
        self._moved = -math.inf
        self.is_shown = bool(runs) and console.is_terminal() and not self._bar.disable

    def line(self, text: str) -> None:
        with self._bar.external_write_mode():
            console.say(text)

    def move(self, ended: Collection[int]) -> None:
        """Show how far all are; what has ended has nothing left."""
        if self._bar.disable or time.monotonic() - self._moved < _SECONDS_BETWEEN_MOVES:
            return
        self._moved = time.monotonic()
        for task, file in self._files.items():
            if (progress := console.Progress.read(file)) is not None:
                self._seen[task] = progress
        done = sum(progress.done for progress in self._seen.values())
        left = sum(self._seen[task].left for task in self._seen.keys() - ended)
        begun = sum(self._runs[task] for task in self._seen)
        every = sum(self._runs.values())
        if begun and self._bar.total is None:
            self._bar.unpause()  # no time is counted until a process trains
        if begun:  # of those that have not, runs are taken to be as long
            self._bar.total = round((done + left) * every / begun)
        self._bar.n = round(done)
        if solved := sum(progress.solved for progress in self._seen.values()):
            self._bar.set_postfix_str(f"solved {solved}/{every}", refresh=False)
        self._bar.refresh()

    def close(self) -> None:
        self._bar.close()
        for file in self._files.values():
            file.unlink(missing_ok=True)


def progress_of(task: int, logs: Path) -> Path:
    return logs / f"task-{task}.progress"


def _start(words: Sequence[str], task: int, logs: Path, gpu: str | None) -> subprocess.Popen[Any]:
    environment = {"OMP_NUM_THREADS": "1", **os.environ}
    paths = [str(files.CHECKOUT), os.environ.get("PYTHONPATH")]
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    environment[console.PROGRESS] = str(progress_of(task, logs).absolute())
    if gpu is not None:
        environment["CUDA_VISIBLE_DEVICES"] = gpu
    command = [sys.executable, "-u", "-m", *words]
    out, err = (logs / f"task-{task}.{end}" for end in ("out", "err"))
    with out.open("ab") as said, err.open("ab") as warned:
        return subprocess.Popen(command, stdout=said, stderr=warned, env=environment)
