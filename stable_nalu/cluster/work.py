"""What is left of a shard, told from the folders of its runs, and the training of just that."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from enum import Enum
from pathlib import Path

from stable_nalu.errors import UsageError
from stable_nalu.files import atomic_text_file, is_locked, json_of, visible_entries
from stable_nalu.machine import save_root, tensorboard_root
from stable_nalu.paper.experiment import Command, ExpectedRun, covering, merged
from stable_nalu.script import EXIT_DIVERGED
from stable_nalu.task import SCRIPTS
from stable_nalu.task.run import run_script
from stable_nalu.training.checkpoint import load_torch, model_file
from stable_nalu.writer.run_folder import LOCK_NAME

from .shard import Shard

MARKER = ".finished.json"


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


def refuse_running(every: Iterable[Shard], max_iterations: int | None = None) -> None:
    """Refuse to look at runs that a process still trains, such as one left by a killed command."""
    root, running = tensorboard_root(), 0
    for shard in every:
        extra = shard.how_to_run(max_iterations)
        running += count(shard.expected(extra), root)[State.RUNNING]
    if running:
        raise UsageError(
            f"another process trains {running} of these runs; repeat the command when it is done"
        )


def train_shards(
    every: Sequence[Shard], max_iterations: int | None = None, workers: int = 1
) -> int:
    """Train what is left of shards of one script, side by side.

    Return the exit code of the first command that fails, else 0. The commands run in this process,
    which signals then reach; those that go on with runs together, and those that begin runs anew.
    """
    plans = [_plan(shard, max_iterations, workers) for shard in every]
    for anew in (False, True):
        parts = [
            [pair for pair in plan if ("--remove-existing-data" in pair[0].words) == anew]
            for plan in plans
        ]
        found = [part for part in parts if part]
        if not found:
            continue
        first, *others = ([command.words for command, _ in part] for part in found)
        code = run_script(every[0].model.script, *first, beside=others)
        if code not in (0, EXIT_DIVERGED):
            return code
        finished = [run for part in found for _, runs in part for run in runs]
        mark_finished(finished, tensorboard_root())
    return 0


def state_of(run: ExpectedRun, root: Path) -> State:
    """Return the state of a run below the log root."""
    folder = root / run.name
    files = _event_files(folder)
    if not files:
        return State.MISSING
    if is_locked(folder / LOCK_NAME):
        return State.RUNNING
    return State.DONE if _finished(folder, files, run) else State.FAILED


def count(runs: Iterable[ExpectedRun], root: Path) -> Counter[State]:
    """Return how many runs are in each state."""
    return Counter(state_of(run, root) for run in runs)


def mark_finished(runs: Sequence[ExpectedRun], root: Path) -> None:
    """Record that these runs have come to their end, even if they diverged."""
    for run in runs:
        folder = root / run.name
        files = [entry.name for entry in visible_entries(folder)]
        with atomic_text_file(folder / MARKER) as file:
            json.dump({"event_files": files, "iterations": _length(run)}, file)


def _plan(
    shard: Shard, max_iterations: int | None, workers: int = 1
) -> list[tuple[Command, list[ExpectedRun]]]:
    """Return commands that train what is left of a shard, each with those of its runs.

    Finished runs are planned, too, where their checkpoints tell the script so: it cuts a plan into
    stacks whatever is finished, and a run that goes on needs the stack that it began in.
    """
    root = tensorboard_root()
    extra = shard.how_to_run(max_iterations, workers)
    every = shard.expected(extra)
    states = {run.name: state_of(run, root) for run in every}
    left = {name for name, state in states.items() if state in (State.MISSING, State.FAILED)}
    anew = left
    if "--resume" in {flag.name for flag in SCRIPTS[shard.model.script].flags}:
        unfinished = (run for run in every if run.name in left)
        anew = {run.name for run in unfinished if _owns_checkpoint(run, root) is False}
    resumed = left - anew
    if resumed:
        done = (run for run in every if states[run.name] is State.DONE)
        resumed |= {run.name for run in done if _owns_checkpoint(run, root)}
    plans = (resumed, {"--resume": ()}), (anew, {"--remove-existing-data": ()})
    return [
        (command, [run for run in runs if run.name in left])
        for chosen, how in plans
        for command, runs in covering([r for r in every if r.name in chosen], merged(extra, how))
    ]


def _event_files(folder: Path) -> list[str]:
    return [entry.name for entry in visible_entries(folder)] if folder.is_dir() else []


def _saved_state(run: ExpectedRun) -> tuple[str, int] | None:
    """Return the event file that a run's checkpoint belongs to, and the iteration it goes on at."""
    path = model_file(save_root(), run.name)
    if not path.exists():
        return None
    try:
        checkpoint = load_torch(path)
        file, epoch = checkpoint["progress"]["event_file"], checkpoint["epoch"]
    except (UsageError, KeyError, TypeError, IndexError):
        return None
    return (file, epoch) if isinstance(file, str) and isinstance(epoch, int) else None


def _owns_checkpoint(run: ExpectedRun, root: Path) -> bool | None:
    """Return whether a run's checkpoint belongs to the events in its folder; None without one."""
    saved = _saved_state(run)
    return None if saved is None else _event_files(root / run.name) == [saved[0]]


def _length(run: ExpectedRun) -> int:
    """Return the last iteration, or epoch, of a run."""
    counted = [n for n in ("max_iterations", "max_epochs") if hasattr(run.config, n)]
    return int(getattr(run.config, counted[0])) if counted else 0


def _finished(folder: Path, files: list[str], run: ExpectedRun) -> bool:
    """Return whether a run is marked as finished, or saved at its end.

    A mark counts for the event file that it was made for: a run started anew has another.
    """
    try:
        mark = json_of(folder / MARKER)
        return mark["event_files"] == files and mark["iterations"] >= _length(run)
    except (OSError, ValueError, KeyError, TypeError):
        saved = _saved_state(run)
        return saved is not None and [saved[0]] == files and saved[1] > _length(run)
