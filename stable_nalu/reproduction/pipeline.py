"""The stages of a reproduction, each from the files of the one before."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from stable_nalu.batch.local import run_shards
from stable_nalu.batch.shard import Shard, shards
from stable_nalu.batch.work import pending
from stable_nalu.catalogue.expected import is_runnable
from stable_nalu.catalogue.experiment import Experiment, Model
from stable_nalu.catalogue.flags import seeds_text
from stable_nalu.catalogue.published import published
from stable_nalu.errors import UsageError

from .compare import as_text, compare
from .exporters import exporter_of
from .tables import (
    JUDGED,
    export,
    judge,
    summarise,
    tables_of,
    write_benchmark_thresholds,
)
from .workspace import Workspace


@dataclass(frozen=True)
class Request:
    """What to reproduce. seeds: the published ones when None. processes: training at a time."""

    experiment: Experiment
    models: Sequence[Model]
    space: Workspace
    seeds: list[int] | None
    processes: int

    @property
    def words(self) -> list[str]:
        """What tells a training process which shards there are."""
        words = [self.experiment.key]
        if self.seeds is not None:
            words += ["--seeds", seeds_text(self.seeds)]
        if self.space.max_iterations is not None:
            words += ["--max-iterations", str(self.space.max_iterations)]
        for model in self.models:
            words += ["--model", model.key]
        return words

    def shards(self) -> dict[int, Shard]:
        """Shards with runs left to train, by their number."""
        every = shards({model.key: model for model in self.models}, self.seeds)
        maximum = self.space.max_iterations
        return {i: shard for i, shard in enumerate(every) if pending(shard, maximum)}


def check(request: Request) -> None:
    """Refuse what cannot be trained."""
    for model in request.models:
        if not is_runnable(model):
            raise UsageError(f"{model.key} needs experiments/{model.script}.py, which is not there")


def show_commands(request: Request) -> None:
    """Print every command that a reproduction would run."""
    space = request.space
    _say(f"export TENSORBOARD_DIR={shlex.quote(str(space.tensorboard))}")
    _say(f"export SAVE_DIR={shlex.quote(str(space.base / 'save'))}")
    for shard in request.shards().values():
        for command, _ in pending(shard, space.max_iterations):
            _say(f"python3 {shlex.join(command.line)}")
    for (csv, prefix), model in tables_of(request.models).items():
        folders = ["--tensorboard-dir", str(space.tensorboard / prefix)]
        words = [*folders, "--csv-out", str(space.csv / csv)]
        _say(f"python3 export/{exporter_of(model).script} {shlex.join(words)}")


def train(request: Request) -> int:
    """Train what is not trained yet; the exit code."""
    left = request.shards()
    if not left:
        _say("all runs are trained")
        return 0
    _say(f"training {sum(shard.runs for shard in left.values())} runs in {len(left)} shards")
    names = {i: shard.name for i, shard in left.items()}
    logs = request.space.logs / request.experiment.key
    return run_shards(request.words, names, logs, processes=request.processes)


def report(request: Request) -> None:
    """Export, summarise, plot and compare."""
    experiment, space = request.experiment, request.space
    for path in export(request.models, space):
        _say(f"table {path}")
    if experiment.criterion == "benchmark":
        write_benchmark_thresholds(space)
    _plot(experiment, space)
    if not experiment.criterion.startswith(JUDGED):
        return
    runs = judge(experiment, request.models, space, request.seeds, _say)
    summarise(experiment, runs, space)
    _say(f"summary {space.summaries / experiment.key}.csv")
    found = compare(published(experiment.key), runs)
    if not found:
        _say("no published number to compare with")
        return
    import pandas as pd

    path = space.summaries / f"{experiment.key}_comparison.csv"
    pd.DataFrame([comparison.row() for comparison in found]).to_csv(path, index=False)
    _say(as_text(found))
    agreeing = sum(comparison.overlap for comparison in found)
    _say(f"comparison {path}: {agreeing} of {len(found)} success rates agree")


def _plot(experiment: Experiment, space: Workspace) -> None:
    """Draw the figures of the experiment, as far as there is something to draw."""
    from stable_nalu.figures.entries import all_entries
    from stable_nalu.figures.product import Context
    from stable_nalu.figures.render import Output, render
    from stable_nalu.figures.source import Source

    entries = all_entries()
    for key in experiment.figure_keys:
        if key not in entries:
            continue
        entry = entries[key]
        source = Source(space.csv, entry.folders)
        try:
            paths = render(entry, Context(key, entry.series, source), Output(space.figures))
        except (UsageError, ImportError) as error:
            _say(f"figure {key} not drawn: {error}")
            continue
        for path in paths:
            _say(f"figure {path}")
        for warning in source.warnings:
            _say(f"  {warning}")


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
