"""How a plan of many runs is cut into stacks that train together."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from stable_nalu.errors import UsageError
from stable_nalu.machine import cores, save_root
from stable_nalu.options import Config, ScriptSpec
from stable_nalu.writer import ResumePoint

from ..command import run_control
from ..saved.checkpoint import load_torch, model_file, pending_file

STACKED_INPUTS = 4096
"""Runs in one stack, times their inputs: past that, more runs in a stack gain no speed."""

RUNS_OF_AN_ITERATION = 250
"""A stack's iteration costs as much as these runs more, before it is compiled, in calls."""

WORK_OF_A_PROCESS = 1_000_000
"""Iterations, summed over runs, below which another process costs more than it saves."""


@dataclass(frozen=True)
class PlannedRun:
    """A run, its name, its first iteration and the saved state that it continues from, if any.

    stack_runs: runs of the stack that the plan puts it in, finished ones too.
    """

    config: Config
    name: str
    start: int = 0
    source: Path | None = None
    stack_runs: int = 1

    @property
    def stack_work(self) -> int:
        """Cost of its stack, in iterations of a run, done or not: the same whenever it resumes."""
        return (self.stack_runs + RUNS_OF_AN_ITERATION) * (self.config.max_iterations + 1)


def worker_count(runs: Sequence[PlannedRun]) -> int:
    """Processes to use: `--workers`, else one a core as long as there is work for it.

    Counts the work of the whole plan, done or not, so that a resumed plan is cut alike.
    """
    first = runs[0].config
    if first.workers is not None:
        return min(first.workers, len(runs))
    work = sum(run.config.max_iterations + 1 for run in runs)
    return max(1, min(cores(), len(runs), work // WORK_OF_A_PROCESS))


def shards(spec: ScriptSpec, runs: Sequence[PlannedRun], workers: int) -> list[list[PlannedRun]]:
    """Stacks of runs that differ only in what may differ within a stack.

    Runs of a stack share their layers' options. A stack is no larger than `--ensemble-size`, and
    there are enough stacks for all workers.
    """
    groups: dict[str, list[PlannedRun]] = {}
    for run in runs:
        key = repr(sorted(spec.layer_options(run.config).items()))
        groups.setdefault(key, []).append(run)
    return [
        part for group in groups.values() for part in _parts(group, _largest(group, runs, workers))
    ]


def _largest(group: Sequence[PlannedRun], runs: Sequence[PlannedRun], workers: int) -> int:
    first = group[0].config
    if first.ensemble_size is not None:
        return first.ensemble_size
    fitting = max(1, STACKED_INPUTS // first.inputs)
    return min(fitting, math.ceil(len(runs) / workers))


def _parts(group: Sequence[PlannedRun], largest: int) -> list[list[PlannedRun]]:
    count = math.ceil(len(group) / largest)
    bounds = [round(k * len(group) / count) for k in range(count + 1)]
    return [
        [replace(run, stack_runs=b - a) for run in group[a:b]]
        for a, b in zip(bounds, bounds[1:], strict=False)
    ]


REQUIRED = {
    "epoch": int,
    "model_state_dict": dict,
    "optimizer_state_dict": dict,
    "config": dict,
    "progress": dict,
}
LOGGED = {"diverged_at": (int, type(None)), "event_file": str, "event_position": int}
ITERATED = {"interpolation": float, "extrapolation": float, **LOGGED}
"""What is kept of the progress of a run that counts iterations."""


@dataclass(frozen=True)
class SavedState:
    """A file that a run may continue from; `iteration` is the first one left to train."""

    path: Path
    iteration: int
    resume_point: ResumePoint | None
    diverged: bool


States = Mapping[int, SavedState]


def read_checkpoint(path: Path, progress: Mapping[str, Any]) -> dict:
    """The content of a checkpoint that training can continue from; `progress` is what it needs."""
    checkpoint = load_torch(path)
    missing = _missing(checkpoint, REQUIRED)
    if not missing:
        missing = _missing(checkpoint["progress"], progress)
    if missing or checkpoint["epoch"] < 0:
        raise UsageError(
            f"argument --load-checkpoint: {path} lacks {', '.join(missing or ['epoch'])}; "
            "it is not a checkpoint of this script"
        )
    return checkpoint


def _missing(content: Any, required: Mapping[str, Any]) -> list[str]:
    held = content if isinstance(content, dict) else {}
    return [name for name, kind in required.items() if not isinstance(held.get(name, ...), kind)]


def resume_point(checkpoint: dict) -> ResumePoint | None:
    """Where the log of a run stood when it was saved."""
    progress = checkpoint["progress"]
    if "event_file" not in progress:
        return None
    return ResumePoint(progress["event_file"], progress["event_position"])


def saved_states(
    spec: ScriptSpec, run: PlannedRun, progress: Mapping[str, Any] = ITERATED
) -> States:
    """What a run may continue from, by iteration: nothing, unless it is asked for.

    Besides the checkpoint there is a newer state when the process died while it saved a stack.
    """
    if not (run.config.load_checkpoint or run.config.resume):
        return {}
    path = model_file(save_root(), run.name)
    files = [file for file in (path, pending_file(path)) if file.exists()]
    if run.config.load_checkpoint and not files:
        files = [path]
    states = {}
    for file in files:
        checkpoint = read_checkpoint(file, progress)
        _check_same_run(spec, run, checkpoint)
        states[checkpoint["epoch"]] = SavedState(
            file,
            checkpoint["epoch"],
            resume_point(checkpoint),
            checkpoint["progress"].get("diverged_at") is not None,
        )
    return states


def _check_same_run(spec: ScriptSpec, run: PlannedRun, checkpoint: dict) -> None:
    """Names do not hold every flag: refuse the checkpoint of a configuration that differs."""
    saved, controls = checkpoint.get("config", {}), run_control(spec)
    different = [
        f"--{dest.replace('_', '-')} {saved[dest]} there, {value} here"
        for dest, value in spec.unnamed(run.config).items()
        if dest in saved and dest not in controls and str(saved[dest]) != str(value)
    ]
    if different:
        raise UsageError(
            f"argument --load-checkpoint: the checkpoint of {run.name} is of another "
            f"configuration: {'; '.join(different)}"
        )


def continued(stack: Sequence[PlannedRun], states: Mapping[str, States]) -> list[list[PlannedRun]]:
    """The runs of a stack at the latest iteration that all were saved at.

    A stack that a process left behind has one. Runs that never trained together may not; they are
    split by what each has, so that runs of a stack start alike.
    """
    common = set.intersection(*({0, *states[run.name]} for run in stack)) - {0}
    groups: dict[int, list[PlannedRun]] = {}
    for run in stack:
        own = states[run.name]
        start = max(common) if common else _committed(own)
        source = own[start].path if start in own else None
        groups.setdefault(start, []).append(replace(run, start=start, source=source))
    return list(groups.values())


def _committed(states: States) -> int:
    """The iteration of the checkpoint itself, or 0; states are listed checkpoint first."""
    first = next(iter(states.values()), None)
    return first.iteration if first is not None and not _is_pending(first.path) else 0


def _is_pending(path: Path) -> bool:
    return path.name.startswith(".")


def settle(run: PlannedRun) -> None:
    """Make the state that a run continues from its checkpoint, and drop one that is not used."""
    path = model_file(save_root(), run.name)
    pending = pending_file(path)
    if run.source == pending:
        pending.replace(path)
    elif pending.exists():
        pending.unlink()
