"""Planned runs: what trains them, in which stacks, and from which saved state."""

import math
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from stable_nalu.base.errors import UsageError
from stable_nalu.base.files import save_root, tensorboard_root
from stable_nalu.base.script import cores
from stable_nalu.options import ScriptSpec
from stable_nalu.writer import refuse_in_use
from stable_nalu.writer.event_file import RESULT_TEST

from .checkpoint import (
    LANES,
    PROGRESS,
    REQUIRED,
    TORCH,
    PlannedRun,
    SavedState,
    Stack,
    asked_by,
    is_there,
    load_torch,
    model_file,
    pending_file,
    plain,
    sweep,
)
from .surroundings import default_dtype, errors_in_one_line, has_gpu
from .task import EngineTask, Task

LENGTH_AND_LOGGING = {
    *("max_iterations", "max_epochs", "log_interval", "verbose"),
    *("save_best_model", "id", "name_prefix"),
}
"""Flags that change how long or how densely a run is recorded, not what it computes."""

STACKED_INPUTS = 16_384
"""Runs in one stack, times their inputs: past that, more runs in a stack gain no speed."""

WORK_OF_A_PROCESS = 1_000_000
"""Iterations, summed over runs, below which another process costs more than it saves."""

ENGINE = "STABLE_NALU_ENGINE"
"""The environment variable by which all arithmetic runs of a command train in torch."""


States = Mapping[int, SavedState]


