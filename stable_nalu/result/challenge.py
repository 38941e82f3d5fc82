"""A layer beside the published ones: `reproduce.py KEY --layer-type NAME`, or `challenge`.

Only the layer is trained, in the setting of each figure. Its rivals are the kept results.
"""

from __future__ import annotations

import argparse
import resource
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from stable_nalu.cluster.challenger import Challenger, challenger_of
from stable_nalu.cluster.shard import Shard, how_to_run, pending, refuse_running, train_shards
from stable_nalu.console import plural, shown
from stable_nalu.errors import OptionError, UsageError
from stable_nalu.machine import cores
from stable_nalu.paper.experiment import (
    ITERATION_FLAG,
    Command,
    Experiment,
    Model,
    merged,
)
from stable_nalu.paper.index import find
from stable_nalu.script import say

from .board import submitted
from .challenge_page import Chapter, Page, ranks, write
from .duel import Contest, same_runs
from .judged import judged_runs, runs_of
from .records import Stopwatch, add_sessions, read_sessions
from .stored import path_of, read
from .tables import Folders, chosen_models, export, show_training

FIGURES = (
    *(f"benchmark_sltr_{operation}" for operation in ("add", "sub", "mul", "div")),
    "nips-sltr-in10",
    "simple_mul",
)
"""The figures of the key `challenge`."""

WORD = "challenge"


def challenge(arguments: argparse.Namespace) -> int:
    """Train a layer as a figure's models were, compare it with them, and return the exit code."""
    if arguments.layer_type is None:
        remedy = "name a layer of the package, or one of --layer-file"
        raise OptionError("--layer-type", "the challenger is not named", remedy)
    if arguments.keep or arguments.report:
        flag = "--keep" if arguments.keep else "--report"
        raise OptionError(flag, "kept results are those of published models", "leave it out")
    if arguments.submit and arguments.layer_file is None:
        raise OptionError("--submit", "the layer has no file", "add --layer-file PATH")
    keys = FIGURES if arguments.key == WORD else (arguments.key,)
    found = [find(key) for key in keys]
    experiments = [replace(e, models=tuple(chosen_models(e, arguments.model))) for e in found]
    challenger = challenger_of(arguments, experiments)
    space = Folders(arguments.out, arguments.max_iterations)
    space.use()
    plans, refused = _plans(experiments, challenger, arguments)
    shards = [shard for plan in plans for shard in plan.shards]
    left = [shard for shard in shards if pending(shard, space.max_iterations)]
    for key, reason in refused.items():
        say(f"{key} is left out: {reason}")
    if arguments.dry_run:
        show_training(left, space.max_iterations)
        return 0
    sessions = space.logs / "challenge" / challenger.folder / "sessions.csv"
    code = _train(left, arguments, sessions)
    if code:
        return code
    refuse_running(shards, space.max_iterations)
    chapters = [
        Chapter(_commands(plan.model, arguments), _contest(plan, space, arguments))
        for plan in plans
    ]
    folder = space.base / "challenge" / "_".join((challenger.folder, arguments.key))
    page = Page(challenger, chapters, read_sessions(sessions), refused)
    _, path, *_ = write(page, folder, arguments.format)
    for line in ranks(page):
        say(line)
    say(shown(path))
    return submitted(arguments) if arguments.submit else 0


@dataclass(frozen=True)
class PlannedContest:
    """A challenger in a figure before it is trained: as a model, and the shards of its runs."""

    experiment: Experiment
    model: Model
    shards: Sequence[Shard]


def _plans(
    experiments: Sequence[Experiment], challenger: Challenger, arguments: argparse.Namespace
) -> tuple[list[PlannedContest], dict[str, str]]:
    """Return what is trained for each figure, and why it cannot be for others, by their keys.

    What no figure can be trained for is an error.
    """
    plans: list[PlannedContest] = []
    refused: dict[str, str] = {}
    for experiment in experiments:
        model = challenger.model(experiment)
        seeds = tuple(model.seeds if arguments.seeds is None else arguments.seeds)
        shards = [
            Shard(" ".join(filter(None, (model.prefix, variant.name))), model, (variant,), seeds)
            for variant in model.variants
        ]
        try:
            for shard in shards:
                shard.expected()
        except UsageError as error:
            refused[experiment.key] = str(error)
            if len(refused) == len(experiments):
                raise
        else:
            plans.append(PlannedContest(experiment, model, shards))
    return plans, refused


def _commands(model: Model, arguments: argparse.Namespace) -> list[Command]:
    """Return the commands that train the challenger, without what only says how they are run."""
    extra = how_to_run(model, model.variants[0], arguments.max_iterations)
    kept = {name: extra[name] for name in (ITERATION_FLAG, "--log-interval") if name in extra}
    return [model.command(variant, arguments.seeds, extra=kept) for variant in model.variants]


def _train(left: Sequence[Shard], arguments: argparse.Namespace, sessions: Path) -> int:
    """Train what is left, and return the exit code of the first command that fails, else 0."""
    from stable_nalu.training.console import quiet

    for place, shard in enumerate(left, start=1):
        say(f"[{place}/{len(left)}] {plural(shard.runs, 'run')}: {shard.name}")
        watch = Stopwatch(resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
        workers = arguments.jobs or cores()
        with quiet():
            code = train_shards([shard], arguments.max_iterations, workers)
        if code:
            return code
        extra = shard.how_to_run(arguments.max_iterations)
        length = int(merged(shard.model.flags, extra)[ITERATION_FLAG][0])
        finished = {run.name: length for run in shard.expected(extra)}
        add_sessions(sessions, [watch.session(finished, workers)])
    return 0


def _contest(plan: PlannedContest, space: Folders, arguments: argparse.Namespace) -> Contest:
    """Judge the challenger's runs, and put the kept runs of its rivals beside them."""
    import pandas as pd

    experiment, model = plan.experiment, plan.model
    export([model], space)
    expected = runs_of(model, arguments.seeds, space.max_iterations)
    own = judged_runs(experiment, [model], space.csv, expected, say)
    parts = [own]
    if path_of(experiment.key, arguments.data).exists():
        kept = read(experiment.key, arguments.data)
        keys = [rival.key for rival in experiment.models]
        parts.append(same_runs(own, kept.loc[kept["model"].isin(keys)], experiment.key))
    return Contest(experiment, model.label, pd.concat(parts, ignore_index=True))
