"""Mean, deviation and Student's interval of several measures of runs, one row each."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd
from scipy.stats import t

from .grouping import groups


def mean_summary(
    runs: pd.DataFrame, by: Iterable[str], measures: Mapping[str, str]
) -> pd.DataFrame:
    """n, mean, sd (n - 1), se = sd/sqrt(n) and ci = t(0.975, n-1) se for every group and measure.

    measures: column of `runs` -> text of the column `metric.type`. Missing values are left out.
    """
    by = list(by)
    rows = []
    for column, text in measures.items():
        for key, group in groups(runs, by):
            values = group[column].to_numpy(dtype=float)
            identity = dict(zip(by, key, strict=True))
            rows.append(identity | _moments(values[~np.isnan(values)]) | {"metric.type": text})
    return pd.DataFrame(rows)


def _moments(values: np.ndarray) -> dict[str, float]:
    n = len(values)
    # Infinite errors, of runs that diverged, have no deviation.
    with np.errstate(invalid="ignore"):
        deviation = float(np.std(values, ddof=1)) if n > 1 else math.nan
    error = deviation / math.sqrt(n) if n else math.nan
    return {
        "n": n,
        "mean": float(np.mean(values)) if n else math.nan,
        "sd": deviation,
        "se": error,
        "ci": error * float(t.ppf(0.975, n - 1)) if n > 1 else math.nan,
    }
