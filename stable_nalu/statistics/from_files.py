"""From exported files to summaries: what `export/summarize.py` does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from stable_nalu.catalogue.ranges import INTERPOLATION_ORDER
from stable_nalu.errors import UsageError

from .display_names import OPERATIONS, model_order
from .grouping import groups
from .reduce import BEST_RANGE, Criterion, reduce_run
from .run_table import read_runs, read_table, require
from .setups import Thresholds, read_setups
from .summary import SOLVED, SPARSITY, STEP, Estimators, summarize

ALWAYS = ("model", "operation", "interpolation.range", "extrapolation.range")
_NEVER = ("name", "seed", "id", "model_code", *ALWAYS)
_SOLVED_COLUMNS = ("group", "seed", SOLVED, STEP, SPARSITY)
_TRUTH = {1: True, 0: False, "TRUE": True, "FALSE": False, "True": True, "False": False}


@dataclass(frozen=True)
class Judgement:
    """How runs are judged.

    threshold: taken for every run instead of those of the setup files.
    parameter: rows of the setup files to use, see `Thresholds`.
    """

    setups: Sequence[Path] = ()
    threshold: float | None = None
    parameter: str | None = None
    best_range: int = BEST_RANGE


def judge_runs(
    paths: Sequence[Path],
    judgement: Judgement,
    warn: Callable[[str], object],
    models: Sequence[str] | None = None,
) -> pd.DataFrame:
    """One row a run: options, threshold, outcome. Runs without a threshold are left out.

    models: one label a file, in place of those that follow from the run names.
    """
    rows, runs = read_runs(paths, models)
    inclusive = False
    if judgement.threshold is None:
        thresholds = Thresholds(read_setups(judgement.setups), judgement.parameter)
        inclusive = thresholds.inclusive
        runs["threshold"] = [thresholds.of(run) for run in runs.to_dict("records")]
    else:
        runs["threshold"] = judgement.threshold
    unknown = runs.loc[runs["threshold"].isna()]
    for (operation, tested_on), group in groups(unknown, ["operation", "extrapolation.range"]):
        warn(f"no threshold for {operation} on {tested_on}: {len(group)} runs left out")
    runs = runs.loc[runs["threshold"].notna()]
    if runs.empty:
        raise UsageError("no run has a threshold; give --threshold, or other --exp-setups")
    criterion = Criterion(judgement.best_range, inclusive)
    logged = dict(groups(rows.sort_values("step", kind="stable"), ["model", "name"]))
    outcomes = []
    for run in runs.to_dict("records"):
        steps = logged[run["model"], run["name"]]
        outcome = reduce_run(steps, run["threshold"], criterion)
        outcomes.append(run | outcome | {"size": len(steps)})
    return _sorted(pd.DataFrame(outcomes))


def _sorted(runs: pd.DataFrame) -> pd.DataFrame:
    operations = list(OPERATIONS)

    def place(order: Sequence[str], value: str) -> int:
        return order.index(value) if value in order else len(order)

    keys = [
        (
            place(operations, run["operation"]),
            place(INTERPOLATION_ORDER, run["interpolation.range"]),
            run["interpolation.range"],
            model_order(run["model"]),
            run["name"],
        )
        for run in runs.to_dict("records")
    ]
    order = sorted(range(len(keys)), key=keys.__getitem__)
    return runs.iloc[order].reset_index(drop=True)


def grouping(runs: pd.DataFrame, options: Iterable[str]) -> list[str]:
    """Columns that tell groups apart: model, operation, ranges, and what else differs."""
    differing = [
        column
        for column in options
        if column not in _NEVER and len(runs[column].drop_duplicates()) > 1
    ]
    return [*ALWAYS, *differing]


def options_of(runs: pd.DataFrame) -> list[str]:
    """Columns of `runs` that come from run names."""
    columns = list(runs.columns)
    return columns[: columns.index("threshold")]


def summarize_runs(
    runs: pd.DataFrame, by: Sequence[str] | None, estimators: Estimators
) -> pd.DataFrame:
    """One row a group of judged runs; `by` None means `grouping`. `runs` counts them."""
    options = options_of(runs)
    unknown = [column for column in by or () if column not in options]
    if unknown:
        known = ", ".join(o for o in options if o not in ("name", "model_code"))
        raise UsageError(f"no option {', '.join(unknown)}; one of {known}")
    by = list(by or grouping(runs, options))
    table = summarize(runs, by, estimators)
    table.insert(len(by), "runs", [len(group) for _, group in groups(runs, by)])
    return table


def summarize_solved(path: Path, estimators: Estimators) -> pd.DataFrame:
    """One row a group of a plain table of runs, in order of appearance."""
    runs = read_table(path)
    require(runs, _SOLVED_COLUMNS, path, "a table of solved runs")
    solved = runs[SOLVED].tolist()
    if wrong := [value for value in solved if value not in _TRUTH]:
        raise UsageError(f"{path}: column {SOLVED} holds {wrong[0]!r}, not 0, 1, TRUE or FALSE")
    for column in (STEP, SPARSITY):
        try:
            runs[column] = runs[column].astype(float)
        except ValueError as error:
            raise UsageError(f"{path}: column {column}: {error}") from None
    runs[SOLVED] = [_TRUTH[value] for value in solved]
    runs["group"] = runs["group"].astype(str)
    return summarize(runs, ["group"], estimators)
