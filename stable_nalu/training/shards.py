"""How a plan of many runs is cut into stacks that train together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from stable_nalu.machine import cores
from stable_nalu.options import Config, ScriptSpec

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
