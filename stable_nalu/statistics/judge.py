"""From exported files to judged runs: each run's options, its threshold and its outcome."""

import math
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from stable_nalu.base.errors import UsageError
from stable_nalu.dataset.distribution import INTERPOLATION_ORDER

from .names import OPERATIONS, expand_name, is_arithmetic, model_order
from .setups import BEST_RANGE, Judgement, Limit
from .table import ERRORS, groups, numeric, parsed_names, refuse_repeated, require

VALIDATION, TEST, SPARSITY = ERRORS
DIVERGED_AT = "diverged.at"
"""Column, where it is known: the step at which a run diverged, in all rows of the run."""
INCLUSIVE = "inclusive"
"""Column: whether an error equal to the threshold is low enough."""
BEST_STEP = "best.step"
"""Column: the step that a run is judged at."""
EXPORTED = ("name", "step", VALIDATION, TEST, SPARSITY)


def judge_tables(
    parts: Sequence[tuple[Path | str, pd.DataFrame]],
    judgement: Judgement,
    warn: Callable[[str], object],
    models: Sequence[str] | None = None,
) -> pd.DataFrame:
    """Return one row per run: options, threshold, outcome. Runs without a threshold are left out.

    parts: names of tables of logged rows, for messages, and the tables.
    models: a label for each part, in place of those that follow from the options of the runs.
    """
    if models is not None and len(models) != len(parts):
        raise UsageError(f"{len(models)} models are named for {len(parts)} files")
    logged, options = [], []
    for i, (path, part) in enumerate(parts):
        require(part, EXPORTED, path, "an export of metrics")
        if part.empty:
            continue
        part = numeric(part, [*EXPORTED[1:], *part.columns.intersection(["seed"])], path)
        logged.append(part)
        options.append(parsed_names(part, expand_name, path)[1])
        if models is not None:
            options[-1]["model"] = models[i]
    if not options:
        raise UsageError(f"there is no run in {', '.join(str(path) for path, _ in parts)}")
    runs = pd.concat(options, keys=range(len(options)))
    twice = runs["name"][runs.duplicated(["model", "name"])].tolist()
    if twice:
        raise UsageError(f"two files hold run {twice[0]}; tell them apart by --models")
    judgement.refuse_unknown()
    runs = with_limits(runs, judgement, warn)
    if runs.empty:
        raise UsageError("no run has a threshold; give --threshold, or other --exp-setups")
    part_of = runs.index.get_level_values(0)
    found = [
        outcomes(rows, runs.loc[part_of == place], judgement.best_range)
        for place, rows in enumerate(logged)
    ]
    table = pd.concat(found).drop(columns=BEST_STEP)
    return pd.DataFrame(sorted(table.to_dict("records"), key=_place))


def with_limits(
    runs: pd.DataFrame, judgement: Judgement, warn: Callable[[str], object]
) -> pd.DataFrame:
    """Return the runs with their thresholds, and say how many are left out for want of one.

    A run of a script that is not arithmetic stays without one: it is not solved.
    """
    limits = judgement.limits(runs)
    thresholds, inclusive = ([limit[i] for limit in limits] for i in range(2))
    runs = runs.assign(**{"threshold": thresholds, INCLUSIVE: inclusive})
    arithmetic = np.array([is_arithmetic(run) for run in runs.to_dict("records")])
    left_out = runs["threshold"].isna() & arithmetic
    unknown = runs.loc[left_out]
    for (operation, tested_on), group in groups(unknown, ["operation", "extrapolation.range"]):
        warn(f"no threshold for {operation} on {tested_on}: {len(group)} runs left out")
    without = runs.loc[runs["threshold"].isna() & ~arithmetic]
    for (task,), group in groups(without, ["operation"]):
        warn(f"no threshold is known for {task}: {len(group)} runs count as not solved; give one")
    return runs.loc[~left_out]


def outcomes(
    rows: pd.DataFrame,
    runs: pd.DataFrame,
    best_range: int = BEST_RANGE,
    also: Sequence[str] = (),
) -> pd.DataFrame:
    """Return runs, each with what came of it: outcome, number of rows, step that it is judged at.

    rows: logged rows of these runs, in any order, and of others.
    runs: one per row, with a name of its own, and when it is solved.
    also: columns whose values at the row that a run is judged at are wanted.
    """
    rows = rows.astype({"name": str})
    rows = rows.loc[rows["name"].isin(runs["name"])]
    refuse_repeated(rows, ["name", "step"])
    logged = dict(groups(rows.sort_values("step", kind="stable"), ["name"]))
    found = []
    for run in runs.to_dict("records"):
        steps = logged[run["name"],]
        outcome = reduce_run(steps, Limit(run["threshold"], run.pop(INCLUSIVE)), best_range)
        best = steps.iloc[outcome["best.model.step"] - 1]
        facts = {"size": len(steps), BEST_STEP: best["step"]}
        found.append(run | outcome | facts | {column: best[column] for column in also})
    return pd.DataFrame(found)


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
    the row that the run is judged at. A run that diverged has infinite errors.
    """
    validation = rows[VALIDATION].to_numpy(dtype=float)
    test = rows[TEST].to_numpy(dtype=float)
    if DIVERGED_AT in rows and rows[DIVERGED_AT].notna().any():
        validation, test = np.full_like(validation, np.inf), np.full_like(test, np.inf)
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
