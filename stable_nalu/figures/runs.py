"""From exported files to one row a run, with what is missing on the way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from stable_nalu.errors import UsageError
from stable_nalu.statistics.reduce import SPARSITY, TEST, VALIDATION, Criterion, reduce_runs

from .entry import Series
from .order import legend_order, plain, range_order
from .parts import Only, Runs
from .source import Source, numeric, read_csv, with_names
from .thresholds import run_thresholds

LOGGED = ("name", "step", VALIDATION, TEST, SPARSITY)


@dataclass(frozen=True)
class Reduced:
    """One row a run.

    models: those of the legend, in its order, missing ones included.
    missing: those without a run.
    """

    runs: pd.DataFrame
    models: tuple[str, ...]
    missing: tuple[str, ...]


def reduce_series(
    series: Sequence[Series], spec: Runs, source: Source, setups: Path | None = None
) -> Reduced:
    """Read, choose, name and judge the runs of a figure."""
    criterion = Criterion(spec.best_range, spec.inclusive)
    columns = (*LOGGED, *extra_columns(spec))
    tables, missed = [], []
    for one in series:
        rows = read_series(one, spec, source, LOGGED)
        if rows is None:
            missed += one.missed
            continue
        rows = with_thresholds(rows, one, spec, source, setups)
        if not rows.empty:
            lacking = [column for column in columns if column not in rows]
            if lacking:
                raise UsageError(f"run names of {one.files[0]} hold no {', '.join(lacking)}")
            tables.append(reduce_rows(rows, spec, criterion))
    if not tables:
        raise UsageError(f"nothing to draw: {'; '.join(source.warnings) or 'no run is left'}")
    runs = pd.concat(tables, ignore_index=True)
    return gathered(runs, [one.label for one in series], missed, spec, source)


def extra_columns(spec: Runs) -> tuple[str, ...]:
    """Columns besides those of the exporter that a figure needs of every run."""
    return tuple(column for column in (spec.x, spec.extra) if column is not None)


def read_series(
    one: Series, spec: Runs, source: Source, columns: Sequence[str]
) -> pd.DataFrame | None:
    """Rows of one file with the columns of its names and the labels of its models."""
    path = source.expect(one.files, one.missed)
    if path is None:
        return None
    table = read_csv(path, columns)
    if table.empty:
        source.warn(f"missing: {', '.join(map(plain, one.missed))} ({path} has no rows)")
        return None
    table = numeric(table, [column for column in columns if column != "name"], path)
    rows = with_names(table, spec.names, path)
    if one.label is not None:
        rows["model"] = one.label
    if spec.relabel is not None:
        rows["model"] = spec.relabel(rows)
    return keep(rows, spec)


def keep(rows: pd.DataFrame, spec: Runs) -> pd.DataFrame:
    """The rows that a figure is about."""
    wanted = pd.Series(True, index=rows.index)
    for only in spec.only:
        wanted &= _chosen(rows, only)
    if spec.closed:
        wanted &= rows["model"].isin(spec.models)
    return rows[wanted]


def _chosen(rows: pd.DataFrame, only: Only) -> pd.Series:
    if only.column not in rows:
        raise UsageError(f"run names hold no {only.column}")
    chosen = rows[only.column].isin(only.values)
    return chosen if only.models is None else chosen | ~rows["model"].isin(only.models)


def with_thresholds(
    rows: pd.DataFrame, one: Series, spec: Runs, source: Source, setups: Path | None
) -> pd.DataFrame:
    """Rows of the runs that have a threshold, and the threshold."""
    rule = spec.threshold
    if one.parameter is not None:
        rule = rule.of(one.parameter)
    names = rows.drop_duplicates("name").set_index("name")
    found = run_thresholds(names, rule, source, setups)
    rows = rows.assign(threshold=rows["name"].map(found))
    return rows[rows["threshold"].notna()]


def reduce_rows(rows: pd.DataFrame, spec: Runs, criterion: Criterion) -> pd.DataFrame:
    """One row a run, with the grouping columns."""
    needed = [*LOGGED, "model", "operation", "seed", "threshold", *extra_columns(spec)]
    runs = reduce_runs(rows[list(dict.fromkeys(needed))], spec.x, criterion)
    if spec.extra is not None:
        values = rows.drop_duplicates("name").set_index("name")[spec.extra]
        runs[spec.extra] = runs["name"].map(values)
    return runs


def gathered(
    runs: pd.DataFrame,
    labels: Sequence[str | None],
    missed: Sequence[str],
    spec: Runs,
    source: Source,
) -> Reduced:
    """The runs with the legend; expected models and points without a run are named."""
    present = dict.fromkeys(runs["model"])
    absent = [model for model in (*missed, *spec.models) if model not in present]
    for model in dict.fromkeys(absent):
        if model not in missed:
            source.warn(f"missing: {plain(model)} (no run of it)")
    listed = [label for label in labels if label is not None]
    everyone = [*present, *dict.fromkeys(absent)]
    models = list(dict.fromkeys(listed)) if listed else legend_order(everyone)
    for model in present:
        there = set(runs.loc[runs["model"] == model, spec.x])
        gaps = [str(value) for value in spec.expected if value not in there]
        if gaps:
            source.warn(f"missing: {plain(model)} at {spec.x} {', '.join(gaps)} (no run)")
    return Reduced(runs, tuple(models), tuple(dict.fromkeys(absent)))


def x_values(reduced: Reduced, spec: Runs) -> list:
    """Values of x in the order of the axis: expected ones and those that runs have."""
    found = dict.fromkeys([*spec.expected, *reduced.runs[spec.x].dropna()])
    if all(isinstance(value, str) for value in found):
        return range_order(found) if spec.x == "interpolation.range" else list(found)
    return sorted(found)
