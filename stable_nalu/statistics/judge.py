"""From exported files to judged runs: each run's options, its threshold and its outcome."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Real
from pathlib import Path

import numpy as np
import pandas as pd

from stable_nalu.errors import OptionError, UsageError, did_you_mean
from stable_nalu.paper.ranges import INTERPOLATION_ORDER

from .estimators import BEST_RANGE
from .names import OPERATIONS, expand_name, model_order
from .setups import (
    SHIPPED,
    Limit,
    Thresholds,
    known_parameters,
    read_setups,
    usual_thresholds,
)
from .table import groups, numeric, parsed_names, read_table, refuse_repeated, require

VALIDATION = "metric.valid.interpolation"
TEST = "metric.test.extrapolation"
SPARSITY = "sparse.error.max"
INCLUSIVE = "inclusive"
"""Column: whether an error equal to the threshold is low enough."""
EXPORTED = ("name", "step", VALIDATION, TEST, SPARSITY)


@dataclass(frozen=True)
class Judgement:
    """How the runs of exported files are judged.

    setups: tables of thresholds in place of the usual ones; a run without a row is left out then.
    threshold: taken for every run instead of those of the tables.
    parameter: the rows of the tables to use, see `Thresholds`.
    """

    setups: Sequence[Path] = ()
    threshold: float | None = None
    parameter: str | None = None
    best_range: int = BEST_RANGE

    def __post_init__(self) -> None:
        """Refuse what a program may give, and no flag accepts."""
        if self.threshold is not None and not (
            isinstance(self.threshold, Real) and float(self.threshold) > 0
        ):
            raise UsageError(f"threshold: {self.threshold!r} is not a number above 0")
        if not (isinstance(self.best_range, int) and self.best_range > 0):
            raise UsageError(f"best_range: {self.best_range!r} is not a whole number above 0")


def judge_runs(
    paths: Sequence[Path],
    judgement: Judgement,
    warn: Callable[[str], object],
    models: Sequence[str] | None = None,
) -> pd.DataFrame:
    """Return one row per run of some files, as `judge_tables` does.

    models: one label per file, in place of those that follow from the options of the runs.
    """
    if models is not None and len(models) != len(paths):
        raise UsageError(f"{len(models)} models are named for {len(paths)} files")
    return judge_tables([(path, read_table(path)) for path in paths], judgement, warn, models)


def judge_tables(
    parts: Sequence[tuple[Path | str, pd.DataFrame]],
    judgement: Judgement,
    warn: Callable[[str], object],
    models: Sequence[str] | None = None,
) -> pd.DataFrame:
    """Return one row per run: options, threshold, outcome. Runs without a threshold are left out.

    parts: names of tables of logged rows, for messages, and the tables.
    """
    rows, runs = _rows_and_runs(parts, models)
    refuse_repeated(rows, ["model", "name", "step"])
    limits = _limits(runs, judgement)
    runs["threshold"] = [limit.threshold for limit in limits]
    runs[INCLUSIVE] = [limit.inclusive for limit in limits]
    unknown = runs.loc[runs["threshold"].isna()]
    for (operation, tested_on), group in groups(unknown, ["operation", "extrapolation.range"]):
        warn(f"no threshold for {operation} on {tested_on}: {len(group)} runs left out")
    runs = runs.loc[runs["threshold"].notna()]
    if runs.empty:
        raise UsageError("no run has a threshold; give --threshold, or other --exp-setups")
    logged = dict(groups(rows.sort_values("step", kind="stable"), ["model", "name"]))
    outcomes = []
    for run in runs.to_dict("records"):
        steps = logged[run["model"], run["name"]]
        limit = Limit(run["threshold"], run.pop(INCLUSIVE))
        outcome = reduce_run(steps, limit, judgement.best_range)
        outcomes.append(run | outcome | {"size": len(steps)})
    return pd.DataFrame(sorted(outcomes, key=_place))


def _limits(runs: pd.DataFrame, judgement: Judgement) -> list[Limit]:
    """Return when each run is solved."""
    if judgement.threshold is not None:
        return [Limit(judgement.threshold)] * len(runs)
    thresholds = usual_thresholds()
    if judgement.setups or judgement.parameter is not None:
        setups = read_setups(judgement.setups or SHIPPED)
        known = known_parameters(setups)
        if judgement.parameter not in (None, *known):
            problem = f"the tables of thresholds have no rows of {judgement.parameter!r}"
            hint = did_you_mean(str(judgement.parameter), known, f"write one of {', '.join(known)}")
            raise OptionError("--parameter", problem, hint)
        thresholds = Thresholds(setups, judgement.parameter)
    return [thresholds.of(run) for run in runs.to_dict("records")]


def _place(run: dict) -> tuple:
    """Return the sort key of a run: operation, training range, model, name."""

    def place(order: Sequence[str], value: str) -> int:
        return order.index(value) if value in order else len(order)

    trained_on = run["interpolation.range"]
    return (
        place(list(OPERATIONS), run["operation"]),
        place(INTERPOLATION_ORDER, trained_on),
        trained_on,
        model_order(run["model"]),
        run["name"],
    )


def _rows_and_runs(
    parts: Sequence[tuple[Path | str, pd.DataFrame]], models: Sequence[str] | None
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the logged rows of all tables, and a table of one row per run with its options.

    Both have the columns `model` and `name`, which tell runs apart; two tables that hold the same
    run under one label are refused.
    """
    rows, runs = [], []
    for i, (path, part) in enumerate(parts):
        require(part, EXPORTED, path, "an export of metrics")
        if part.empty:
            continue
        part = numeric(part, EXPORTED[1:], path)
        _, options = parsed_names(part, expand_name, path)
        if models is not None:
            options["model"] = models[i]
        labels = options[["name", "model"]]
        logged = part.loc[:, list(EXPORTED)].astype({"name": str})
        rows.append(logged.merge(labels, on="name", validate="many_to_one"))
        runs.append(options)
    if not runs:
        raise UsageError(f"there is no run in {', '.join(str(path) for path, _ in parts)}")
    table = pd.concat(runs, ignore_index=True)
    twice = table["name"][table.duplicated(["model", "name"])].tolist()
    if twice:
        raise UsageError(f"two files hold run {twice[0]}; tell them apart by --models")
    return pd.concat(rows, ignore_index=True), table


