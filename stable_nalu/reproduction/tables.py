"""Exported tables of an experiment and the outcome of each of its runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from stable_nalu.batch.shard import how_to_run
from stable_nalu.catalogue.expected import ExpectedRun, expected_runs
from stable_nalu.catalogue.experiment import Experiment, Model
from stable_nalu.machine import CHECKOUT
from stable_nalu.reader.export import export_csv, open_reader

from .exporters import exporter_of
from .workspace import Workspace

if TYPE_CHECKING:
    import pandas as pd

_WINDOWS = {"function_task_static_mul_input_size": 15000}
_SETUPS = (CHECKOUT / "exp_setups.csv", CHECKOUT / "function_task_static_mse_expectation.csv")
FLAT_THRESHOLD = 1e-5
JUDGED = ("flat", "distributions", "arithmetic", "ranges", "benchmark", "zero.range")
"""Kinds of criterion that can be applied to runs of the arithmetic scripts."""


def csv_name(model: Model) -> str:
    """The exported table of a model, below the CSV folder."""
    return f"{model.csv}.csv"


def export(models: Sequence[Model], space: Workspace) -> list[Path]:
    """Export the runs of every model; models of one experiment name share a table."""
    written: list[Path] = []
    for (csv, prefix), model in tables_of(models).items():
        reader = open_reader(str(space.tensorboard / prefix), exporter_of(model).read)
        export_csv(reader, str(space.csv / csv))
        written.append(space.csv / csv)
    return written


def tables_of(models: Sequence[Model]) -> dict[tuple[str, str], Model]:
    """(table, folder of its runs) -> one of the models that it holds."""
    found: dict[tuple[str, str], Model] = {}
    for model in models:
        found.setdefault((csv_name(model), model.prefix), model)
    return found


def judge(
    experiment: Experiment,
    models: Sequence[Model],
    space: Workspace,
    seeds: Sequence[int] | None,
    warn: Callable[[str], object],
) -> pd.DataFrame:
    """One row a run of the experiment: its options, threshold, outcome; `model` is the key."""
    import pandas as pd

    from stable_nalu.statistics.judge import Judgement, judge_runs

    setups = list(_SETUPS)
    flat = FLAT_THRESHOLD if experiment.criterion in ("flat", "distributions") else None
    if experiment.criterion == "benchmark":
        setups = [write_benchmark_thresholds(space)]
    parameter = experiment.criterion if experiment.criterion.startswith("zero.range") else None
    window = _WINDOWS.get(experiment.key, 5000)
    judgement = Judgement(setups, flat, parameter, window)
    parts: list[pd.DataFrame] = []
    for csv in dict.fromkeys(map(csv_name, models)):
        keys = {
            run.name.removeprefix(f"{model.prefix}/"): model.key
            for model in models
            if csv_name(model) == csv
            for run in runs_of(model, seeds, space.max_iterations)
        }
        runs = judge_runs([space.csv / csv], judgement, warn)
        runs = runs.loc[runs["name"].isin(list(keys))].copy()
        runs["model"] = [keys[name] for name in runs["name"]]
        parts.append(runs)
    return pd.concat(parts, ignore_index=True)


def runs_of(
    model: Model, seeds: Sequence[int] | None, max_iterations: int | None
) -> list[ExpectedRun]:
    """The runs of a model, as a reproduction of that length trains them."""
    extra = how_to_run(model, model.variants[0], max_iterations) if max_iterations else None
    return expected_runs(model, seeds, extra)


def write_benchmark_thresholds(space: Workspace) -> Path:
    """The simulated thresholds of the primer, beside the tables, where the figures look."""
    from stable_nalu.statistics.table import write_table
    from stable_nalu.statistics.thresholds import tables

    path = space.csv / "eps_thrs_sltr.csv"
    found = tables.collect(("benchmark",), tables.Settings())
    path.parent.mkdir(parents=True, exist_ok=True)
    write_table(path, tables.COLUMNS, (row for row, _ in found))
    return path


def summarise(experiment: Experiment, runs: pd.DataFrame, space: Workspace) -> pd.DataFrame:
    """Success rate, solved at and sparsity error of every point; kept as `<key>.csv`."""
    from stable_nalu.statistics.estimators import PUBLISHED
    from stable_nalu.statistics.summary import summarize_runs

    table = summarize_runs(runs, points_by(experiment, runs), PUBLISHED)
    path = space.summaries / f"{experiment.key}.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    table.to_csv(path, index=False)
    return table


def points_by(experiment: Experiment, runs: pd.DataFrame) -> list[str]:
    """Columns that tell the points of a figure apart."""
    wanted = ("model", "operation", "interpolation.range", experiment.parameter)
    return [column for column in dict.fromkeys(wanted) if column in runs.columns]
