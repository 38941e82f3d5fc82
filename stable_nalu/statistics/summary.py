"""One row a plotted point: success rate, solved at, sparsity error, each with its 95 % interval.

Columns have the names of the published tables. Solved at and sparsity error are of solved runs
only.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from .bootstrap import RESAMPLES, STATISTICS, bootstrap
from .goodness_of_fit import beta_p_value, gamma_p_value
from .grouping import groups
from .intervals import wilson
from .solved_at import GammaFit, solved_at
from .sparsity import SparsityFit, mean_sparsity

SOLVED, STEP, SPARSITY = "solved", "extrapolation.step.solved", "sparse.error.max"
MEASURES = ("success.rate", "converged.at", "sparse.error")


@dataclass(frozen=True)
class Estimators:
    """How means and intervals are made; the defaults are the papers'.

    goodness_of_fit: also give p of tests of the fitted densities, in `<measure>.ks.p`.
    plain: also give the arithmetic mean and the median with bootstrap intervals, in columns
        `<measure>.plain.<mean or median>[.lower or .upper]`.
    """

    gamma_fit: GammaFit = "published"
    sparsity_fit: SparsityFit = "compat"
    plain: bool = False
    resamples: int = RESAMPLES
    seed: int = 0
    goodness_of_fit: bool = False


PUBLISHED = Estimators()


def summarize_group(
    solved: np.ndarray,
    steps: np.ndarray,
    sparsity: np.ndarray,
    estimators: Estimators = PUBLISHED,
) -> dict[str, float]:
    """Summary of the runs of one group: arrays of one entry a run, steps NaN where not solved."""
    steps, sparsity = steps[solved], sparsity[solved]
    steps, sparsity = steps[~np.isnan(steps)], sparsity[~np.isnan(sparsity)]
    rate = wilson(int(solved.sum()), len(solved))
    converged = solved_at(steps, estimators.gamma_fit)
    sparse = mean_sparsity(sparsity, estimators.sparsity_fit)
    row = {
        "success.rate.mean": rate.mean,
        "success.rate.lower": rate.lower,
        "success.rate.upper": rate.upper,
        "success.rate.max": math.nan,
        "converged.at.median": float(np.median(steps)) if len(steps) else math.nan,
        "converged.at.sigma.2": converged.nuisance,
        "converged.at.mean": converged.mean,
        "converged.at.lower": converged.lower,
        "converged.at.upper": converged.upper,
        "converged.at.max": float(np.max(steps)) if len(steps) else math.nan,
        "sparse.error.v": sparse.nuisance,
        "sparse.error.mean": sparse.mean,
        "sparse.error.lower": sparse.lower,
        "sparse.error.upper": sparse.upper,
        "sparse.error.max": math.nan,
    }
    if estimators.plain:
        row |= _plain("converged.at", steps, estimators) | _plain(
            "sparse.error", sparsity, estimators
        )
    if estimators.goodness_of_fit:
        row |= {
            "converged.at.ks.p": gamma_p_value(steps),
            "sparse.error.ks.p": beta_p_value(sparsity),
        }
    return row


def _plain(measure: str, values: np.ndarray, estimators: Estimators) -> dict[str, float]:
    row = {}
    for statistic in STATISTICS:
        found = bootstrap(values, statistic, resamples=estimators.resamples, seed=estimators.seed)
        column = f"{measure}.plain.{statistic}"
        row |= {column: found.mean, f"{column}.lower": found.lower, f"{column}.upper": found.upper}
    return row


def summarize(
    runs: pd.DataFrame, by: Iterable[str], estimators: Estimators = PUBLISHED
) -> pd.DataFrame:
    """One row a group, in order of appearance.

    runs: one row a run with the columns `by`, `solved`, `extrapolation.step.solved` and
        `sparse.error.max`.
    """
    by = list(by)
    rows = []
    for key, group in groups(runs, by):
        columns = (
            group[SOLVED].to_numpy(dtype=bool),
            group[STEP].to_numpy(dtype=float),
            group[SPARSITY].to_numpy(dtype=float),
        )
        rows.append(dict(zip(by, key, strict=True)) | summarize_group(*columns, estimators))
    return pd.DataFrame(rows)


def long_form(summary: pd.DataFrame, by: Iterable[str]) -> pd.DataFrame:
    """The summary with one row a group and measure, as the plots and their side files hold it.

    `our.model` marks NMU and NAU.
    """
    by = list(by)
    parts = []
    for measure in MEASURES:
        part = summary[by].copy()
        part["key"] = measure
        for column in ("mean", "upper", "lower", "max"):
            part[f"{column}.value"] = summary[f"{measure}.{column}"]
        parts.append(part)
    table = pd.concat(parts).sort_index(kind="stable").reset_index(drop=True)
    table["our.model"] = table["model"].isin(["NMU", "NAU"])
    return table