def best_row(validation: np.ndarray, best_range: int = BEST_RANGE) -> int:
    """Return the index of the first minimum among the last `best_range` errors.

    Where all of them are missing, that is the last row.
    """
    size = len(validation)
    first = max(0, size - best_range)
    last = validation[first:]
    return size - 1 if np.isnan(last).all() else first + int(np.nanargmin(last))


def reduce_run(rows: pd.DataFrame, limit: Limit, best_range: int = BEST_RANGE) -> dict:
    """Return the outcome of one run from its rows in step order.

    There is no condition on sparsity, and the first step below the threshold may come before
    the row that the run is judged at.
    """
    validation = rows[VALIDATION].to_numpy(dtype=float)
    test = rows[TEST].to_numpy(dtype=float)
    steps = rows["step"].to_numpy(dtype=float)
    best = best_row(validation, best_range)
    low_enough = limit.met(test)
    return {
        "threshold": limit.threshold,
        "best.model.step": best + 1,
        "interpolation.last": float(validation[best]),
        "extrapolation.last": float(test[best]),
        "interpolation.step.solved": _first(steps, limit.met(validation)),
        "extrapolation.step.solved": _first(steps, low_enough),
        "sparse.error.max": float(rows[SPARSITY].iloc[best]),
        "solved": bool(low_enough[best]),
    }


def _first(steps: np.ndarray, chosen: np.ndarray) -> float:
    return float(steps[np.argmax(chosen)]) if chosen.any() else math.nan
