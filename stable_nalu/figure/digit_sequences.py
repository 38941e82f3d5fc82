"""Runs of the sequence tasks: one row per run and test length, judged by a reference network."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np
import pandas as pd

from stable_nalu.errors import UsageError
from stable_nalu.statistics.judge import SPARSITY, TEST, VALIDATION, best_row
from stable_nalu.statistics.table import numeric
from stable_nalu.statistics.thresholds import from_reference

from .entry import Reference, Runs
from .source import Source, read_csv, with_names

SEQUENCE_VALIDATION = "metric.valid.mse"
LOGGED = ("name", "step", SEQUENCE_VALIDATION, SPARSITY)
_TEST = re.compile(r"metric\.test\.extrapolation\.(\d+)\.mse")


def lengths(table: pd.DataFrame) -> dict[int, str]:
    """Return the column of every test length, in ascending order."""
    found = {int(m[1]): column for column in table if (m := _TEST.fullmatch(str(column)))}
    return dict(sorted(found.items()))


def reference_thresholds(reference: Reference, last: int, source: Source) -> Mapping[int, float]:
    """Return the threshold of every length: a 99 % bound on the errors of reference networks.

    last: number of rows at the end of a run that its best one is among.
    """
    path = source.find(reference.files)
    if path is None:
        name = reference.files[0]
        raise UsageError(
            f"no file {source.csv_dir / name}.csv: it gives the thresholds; train `reference` of "
            f"{name.replace('_reference', '_long')}, or use --threshold"
        )
    table = read_csv(path, LOGGED[:3])
    columns = lengths(table)
    table = numeric(table, [SEQUENCE_VALIDATION, *columns.values()], path)
    rows = with_names(table, "sequence", path).sort_values(["name", "step"], kind="stable")
    rows = rows.loc[rows["seed"].isin(reference.seeds)]
    best = {
        int(run["seed"].iloc[0]): run.iloc[best_row(run[SEQUENCE_VALIDATION].to_numpy(), last)]
        for _, run in rows.groupby("name")
    }
    absent = [str(seed) for seed in reference.seeds if seed not in best]
    if absent:
        source.warn(f"missing: reference seeds {', '.join(absent)} ({path})")
    seeds = [seed for seed in reference.seeds if seed in best]
    if len(seeds) < 2:
        raise UsageError(f"{path} holds {len(seeds)} of the reference seeds: two are needed")
    bound = {"level": reference.level, "of_one_run": reference.of_one_run}
    return {
        length: from_reference({seed: float(best[seed][column]) for seed in seeds}, seeds, **bound)
        for length, column in columns.items()
    }


def judged_rows(
    rows: pd.DataFrame, thresholds: Mapping[int, float], spec: Runs, source: Source
) -> list[pd.DataFrame]:
    """Return the rows of every length, in the columns of the arithmetic tasks, with thresholds."""
    tables = []
    for length, column in lengths(rows).items():
        if spec.length not in (None, length):
            continue
        threshold = thresholds.get(length, np.nan)
        if np.isnan(threshold):
            source.warn(f"length {length} left out, the reference has no threshold for it")
            continue
        one = rows.rename(columns={SEQUENCE_VALIDATION: VALIDATION, column: TEST})
        x = {spec.x: length} if spec.length is None else {}
        tables.append(one.assign(threshold=threshold, **x))
    if not tables and spec.length is not None:
        source.warn(f"no run was tested at length {spec.length}")
    return tables