def worker_count(task: type[Task], runs: Sequence[PlannedRun]) -> int:
    """Return how many processes to use: `--workers`, else one per core while there is work for it.

    A script without the flag uses one, and so do runs that a GPU trains. The work of the whole plan
    counts, done or not, so that a resumed plan is cut alike.
    """
    wanted = getattr(runs[0].config, "workers", 1)
    if wanted is not None:
        return min(wanted, len(runs))
    if _on_gpu(task, runs):
        return 1
    work = task.kind.cost * sum(task.kind.unit.last(run.config) + 1 for run in runs)
    return max(1, min(cores(), len(runs), work // WORK_OF_A_PROCESS))


def _on_gpu(task: type[Task], runs: Sequence[PlannedRun]) -> bool:
    """Return whether a GPU trains runs: there is one, they are many, and it can."""
    if not issubclass(task, EngineTask) or task.in_python or not has_gpu(runs[0].config):
        return False
    from torchlanes import gpu

    in_lanes = [run for run in runs if run.in_lanes]
    programs = [one for run in in_lanes for one in _programs(task, run)]
    return len(in_lanes) >= gpu.FEW and gpu.not_for_gpu(programs) is None


def stacks_of(runs: Sequence[PlannedRun], workers: int) -> list[Stack]:
    """Cut a plan into stacks of runs that differ only in what may differ within a stack.

    Runs of a stack share their layers' options. A stack is no larger than `--ensemble-size`, and
    there are enough stacks for all workers. What torch trains is trained alone.
    """
    alone = [[run] for run in runs if not run.in_lanes]
    stacked = [run for run in runs if run.in_lanes]
    if not stacked:
        return alone
    groups: dict[str, Stack] = {}
    for run in stacked:
        groups.setdefault(repr(sorted(run.layer_options.items())), []).append(run)
    first = stacked[0].config
    # A GPU has room for all of them, and is only busy with many.
    fitting = len(stacked) if has_gpu(first) else max(1, STACKED_INPUTS // first.inputs)
    largest = first.ensemble_size or min(fitting, math.ceil(len(stacked) / workers))
    return [*(part for group in groups.values() for part in _parts(group, largest)), *alone]


def _parts(group: Stack, largest: int) -> list[Stack]:
    """Cut runs into equal parts, those of a seed together, as they share their samples."""
    count = math.ceil(len(group) / largest)
    bounds = [round(k * len(group) / count) for k in range(count + 1)]
    order = sorted(range(len(group)), key=lambda k: getattr(group[k].config, "seed", 0))
    parts = [sorted(order[a:b]) for a, b in zip(bounds, bounds[1:], strict=False)]
    return [[group[k] for k in part] for part in parts]


def run_control(spec: ScriptSpec) -> set[str]:
    """Return the flags in which two recordings of the same run may differ."""
    return {flag.dest for flag in spec.flags if not flag.result} | LENGTH_AND_LOGGING


def read_checkpoint(run: PlannedRun, path: Path) -> tuple[dict, SavedState]:
    flag = asked_by(run.config)
    checkpoint = load_torch(path, flag)
    missing = _missing(checkpoint, REQUIRED) or _missing(checkpoint["progress"], PROGRESS)
    if missing or checkpoint["epoch"] < 0:
        raise UsageError(
            f"argument {flag}: {path} lacks {', '.join(missing or ['epoch'])}; "
            "it is not a checkpoint of this script"
        )
    at, progress = checkpoint["epoch"], checkpoint["progress"]
    diverged, error = progress["diverged_at"] is not None, progress["errors"].get(RESULT_TEST)
    log = progress["event_file"], progress["event_position"], flag
    return checkpoint, SavedState(*log, path, at, diverged, error)


def _missing(content: Any, required: Mapping[str, Any]) -> list[str]:
    held = content if isinstance(content, dict) else {}
    return [name for name, kind in required.items() if not isinstance(held.get(name, ...), kind)]


def saved_states(spec: ScriptSpec, run: PlannedRun) -> States:
    """Return what a run may continue from, by iteration: nothing, unless it is asked for.

    Besides the checkpoint there is a newer state when the process died while it saved a stack.
    """
    if not (run.config.load_checkpoint or run.config.resume):
        return {}
    refuse_in_use(tensorboard_root() / run.name)
    path = model_file(save_root(), run.name)
    files = [file for file in (path, pending_file(path)) if is_there(file)]
    if run.config.load_checkpoint and not files:
        files = [path]
    states = {}
    for file in files:
        checkpoint, state = read_checkpoint(run, file)
        _check_same_run(spec, run, checkpoint)
        states[state.iteration] = state
    return states


def _check_same_run(spec: ScriptSpec, run: PlannedRun, checkpoint: dict) -> None:
    """Refuse the checkpoint of another configuration.

    Files can be exchanged, and names do not hold every flag. Runs of one configuration differ
    in their event files.
    """
    flag, saved = asked_by(run.config), checkpoint["config"]
    own, controls = plain(run.config.as_dict()), run_control(spec)
    if checkpoint["progress"].get("reads_progress"):
        controls -= {"max_iterations", "max_epochs"}
    different = [
        f"--{dest.replace('_', '-')} {saved[dest]} there, {value} here"
        for dest, value in own.items()
        if dest in saved and dest not in controls and str(saved[dest]) != str(value)
    ]
    if different:
        raise UsageError(
            f"argument {flag}: the checkpoint of {run.name} is of another "
            f"configuration: {'; '.join(different)}"
        )


def continued(stack: Stack, states: Mapping[str, States]) -> list[Stack]:
    """Return the runs of a stack at the latest iteration that all were saved at.

    A stack that a process left behind has one. Runs that never trained together may not; they are
    split by what each has, so that runs of a stack start alike.
    """
    common = set.intersection(*({0, *states[run.name]} for run in stack)) - {0}
    groups: dict[int, Stack] = {}
    for run in stack:
        own = states[run.name]
        # The checkpoint itself is the first, if there is one besides what was pending.
        committed = [at for at, state in own.items() if not state.path.name.startswith(".")]
        start = max(common) if common else next(iter(committed), 0)
        groups.setdefault(start, []).append(replace(run, state=own.get(start)))
    return list(groups.values())


def settle(stack: Stack) -> None:
    """Make the states that runs continue from their checkpoints, and drop what is not used.

    That is a newer state, or what a process was writing when it was killed.
    """
    for run in stack:
        path = model_file(save_root(), run.name)
        pending = pending_file(path)
        if run.state is not None and run.state.path == pending:
            pending.replace(path)
        elif pending.exists():
            pending.unlink()
    sweep(run.name for run in stack)


def with_engine(task: type[Task], run: PlannedRun) -> PlannedRun:
    """Return a run that knows what trains it, which its configuration alone decides."""
    config = run.config
    if not issubclass(task, EngineTask):
        return run
    if config.engine == TORCH or config.no_compile:
        return replace(run, engine=f"{TORCH}: --engine torch")
    if os.environ.get(ENGINE) == TORCH:
        return replace(run, engine=f"{TORCH}: {ENGINE}=torch")
    try:
        with errors_in_one_line():
            reason = _reason_for_torch(task, run)
    except ValueError as error:  # of a unit that refuses an option
        raise UsageError(str(error)) from None
    return replace(run, engine=LANES if reason is None else f"{TORCH}: {reason}")


def _reason_for_torch(task: type[EngineTask], run: PlannedRun) -> str | None:
    from torchlanes.tiles import not_compiled
    from torchlanes.values import NotLoweredError

    try:
        programs = _programs(task, run)
    except NotLoweredError as error:
        return str(error)
    return next(filter(None, map(not_compiled, programs)), None)


def _programs(task: type[EngineTask], run: PlannedRun) -> list[Any]:
    from .engine_stack import programs_for

    with default_dtype(run.config):
        return list(programs_for(task, run.config, run.layer_options).values())


def show_engine(task: type[Task], runs: Sequence[PlannedRun]) -> int:
    """Print the C++ of all runs, each text once."""
    assert issubclass(task, EngineTask), "no other task has the flag"
    texts = (program.text for run in runs if run.in_lanes for program in _programs(task, run))
    sys.stdout.write("\n".join(dict.fromkeys(texts)))
    return 0


def explain_torch(task: type[Task], runs: Sequence[PlannedRun]) -> None:
    """Say once why runs are trained by torch, one after another, unless that was asked for."""
    asked = f"{TORCH}: --engine torch", f"{TORCH}: {ENGINE}=torch"
    reasons = {run.engine for run in runs if not run.in_lanes} - set(asked)
    for reason in sorted(reasons if issubclass(task, EngineTask) else ()):
        sys.stderr.write(f"trained one run at a time by plain {reason}\n")
