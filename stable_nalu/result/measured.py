"""Runs whose numbers are measures and no verdicts: from exported tables, and back to such tables.

A row is what a run logged last, or where the measure that an experiment selects by was lowest;
values of earlier steps or epochs that it asks for stand beside it, as `column@step`. NaN and
infinity are results.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stable_nalu.paper.experiment import ExpectedRun, Experiment, Measure, Model
from stable_nalu.statistics.names import record_columns
from stable_nalu.statistics.table import numeric, read_table, require
from stable_nalu.writer.run_record import RunRecord

from .tables import Workspace, iterations_of, runs_of

if TYPE_CHECKING:
    import pandas as pd


DIVERGED = "diverged"
_DIGITS, _DIGITS_OF_FIGURES = 7, 4
_NO_POINT = {"name", "seed", "max.iterations", "max.epochs", "log.interval"}


def options_of(run: ExpectedRun) -> dict[str, Any]:
    """Return the configuration of a planned run under the names of exported columns."""
    return record_columns(RunRecord(run.model.script, run.config.as_dict(), "", {}, None))


def point_columns(experiment: Experiment) -> tuple[str, ...]:
    """Return the fewest options that tell the points of each model apart, the operation first."""
    found: dict[str, None] = {}
    for model in experiment.models:
        options = [options_of(run) for run in runs_of(model, model.seeds[:1], None)]
        chosen = [column for column in found if column in options[0]]
        for column in ("operation", experiment.parameter, *options[0]):
            if column in options[0] and column not in (*chosen, *_NO_POINT):
                with_it = [*chosen, column]
                if _distinct(options, with_it) > _distinct(options, chosen):
                    chosen = with_it
        found |= dict.fromkeys(chosen)
    return tuple(found)


def _distinct(options: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> int:
    return len({tuple(map(text_of, (one.get(c) for c in columns))) for one in options})


def text_of(cell: Any) -> str:
    """Return a cell as text that is the same for a configuration and for a table read back."""
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return ""
    return f"{cell:g}" if isinstance(cell, float) else str(cell)


def measure_of(experiment: Experiment, column: str) -> Measure | None:
    """Return the measure that a kept column is of; a column may be one of a family, or a step."""
    name = column.partition("@")[0]
    for measure in experiment.measures:
        family = measure.column.endswith("*")
        if measure.column == name or (family and name.startswith(measure.column[:-1])):
            return measure
    return None


def clock_of(experiment: Experiment) -> str:
    """Return what the scripts of its runs count: epochs, or steps."""
    return "epoch" if any(model.steps_per_epoch for model in experiment.models) else "step"


def label_of(experiment: Experiment, measure: Measure, column: str) -> str:
    """Return what tables call a kept column."""
    name, _, step = column.partition("@")
    rest = name.removeprefix(measure.column.removesuffix("*"))
    return measure.label.replace("*", rest) + (
        f", {clock_of(experiment)} {int(step):,}" if step else ""
    )


def is_plain(experiment: Experiment, column: str) -> bool:
    """Return whether a kept column is one that every table shows: no family, no earlier step."""
    return column in {measure.column for measure in experiment.measures}


def measure_columns(experiment: Experiment, columns: Iterable[str]) -> list[str]:
    """Return those of the columns that are of measures, in the order of the measures."""
    of = {column: measure_of(experiment, column) for column in columns}
    return [c for measure in experiment.measures for c, found in of.items() if found is measure]


def measured_runs(
    experiment: Experiment,
    models: Sequence[Model],
    space: Workspace,
    seeds: Sequence[int] | None,
    warn: Callable[[str], object],
) -> pd.DataFrame:
    """Return one row per exported run: `name`, what tells it apart, its measures, if it diverged.

    A run whose log ends before that of another one of the same length diverged.
    """
    import pandas as pd

    parts: list[pd.DataFrame] = []
    for csv in dict.fromkeys(model.csv for model in models):
        runs = {
            run.name.removeprefix(f"{model.prefix}/"): run
            for model in models
            if model.csv == csv
            for run in runs_of(model, seeds, space.max_iterations)
        }
        parts.append(_of_table(experiment, space.csv / f"{csv}.csv", runs, warn))
    table = pd.concat(parts, ignore_index=True)
    ends = table.groupby("iterations")["step"].transform("max")
    table[DIVERGED] = (table["step"] < ends).astype(int)
    columns = measure_columns(experiment, table.columns)
    points = point_columns(experiment)
    return table.loc[:, ["name", "model", *points, "seed", "iterations", *columns, DIVERGED]]


def _of_table(
    experiment: Experiment,
    path: Path,
    runs: Mapping[str, ExpectedRun],
    warn: Callable[[str], object],
) -> pd.DataFrame:
    """Return the rows of one exported table, with the step of each."""
    import pandas as pd

    table = read_table(path)
    require(table, ("name", "step"), path, "an export of runs")
    table = table.loc[table["name"].isin(list(runs))]
    columns = measure_columns(experiment, table.columns)
    for measure in experiment.measures:
        if not any(measure_of(experiment, column) is measure for column in columns):
            warn(f"{path} holds no column {measure.column}")
    table = numeric(table, ["step", *columns], path).sort_values("step", kind="stable")
    last = table.drop_duplicates("name", keep="last").set_index("name")
    chosen = last
    if experiment.selected_by:
        best = table.sort_values(experiment.selected_by, kind="stable", na_position="last")
        chosen = best.drop_duplicates("name").set_index("name").loc[last.index]
    found: dict[str, Any] = {c: _rounded(chosen[c], experiment, c) for c in columns}
    clock = numeric(table, ["epoch"], path)["epoch"] if "epoch" in table else table["step"]
    for column in columns:
        measure = measure_of(experiment, column)
        for step in measure.steps if measure else ():
            then = table.loc[clock == step].drop_duplicates("name", keep="last")
            if then.empty:
                continue
            name = f"{column}@{step}"
            at_step: Any = then.set_index("name")[column]
            found[name] = _rounded(at_step.reindex(last.index), experiment, name)
    points = point_columns(experiment)
    rows = []
    for name in last.index:
        run = runs[str(name)]
        options = options_of(run)
        known = {"name": name, "model": run.model.key} | {p: options.get(p) for p in points}
        rows.append(known | {"seed": run.seed, "iterations": iterations_of(run)})
    numbers = pd.DataFrame({"step": last["step"], **found}).reset_index(drop=True)
    return pd.concat([pd.DataFrame(rows), numbers], axis=1)


def _rounded(values: Any, experiment: Experiment, column: str) -> Any:
    """Return values in few digits, fewer where only figures show them."""
    digits = _DIGITS if is_plain(experiment, column) else _DIGITS_OF_FIGURES
    return values.map(lambda value: float(f"{value:.{digits}g}"))
