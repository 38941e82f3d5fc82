"""The runs that an experiment is made of: their names, configurations and commands."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from stable_nalu.options import SCRIPTS, Config

from .experiment import Command, Model, Variant
from .flags import Flags


@dataclass(frozen=True)
class ExpectedRun:
    """One run: its place in the model and its folder below the log root."""

    model: Model
    variant: Variant
    point: int
    seed: int
    name: str
    config: Config


def expected_runs(
    model: Model, seeds: Iterable[int] | None = None, extra: Flags | None = None
) -> list[ExpectedRun]:
    """Every run of a model, in the order in which its commands plan them.

    extra: flags laid over those of the model.
    """
    spec = SCRIPTS[model.script]
    chosen = list(model.seeds if seeds is None else seeds)
    found: list[ExpectedRun] = []
    for variant in model.variants:
        configs = spec.plan(model.command(variant, chosen, extra=extra).words).configs
        for index, config in enumerate(configs):
            point = index // len(chosen)
            name = spec.run_name(config)
            found.append(ExpectedRun(model, variant, point, config.seed, name, config))
    return found


def covering(
    runs: Sequence[ExpectedRun], extra: Flags | None = None
) -> list[tuple[Command, list[ExpectedRun]]]:
    """As few commands as plan these runs, all of one model, and no others; each with its runs.

    Values that are to be trained with the same seeds go into one command.
    """
    columns: dict[tuple[str, int], list[ExpectedRun]] = {}
    for run in runs:
        columns.setdefault((run.variant.name, run.point), []).append(run)
    groups: dict[tuple[str, tuple[int, ...]], list[list[ExpectedRun]]] = {}
    for (variant, _), column in columns.items():
        seeds = tuple(run.seed for run in column)
        groups.setdefault((variant, seeds), []).append(column)
    found: list[tuple[Command, list[ExpectedRun]]] = []
    for (_, seeds), group in groups.items():
        first = group[0][0]
        model = first.model
        points = [model.points[column[0].point] for column in group] if model.points else ()
        command = model.command(first.variant, seeds, points, extra)
        found.append((command, [run for column in group for run in column]))
    return found
