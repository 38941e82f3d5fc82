"""What trains each run of an arithmetic script: the engine, or plain torch and why."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import replace

from ..task import Task
from .groups import default_dtype, errors_in_one_line, precision
from .runs import LANES, TORCH, PlannedRun, device_of

ENGINE = "STABLE_NALU_ENGINE"
"""The environment variable by which all arithmetic runs of a command train in torch."""


def with_engine(task: type[Task], run: PlannedRun) -> PlannedRun:
    """Return a run that knows what trains it, which its configuration alone decides."""
    config = run.config
    if not task.by_engine:
        return run
    if config.engine == TORCH or config.no_compile:
        return replace(run, engine=f"{TORCH}: --engine torch")
    if os.environ.get(ENGINE) == TORCH:
        return replace(run, engine=f"{TORCH}: {ENGINE}=torch")
    if device_of(config).type != "cpu":
        return replace(run, engine=f"{TORCH}: a GPU")
    with errors_in_one_line(), default_dtype(precision(config)):
        reason = _reason_for_torch(task, run)
    return replace(run, engine=LANES if reason is None else f"{TORCH}: {reason}")


def _reason_for_torch(task: type[Task], run: PlannedRun) -> str | None:
    """Return why a run cannot be trained by the engine, if it cannot."""
    from stable_nalu.engine.lanes import not_compiled
    from stable_nalu.engine.values import NotLoweredError

    try:
        programs = task.programs(run.config, run.layer_options)
    except NotLoweredError as error:
        return str(error)
    return next(filter(None, map(not_compiled, programs.values())), None)


def show_engine(task: type[Task], runs: Sequence[PlannedRun]) -> int:
    """Print the C++ of all runs, each text once."""
    texts: dict[str, None] = {}
    for run in runs:
        if run.in_lanes:
            with default_dtype(precision(run.config)):
                programs = task.programs(run.config, run.layer_options)
            texts.update(dict.fromkeys(program.text for program in programs.values()))
    sys.stdout.write("\n".join(texts))
    return 0


def tell_of_torch(task: type[Task], runs: Sequence[PlannedRun]) -> None:
    """Say once why runs are trained by torch, one after another, unless that was asked for."""
    asked = f"{TORCH}: --engine torch", f"{TORCH}: {ENGINE}=torch"
    told = {run.engine for run in runs if not run.in_lanes} - set(asked)
    for reason in sorted(told if task.by_engine else ()):
        sys.stderr.write(f"trained one run at a time by plain {reason}\n")
