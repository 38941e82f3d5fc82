"""From exported files to one row a run, with what is missing on the way."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from stable_nalu.errors import UsageError
from stable_nalu.statistics.judge import SPARSITY, TEST, VALIDATION, Criterion, reduce_runs

from . import sequence
from .entry import Series
from .order import legend_order, plain, range_order
from .parts import Only, Runs
from .source import Source, numeric, read_csv, with_names
from .thresholds import run_thresholds

BEST_STEP = "best.step"
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
    series: Sequence[Series], spec: Runs, source: Source, setups: Sequence[Path] = ()
) -> Reduced:
    """Read, choose, name and judge the runs of a figure."""
    tables, missed = [], []
    judge = _judge_sequences(spec, source) if spec.reference else _judge(spec, source, setups)
    logged = sequence.LOGGED if spec.reference else LOGGED
    for one in series:
        rows = read_series(one, spec, source, logged)
        if rows is None:
            missed += one.missed
            continue
        for judged in judge(rows, one):
            if not judged.empty:
                tables.append(reduce_rows(judged, one, spec))
    if not tables:
        raise UsageError(f"nothing to draw: {'; '.join(source.warnings) or 'no run is left'}")
    runs = pd.concat(tables, ignore_index=True)
    return gathered(runs, [one.label for one in series], missed, spec, source)


Judge = Callable[[pd.DataFrame, Series], list[pd.DataFrame]]


def _judge(spec: Runs, source: Source, setups: Sequence[Path]) -> Judge:
    return lambda rows, one: [with_thresholds(rows, spec, source, setups)]


def _judge_sequences(spec: Runs, source: Source) -> Judge:
    reference, flat = spec.reference, spec.threshold.flat
    if flat is not None or reference is None:
        return lambda rows, one: sequence.judged_rows(
            rows, dict.fromkeys(sequence.lengths(rows), flat or math.nan), spec, source
        )
    thresholds = sequence.reference_thresholds(reference, spec.best_range, source)
    return lambda rows, one: sequence.judged_rows(rows, thresholds, spec, source)


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
    try:
        if spec.relabel is not None:
            rows["model"] = spec.relabel(rows)
        for column, derive in spec.derive:
            rows[column] = derive(rows)
    except KeyError as error:
        raise UsageError(f"{path}: run names hold no {error.args[0]}") from None
    rows = keep(rows, spec)
    if rows.empty:
        source.warn(f"missing: {', '.join(map(plain, one.missed))} ({path} has no such runs)")
        return None
    return rows


def keep(rows: pd.DataFrame, spec: Runs) -> pd.DataFrame:
    """The rows that a figure is about."""
    wanted = pd.Series(True, index=rows.index)
    for only in spec.only:
        wanted &= _chosen(rows, only)
    if spec.closed:
        wanted &= rows["model"].isin(spec.models)
    return rows.loc[wanted]


def _chosen(rows: pd.DataFrame, only: Only) -> pd.Series:
    if only.column not in rows:
        raise UsageError(f"run names hold no {only.column}")
    chosen: pd.Series = rows.loc[:, only.column].isin(only.values)
    return chosen if only.models is None else chosen | ~rows["model"].isin(only.models)


def with_thresholds(
    rows: pd.DataFrame, spec: Runs, source: Source, setups: Sequence[Path]
) -> pd.DataFrame:
    """Rows of the runs that have a threshold, and the threshold."""
    names = rows.drop_duplicates("name").set_index("name")
    found = run_thresholds(names, spec.threshold, source, setups)
    rows = rows.assign(threshold=rows.loc[:, "name"].map(found.to_dict()))
    return rows.loc[rows["threshold"].notna()]


def reduce_rows(rows: pd.DataFrame, one: Series, spec: Runs) -> pd.DataFrame:
    """One row a run, with the grouping columns."""
    needed = [*LOGGED, "model", "operation", "seed", "threshold", *extra_columns(spec)]
    lacking = [column for column in needed if column not in rows]
    if lacking:
        raise UsageError(f"run names of {one.files[0]} hold no {', '.join(lacking)}")
    criterion = Criterion(spec.best_range, spec.inclusive)
    runs = reduce_runs(rows.filter(list(dict.fromkeys(needed))), spec.x, criterion)
    runs[BEST_STEP] = judged_steps(rows, runs)
    if spec.extra is not None:
        values = dict(zip(rows["name"], rows[spec.extra], strict=True))
        runs[spec.extra] = [values[name] for name in runs["name"]]
    return runs


def judged_steps(rows: pd.DataFrame, runs: pd.DataFrame) -> list[float]:
    """Step of the row that each run is judged at."""
    steps = {name: sorted(run["step"]) for name, run in rows.groupby("name", sort=False)}
    places = zip(runs["name"], runs["best.model.step"], strict=True)
    return [steps[name][place - 1] for name, place in places]


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
    found: list[Any] = list(dict.fromkeys([*spec.expected, *reduced.runs[spec.x].dropna()]))
    if all(isinstance(value, str) for value in found):
        return range_order(found) if spec.x == "interpolation.range" else found
    return sorted(found)
