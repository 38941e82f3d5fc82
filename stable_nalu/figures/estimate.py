"""From runs to plotted points: the published summary, and how many runs are behind each mean."""

from __future__ import annotations

import pandas as pd

from stable_nalu.statistics.estimators import Estimators
from stable_nalu.statistics.summary import MEASURES, summarize

from .parts import Runs
from .product import Context
from .runs import Reduced, reduce_series

TITLES = {
    "success.rate": "Success rate",
    "converged.at": "Solved at iteration step",
    "sparse.error": "Sparsity error",
}


def estimate(runs: pd.DataFrame, by: list[str], estimators: Estimators) -> pd.DataFrame:
    """One row a group: the summary columns, `n` runs and those of them that `failed`.

    Success rates are of all n runs; the two other measures of the n - failed that solved the task.
    """
    summary = summarize(runs, by, estimators)
    groups = runs.groupby(by, sort=False, dropna=False, observed=True)["solved"]
    sizes, solved = groups.size(), groups.sum()
    counts = pd.DataFrame({"n": sizes, "failed": sizes - solved}).reset_index()
    return summary.merge(counts, on=by, how="left")


def points(summary: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Columns mean, lower, upper and count of one measure."""
    if measure not in MEASURES:
        raise ValueError(measure)
    solved = summary["n"] - summary["failed"]
    return pd.DataFrame(
        {
            "mean": summary[f"{measure}.mean"],
            "lower": summary[f"{measure}.lower"],
            "upper": summary[f"{measure}.upper"],
            "count": summary["n"] if measure == "success.rate" else solved,
        }
    )


def reduced_and_estimated(
    spec: Runs, by: list[str], context: Context
) -> tuple[Reduced, pd.DataFrame]:
    """Runs of a figure and their summary, made once for parts that show the same."""
    key = (spec, tuple(by))
    if key not in context.memory:
        reduced = reduce_series(context.series, spec, context.source, context.setups)
        context.memory[key] = (reduced, estimate(reduced.runs, by, context.estimators))
    return context.memory[key]
