"""One row a run: the success criterion applied to the logged rows of finished runs."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from .grouping import groups

VALIDATION = "metric.valid.interpolation"
TEST = "metric.test.extrapolation"
SPARSITY = "sparse.error.max"
BEST_RANGE = 5000


@dataclass(frozen=True)
class Criterion:
    """When a run counts as solved.

    best_range: the run is judged at the lowest validation error among its last so many rows.
    inclusive: an error equal to the threshold is good enough (division by small numbers).
    """

    best_range: int = BEST_RANGE
    inclusive: bool = False

    def met(self, errors: np.ndarray, threshold: float) -> np.ndarray:
        """Which errors are low enough; a missing one is not."""
        return errors <= threshold if self.inclusive else errors < threshold


PUBLISHED = Criterion()


def best_row(validation: np.ndarray, best_range: int = BEST_RANGE) -> int:
    """Index of the first minimum among the last `best_range`; the last row if all are missing."""
    size = len(validation)
    first = max(0, size - best_range)
    last = validation[first:]
    return size - 1 if np.isnan(last).all() else first + int(np.nanargmin(last))


def reduce_run(rows: pd.DataFrame, threshold: float, criterion: Criterion = PUBLISHED) -> dict:
    """The outcome of one run from its rows in step order.

    There is no condition on sparsity, and the first step below the threshold may come before
    the row that the run is judged at.
    """
    validation = rows[VALIDATION].to_numpy(dtype=float)
    test = rows[TEST].to_numpy(dtype=float)
    steps = rows["step"].to_numpy(dtype=float)
    best = best_row(validation, criterion.best_range)
    low_enough = criterion.met(test, threshold)
    return {
        "threshold": threshold,
        "best.model.step": best + 1,
        "interpolation.last": float(validation[best]),
        "extrapolation.last": float(test[best]),
        "interpolation.step.solved": _first(steps, criterion.met(validation, threshold)),
        "extrapolation.step.solved": _first(steps, low_enough),
        "sparse.error.max": float(rows[SPARSITY].iloc[best]),
        "solved": bool(low_enough[best]),
    }


def _first(steps: np.ndarray, chosen: np.ndarray) -> float:
    return float(steps[np.argmax(chosen)]) if chosen.any() else math.nan


def reduce_runs(
    rows: pd.DataFrame, parameter: str, criterion: Criterion = PUBLISHED
) -> pd.DataFrame:
    """One row a run, in the column order of the published side files.

    rows: logged rows with `model`, `name`, `operation`, `seed`, `threshold` and the column
        `parameter`, besides what the exporter writes. Order within a run does not matter.
    """
    rows = rows.sort_values(["model", "name", "step"], kind="stable")
    table = []
    for (model, name), run in groups(rows, ["model", "name"]):
        last = run.iloc[-1]
        outcome = reduce_run(run, float(last["threshold"]), criterion)
        identity = {"model": model, "operation": last["operation"], "seed": last["seed"]}
        table.append(
            {"name": name, parameter: last[parameter]} | outcome | identity | {"size": len(run)}
        )
    return pd.DataFrame(table)
