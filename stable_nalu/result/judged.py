"""Runs of an experiment, judged once: a row for each, with what tells it apart and what came of it.

Of experiments with a criterion that is a verdict. Of measured ones it is what a run logged last, or
where the measure that the experiment selects by was lowest; values of earlier steps or epochs that
it asks for stand beside it, as `column@step`. NaN and infinity are results.
"""

import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from stable_nalu.paper.experiment import ExpectedRun, Experiment, Measure, Model, expected_runs
from stable_nalu.paper.index import EXPERIMENTS
from stable_nalu.statistics.judge import best_row, judge_tables
from stable_nalu.statistics.names import config_columns, expand_name
from stable_nalu.statistics.table import numeric
from stable_nalu.task.table import SCRIPTS

from .shard import how_to_run

DIVERGED, TEST_ERROR = "diverged", "extrapolation.last"
OUTCOME = (
    "threshold",
    "solved",
    "extrapolation.step.solved",
    "sparse.error.max",
    TEST_ERROR,
    DIVERGED,
)
"""Columns behind those that tell judged runs apart, with the names that `statistics` uses."""

_DIGITS, _DIGITS_OF_FIGURES = 7, 4
_NO_POINT = {"name", "seed", "max.iterations", "max.epochs", "log.interval"}


def runs_of(
    model: Model, seeds: Sequence[int] | None, max_iterations: int | None
) -> list[ExpectedRun]:
    """Return the runs of a model, as a reproduction of that length trains them."""
    extra = how_to_run(model, model.variants[0], max_iterations) if max_iterations else None
    return expected_runs(model, seeds, extra)


def iterations_of(run: ExpectedRun) -> int:
    """Return the iterations of a planned run, or its updates where a script counts epochs."""
    config = run.config.as_dict()
    if "max_iterations" in config:
        return int(config["max_iterations"])
    epochs = SCRIPTS[run.model.script].epochs(int(config["max_epochs"]))
    return epochs * run.model.steps_per_epoch


def shortened(experiment: Experiment, runs: pd.DataFrame) -> tuple[int, int] | None:
    """Return the iterations of runs of one model and of the published ones, if those had more.

    They are those of the shortest run. A run of the length of any variant counts as whole, and so
    do runs without a column of iterations.
    """
    if "iterations" not in runs.columns or runs.empty:
        return None
    model = experiment.model(runs["model"].iloc[0])
    lengths = {model.length(variant) for variant in model.variants}
    short = [n for n in runs["iterations"].tolist() if n < max(lengths) and n not in lengths]
    if not short:
        return None
    kept = int(min(short))
    return kept, min(length for length in lengths if length > kept)


def options_of(experiment: Experiment, run: ExpectedRun) -> dict[str, Any]:
    """Return the options of a planned run under the names of the columns of kept rows."""
    columns = config_columns(run.config)
    return columns if experiment.is_measured else expand_name(run.leaf, columns)


@functools.cache
def point_columns(key: str) -> tuple[str, ...]:
    """Return the columns that tell the points of a model apart, as planned."""
    experiment = EXPERIMENTS[key]
    return _fewest_columns(experiment) if experiment.is_measured else _differing_columns(experiment)


def _differing_columns(experiment: Experiment) -> tuple[str, ...]:
    """Return the operation, the range, the parameter, and what has several values in a model."""
    found: dict[str, None] = {"operation": None, "interpolation.range": None}
    for model in experiment.models:
        options = [options_of(experiment, run) for run in runs_of(model, [0], None)]
        if experiment.parameter in options[0]:
            found[experiment.parameter] = None
        found |= {c: None for c in options[0] if _distinct(options, [c]) > 1}
    return tuple(c for c in found if c not in {"model", "extrapolation.range", *_NO_POINT})


def _fewest_columns(experiment: Experiment) -> tuple[str, ...]:
    """Return the fewest options that tell the points of each model apart, the operation first."""
    found: dict[str, None] = {}
    for model in experiment.models:
        options = [options_of(experiment, run) for run in runs_of(model, model.seeds[:1], None)]
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


def identifying(key: str) -> list[str]:
    """Return the columns that tell the kept runs of an experiment apart."""
    return ["model", *point_columns(key), "seed"]


def runs_of_rows(experiment: Experiment, kept: pd.DataFrame) -> list[ExpectedRun | None]:
    """Return the whole run that each kept row is of, as planned; None where none is."""
    runs: dict[tuple[str, ...], ExpectedRun] = {}
    for key, found in kept.groupby("model", sort=False):
        model = experiment.model(str(key))
        for run in runs_of(model, sorted(set(found["seed"].tolist())), None):
            options = options_of(experiment, run) | {"model": model.key, "seed": run.seed}
            runs[identity_of(experiment, options)] = run
    return [runs.get(identity_of(experiment, row)) for row in kept.to_dict("records")]


def identity_of(experiment: Experiment, row: Mapping[Any, Any]) -> tuple[str, ...]:
    """Return the texts of the cells that tell a row apart."""
    return tuple(text_of(row.get(column)) for column in identifying(experiment.key))


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
    at_step = f", {clock_of(experiment)} {int(step):,}" if step else ""
    return measure.label.replace("*", rest) + at_step


def is_plain(experiment: Experiment, column: str) -> bool:
    """Return whether a kept column is one that every table shows: no family, no earlier step."""
    return column in {measure.column for measure in experiment.measures}


def measure_columns(experiment: Experiment, columns: Iterable[str]) -> list[str]:
    """Return those of the columns that are of measures, in the order of the measures."""
    of = {column: measure_of(experiment, column) for column in columns}
    return [c for measure in experiment.measures for c, found in of.items() if found is measure]


