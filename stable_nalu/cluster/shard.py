"""Shards: parts of an experiment that one job trains as one ensemble."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import ceil

from stable_nalu.paper.experiment import (
    EPOCH_FLAG,
    ITERATION_FLAG,
    Command,
    ExpectedRun,
    Flags,
    Model,
    Variant,
    expected_runs,
    merged,
    seeds_text,
)
from stable_nalu.task import SCRIPTS

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
        """Return the number of runs."""
        return len(self.seeds) * max(1, len(self.model.points)) * len(self.variants)

    def commands(self) -> list[Command]:
        """Return the commands that train the whole shard, together."""
        return [self.model.command(variant, self.seeds) for variant in self.variants]

    def expected(self, extra: Flags | None = None) -> list[ExpectedRun]:
        """Return the runs of the shard."""
        return expected_runs(replace(self.model, variants=self.variants), self.seeds, extra)

    @property
    def samples(self) -> object:
        """Return what is equal for shards that train on the same inputs; None: none are shared."""
        model = self.model
        names = {f"--{dest.replace('_', '-')}" for dest in SCRIPTS[model.script].drawn_by}

        def drawn(flags: Flags) -> Flags:
            return {name: values for name, values in sorted(flags.items()) if name in names}

        variants = [drawn(merged(model.flags, variant.flags)) for variant in self.variants]
        lengths = [model.length(variant) for variant in self.variants]
        points = [drawn(point) for point in model.points]
        found = repr((model.script, self.seeds, points, variants, lengths))
        return found if names and self.runs > 1 else None

    def how_to_run(self, max_iterations: int | None = None, workers: int = 1) -> Flags:
        """Return flags that say how its runs are carried out."""
        return how_to_run(self.model, self.variants[0], max_iterations, workers)


def shards(
    models: Mapping[str, Model], seeds: Iterable[int] | None, runs_per_shard: int | None = None
) -> list[Shard]:
    """Return all shards in a fixed order, so that a number stands for the same one every time.

    seeds: the published ones when None. A shard holds at least one seed of every point.
    """
    wanted = None if seeds is None else list(seeds)
    found: list[Shard] = []
    for name, model in models.items():
        chosen = list(model.seeds) if wanted is None else wanted
        size = runs_per_shard or _usual_size(model, model.variants[0])
        per_seed = max(1, len(model.points))
        for variants in _together(model, size // max(1, per_seed * len(chosen))):
            size = runs_per_shard or _usual_size(model, variants[0])
            step = max(1, size // per_seed)
            for first in range(0, len(chosen), step):
                part = tuple(chosen[first : first + step])
                kinds = "+".join(variant.name for variant in variants)
                texts = (name, kinds, f"seeds {seeds_text(part)}")
                found.append(Shard(" ".join(t for t in texts if t), model, variants, part))
    return found


def in_groups(every: Mapping[int, Shard], processes: int) -> list[tuple[int, ...]]:
    """Return the numbers of shards that one process trains side by side, on the same inputs.

    A group is no larger than the share of a process.
    """
    groups: dict[object, list[int]] = {}
    for number, shard in every.items():
        key = shard.samples
        groups.setdefault(("alone", number) if key is None else key, []).append(number)
    most = max(1, ceil(len(every) / processes))
    return [
        tuple(group[first : first + most])
        for group in groups.values()
        for first in range(0, len(group), most)
    ]


def _together(model: Model, most: int) -> list[tuple[Variant, ...]]:
    """Return the variants of each shard: some at a time where they differ in their data only."""
    alike = all(variant.flags.keys() <= _DATA for variant in model.variants)
    step = max(1, most) if alike else 1
    return [model.variants[i : i + step] for i in range(0, len(model.variants), step)]


def _usual_size(model: Model, variant: Variant) -> int:
    if model.resources.gpu:
        return 1
    return min(MOST_RUNS, max(FEWEST_RUNS, _WORK // model.length(variant)))


def how_to_run(
    model: Model, variant: Variant, max_iterations: int | None = None, workers: int = 1
) -> Flags:
    """Return flags that say how runs are carried out: their length, and where they can resume.

    max_iterations: updates, also of scripts that count epochs, which then train whole ones.
    workers: processes; those of a job's ensemble would compete with those of other shards.
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
        fewest = min(_FEWEST_UPDATES_SAVED[ITERATION_FLAG in flags], length // _FEWEST_CHECKPOINTS)
        interval = max(fewest, length // _MOST_CHECKPOINTS)
        extra["--checkpoint-interval"] = (str(max(1, interval // updates)),)
    if "--workers" in flags:
        extra["--workers"] = (str(workers),)
    return extra