def outcome_columns(experiment: Experiment, table: pd.DataFrame) -> tuple[str, ...]:
    """Return the columns of a table of runs behind those that tell runs apart."""
    if experiment.is_measured:
        return (*measure_columns(experiment, table.columns), DIVERGED)
    return OUTCOME


def judged_runs(
    experiment: Experiment,
    tables: Mapping[str, pd.DataFrame],
    expected: Iterable[ExpectedRun],
    warn: Callable[[str], object],
) -> pd.DataFrame:
    """Return one row per logged run, with the key of its model as `model`.

    Every row has its `name`, what tells it apart, its `iterations`, what came of it, and whether
    it `diverged`: its log ends early then.

    tables: what runs logged, by the names of their models' tables. expected: the same runs, as
        planned.
    """
    planned_in: dict[str, dict[str, ExpectedRun]] = {}
    for run in expected:
        planned_in.setdefault(run.model.csv, {})[run.leaf] = run
    of_table = _measures if experiment.is_measured else _verdicts
    parts: list[pd.DataFrame] = []
    for csv, own in planned_in.items():
        found = of_table(experiment, csv, tables[csv], own, warn)
        planned = [own[name] for name in found["name"]]
        found["model"] = [run.model.key for run in planned]
        found["iterations"] = list(map(iterations_of, planned))
        parts.append(found)
    table = pd.concat(parts, ignore_index=True)
    if experiment.is_measured:
        # A run whose log ends before that of another one of the same length.
        ends = table.groupby("iterations")["step"].transform("max")
        table[DIVERGED] = (table["step"] < ends).astype(int)
        kept = (*identifying(experiment.key), "iterations", *outcome_columns(experiment, table))
        table = table.loc[:, ["name", *kept]]
    return table


def _verdicts(
    experiment: Experiment,
    csv: str,
    table: pd.DataFrame,
    runs: Mapping[str, ExpectedRun],
    warn: Callable[[str], object],
) -> pd.DataFrame:
    """Return the verdicts about the runs of one table, and all that they follow from."""
    found = judge_tables([(f"{csv}.csv", table)], replace(experiment.judgement, setups=()), warn)
    found = found.loc[found["name"].isin(list(runs))].copy()
    planned = [runs[name] for name in found["name"]]
    whole = [iterations_of(run) // run.config.log_interval + 1 for run in planned]
    diverged = found["size"] < whole
    found[DIVERGED] = diverged.astype(int)
    # Its last row is of a network that is no more.
    found.loc[diverged, "solved"] = False
    found.loc[diverged, "extrapolation.step.solved"] = math.nan
    for column in ("interpolation.last", TEST_ERROR):
        found.loc[diverged & found[column].notna(), column] = math.inf
    return found


def _measures(
    experiment: Experiment,
    csv: str,
    table: pd.DataFrame,
    runs: Mapping[str, ExpectedRun],
    warn: Callable[[str], object],
) -> pd.DataFrame:
    """Return what the runs of one table measured, with the last step of each."""
    table = table.loc[table["name"].isin(list(runs))]
    columns = measure_columns(experiment, table.columns)
    for measure in experiment.measures:
        if not any(measure_of(experiment, column) is measure for column in columns):
            warn(f"{csv}.csv holds no column {measure.column}")
    table = numeric(table, ["step", *columns], csv).sort_values("step", kind="stable")
    last = table.drop_duplicates("name", keep="last").set_index("name")
    chosen = last
    if by := experiment.selected_by:
        logged = table.groupby("name", sort=False)
        best = [rows.index[best_row(rows[by].to_numpy(float), len(rows))] for _, rows in logged]
        chosen = table.loc[best].set_index("name").loc[last.index]
    found: dict[str, Any] = {c: _rounded(chosen[c], experiment, c) for c in columns}
    clock = numeric(table, ["epoch"], csv)["epoch"] if "epoch" in table else table["step"]
    for column in columns:
        measure = measure_of(experiment, column)
        for step in measure.steps if measure else ():
            then = table.loc[clock == step].drop_duplicates("name", keep="last")
            if not then.empty:
                at_step: Any = then.set_index("name")[column]
                name = f"{column}@{step}"
                found[name] = _rounded(at_step.reindex(last.index), experiment, name)
    rows = []
    for name in last.index:
        run = runs[str(name)]
        options = options_of(experiment, run)
        known = {column: options.get(column) for column in point_columns(experiment.key)}
        rows.append({"name": name} | known | {"seed": run.seed})
    numbers = pd.DataFrame({"step": last["step"], **found}).reset_index(drop=True)
    return pd.concat([pd.DataFrame(rows), numbers], axis=1)


def _rounded(values: Any, experiment: Experiment, column: str) -> Any:
    """Return values in few digits, fewer where only figures show them."""
    digits = _DIGITS if is_plain(experiment, column) else _DIGITS_OF_FIGURES
    return values.map(lambda value: float(f"{value:.{digits}g}"))


def compact(row: Mapping[Any, Any]) -> dict[str, Any]:
    """Return a judged run with errors in few digits, on the same side of its threshold."""
    short = {name: float(f"{row[name]:.{_DIGITS}g}") for name in ("sparse.error.max", TEST_ERROR)}
    threshold = row["threshold"]
    sides = [
        (error < threshold, error <= threshold) for error in (short[TEST_ERROR], row[TEST_ERROR])
    ]
    if sides[0] != sides[1]:
        short[TEST_ERROR] = row[TEST_ERROR]
    return {str(name): cell for name, cell in row.items()} | short | {"solved": int(row["solved"])}
