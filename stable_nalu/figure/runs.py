"""From exported files to plotted points: one row per run, judged, summarised, gaps named."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from stable_nalu.errors import UsageError
from stable_nalu.paper.drawing import Reference, Runs, Series, Threshold
from stable_nalu.statistics.estimators import Estimators
from stable_nalu.statistics.judge import (
    INCLUSIVE,
    SPARSITY,
    TEST,
    VALIDATION,
    best_row,
    reduce_run,
)
from stable_nalu.statistics.names import plain
from stable_nalu.statistics.setups import (
    SHIPPED,
    Limit,
    Thresholds,
    limit_of,
    read_setups,
)
from stable_nalu.statistics.summary import MEASURES, summarize
from stable_nalu.statistics.table import groups, numeric, refuse_repeated
from stable_nalu.statistics.thresholds import from_reference

from .source import Source, read_csv, with_names
from .style import drawable, legend_order, range_order

if TYPE_CHECKING:
    from .entry import Context

BEST_STEP = "best.step"
LOGGED = ("name", "step", VALIDATION, TEST, SPARSITY)
SEQUENCE_VALIDATION = "metric.valid.mse"
SEQUENCES_LOGGED = ("name", "step", SEQUENCE_VALIDATION, SPARSITY)
_TEST_OF_SEQUENCES = re.compile(r"metric\.test\.extrapolation\.(\d+)\.mse")


@dataclass(frozen=True)
class Reduced:
    """One row per run.

    models: the models of the legend, in its order, missing ones included.
    missing: the models without a run.
    """

    runs: pd.DataFrame
    models: tuple[str, ...]
    missing: tuple[str, ...]


def reduced_and_estimated(
    spec: Runs, by: list[str], context: Context
) -> tuple[Reduced, pd.DataFrame]:
    """Return the runs of a figure and their summary, made once for parts that show the same."""
    key = (spec, tuple(by), tuple(context.series))
    if key not in context.shared:
        reduced = reduce_series(context.series, spec, context.source, context.setups)
        context.shared[key] = (reduced, estimate(reduced.runs, by, context.estimators))
    return context.shared[key]


def estimate(runs: pd.DataFrame, by: list[str], estimators: Estimators) -> pd.DataFrame:
    """Return one row per group: the summary columns, `n` runs and those of them that `failed`.

    Success rates are of all n runs; the two other measures of the n - failed that solved the task.
    """
    summary = summarize(runs, by, estimators)
    groups = runs.groupby(by, sort=False, dropna=False, observed=True)["solved"]
    sizes, solved = groups.size(), groups.sum()
    counts = pd.DataFrame({"n": sizes, "failed": sizes - solved}).reset_index()
    return summary.merge(counts, on=by, how="left")


def points(summary: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Return the columns mean, lower, upper and count of one measure."""
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


def reduce_series(
    series: Sequence[Series], spec: Runs, source: Source, setups: Sequence[Path] = ()
) -> Reduced:
    """Read, choose, name and judge the runs of a figure."""
    tables, missed = [], []
    flat = spec.threshold.flat
    reference: Mapping[int, float] = {}
    for one in series:
        judged = source.judged_runs(one)
        if judged is not None:
            tables.append(labelled(judged, one, spec, Path(one.files[0])))
            continue
        rows = read_series(one, spec, source, SEQUENCES_LOGGED if spec.reference else LOGGED)
        if rows is None:
            missed += one.missed
            continue
        if spec.reference is None:
            parts = [with_thresholds(rows, spec.threshold, source, setups)]
        else:
            if flat is None and not reference:
                reference = reference_thresholds(spec.reference, spec.best_range, source)
            known = reference if flat is None else dict.fromkeys(tested_lengths(rows), flat)
            parts = judged_rows(rows, known, spec, source)
        tables += [reduce_rows(part, one, spec) for part in parts if not part.empty]
    tables = [table for table in tables if not table.empty]
    if not tables:
        raise UsageError(f"nothing to draw: {'; '.join(source.warnings) or 'no run is left'}")
    runs = pd.concat(tables, ignore_index=True)
    if "name" in runs:
        own = dict.fromkeys(("model", "name", "operation", spec.x, spec.extra))
        twice = runs.loc[runs.duplicated([column for column in own if column in runs])]
        if len(twice):
            problem = f"run {twice['name'].iloc[0]} is there twice"
            raise UsageError(f"{problem}; give each run once, or label the files apart")
        _warn_of_mixtures(runs, spec, source)
    return gathered(runs, [one.label for one in series], missed, spec, source)


def _warn_of_mixtures(runs: pd.DataFrame, spec: Runs, source: Source) -> None:
    """Warn where a point is of several runs with one seed: they differ in options besides x."""
    point = [column for column in ("model", "operation", spec.x, spec.extra) if column in runs]
    names = runs.groupby([*point, "seed"], sort=False, dropna=False)["name"].agg(list)
    for (model, *_), found in names.loc[names.map(len) > 1].items():
        parts = [name.split("_") for name in found[:2]]
        one, other = (
            "_".join(part for part in parts[i] if part not in parts[1 - i]) for i in (0, 1)
        )
        source.warn(
            f"{plain(model)}: runs that differ in more than {spec.x} count as one point, such as "
            f"{one} and {other} of one seed; give them in files of their own, with --label"
        )
        return


def read_series(
    one: Series, spec: Runs, source: Source, columns: Sequence[str]
) -> pd.DataFrame | None:
    """Return the rows of one file with the columns of its names and the labels of its models."""
    path = source.expect(one.files, one.missed)
    if path is None:
        return None
    table = read_csv(path, columns)
    if table.empty:
        source.warn(f"missing: {', '.join(map(plain, one.missed))} ({path} has no rows)")
        return None
    table = numeric(table, [column for column in columns if column != "name"], path)
    rows = labelled(table, one, spec, path)
    if rows.empty:
        source.warn(f"missing: {', '.join(map(plain, one.missed))} ({path} has no such runs)")
        return None
    return rows


def labelled(table: pd.DataFrame, one: Series, spec: Runs, path: Path) -> pd.DataFrame:
    """Add the columns of run names and the labels of models; keep what the figure is about."""
    rows = with_names(table, spec.names, path)
    rows["model"] = rows["model"].map(drawable) if one.label is None else one.label
    try:
        made = [("model", spec.relabel)] if spec.relabel is not None else []
        for column, make in [*made, *spec.derive]:
            runs = rows.drop_duplicates("name").to_dict("records")
            found = {run["name"]: make(run) for run in runs}
            rows[column] = [found[name] for name in rows["name"]]
    except KeyError as error:
        raise UsageError(f"{path}: run names hold no {error.args[0]}") from None
    return keep(rows, spec)


def keep(rows: pd.DataFrame, spec: Runs) -> pd.DataFrame:
    """Keep the rows that a figure is about."""
    wanted = pd.Series(True, index=rows.index)
    for only in spec.only:
        if only.column not in rows:
            raise UsageError(f"run names hold no {only.column}")
        wanted &= rows[only.column].isin(only.values) | ~_among(rows, only.models)
    return rows.loc[wanted & _among(rows, spec.models if spec.closed else None)]


def _among(rows: pd.DataFrame, models: Sequence[str] | None) -> pd.Series:
    """Say of which rows the model is one of some; None: of all."""
    return (
        pd.Series(True, index=rows.index) if models is None else rows.loc[:, "model"].isin(models)
    )


def with_thresholds(
    rows: pd.DataFrame, spec: Threshold, source: Source, setups: Sequence[Path]
) -> pd.DataFrame:
    """Keep the rows of runs that have a threshold, and add it.

    setups: files to look up, also where one number would do; none: the usual ones.
    """
    beside = source.find((spec.file,)) if spec.file else None
    paths = list(setups) or ([beside] if beside else [])
    if paths:
        source.note(f"thresholds: {', '.join(map(str, paths))}")
    look_up = _look_up(paths, spec)
    runs = rows.drop_duplicates("name").to_dict("records")
    limits = {run["name"]: look_up(run) for run in runs}
    gone = [run for run in runs if isnan(limits[run["name"]].threshold)]
    lost = Counter((run["operation"], run["extrapolation.range"]) for run in gone)
    for (operation, tested), count in lost.items():
        source.warn(f"{count} runs left out, no threshold for {operation} on {plain(tested)}")
    rows = rows.assign(
        threshold=[limits[name].threshold for name in rows["name"]],
        inclusive=[limits[name].inclusive for name in rows["name"]],
    )
    return rows.loc[rows["threshold"].notna()]


def _look_up(paths: Sequence[Path], spec: Threshold) -> Callable[[dict], Limit]:
    """Return what finds the limit of a run: in setup files, one number, or in the usual files."""
    flat = spec.flat
    if not paths and flat is not None:
        return lambda run: Limit(flat)
    if not paths and spec.parameter is None:
        return limit_of
    setups = read_setups(paths or SHIPPED)
    if not spec.by_input_size:
        return Thresholds(setups, spec.parameter).of
    sizes = {row["input.size"] for row in setups}
    tables = {
        size: Thresholds([row for row in setups if row["input.size"] == size], spec.parameter)
        for size in sizes
    }
    nothing = Thresholds([])
    return lambda run: tables.get(run["input.size"], nothing).of(run)


def reduce_rows(rows: pd.DataFrame, one: Series, spec: Runs) -> pd.DataFrame:
    """Return one row per run, in the column order of the published side files."""
    extra = [column for column in (spec.x, spec.extra) if column is not None]
    needed = [*LOGGED, "model", "operation", "seed", "threshold", *extra]
    lacking = [column for column in needed if column not in rows]
    if lacking:
        raise UsageError(f"run names of {one.files[0]} hold no {', '.join(lacking)}")
    refuse_repeated(rows, ["name", "step"])
    table: list[dict[str, Any]] = []
    ordered = rows.sort_values(["model", "name", "step"], kind="stable")
    for (model, name), run in groups(ordered, ["model", "name"]):
        last = run.iloc[-1]
        limit = Limit(float(last["threshold"]), bool(last.get(INCLUSIVE, False)))
        outcome = reduce_run(run, limit, spec.best_range)
        found = {"name": name, spec.x: last[spec.x]} | outcome | {"model": model}
        found |= {"operation": last["operation"], "seed": last["seed"], "size": len(run)}
        found[BEST_STEP] = run["step"].iloc[outcome["best.model.step"] - 1]
        table.append(found | {column: last[column] for column in extra})
    return pd.DataFrame(table)


def gathered(
    runs: pd.DataFrame,
    labels: Sequence[str | None],
    missed: Sequence[str],
    spec: Runs,
    source: Source,
) -> Reduced:
    """Give the runs their legend; warn of expected models and points without a run."""
    present = dict.fromkeys(runs["model"])
    absent = [model for model in (*missed, *spec.models) if model not in present]
    for model in dict.fromkeys(absent):
        if model not in missed:
            source.warn(f"missing: {plain(model)} (no run of it)")
    if without := int(runs[spec.x].isna().to_numpy().sum()):
        source.warn(f"{without} runs have no {spec.x} and are left out")
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
    """Return values of x in the order of the axis: expected ones and those that runs have."""
    return in_order([*spec.expected, *reduced.runs[spec.x].dropna()], spec.x)


def in_order(values: Iterable[Any], column: str) -> list:
    """Return the different values of a column: numbers ascending, ranges and texts as they come."""
    found: list[Any] = list(dict.fromkeys(values))
    if all(isinstance(value, str) for value in found):
        return range_order(found) if column == "interpolation.range" else found
    return sorted(found)


def tested_lengths(table: pd.DataFrame) -> dict[int, str]:
    """Return the column of every test length, in ascending order."""
    found = {
        int(m[1]): column for column in table if (m := _TEST_OF_SEQUENCES.fullmatch(str(column)))
    }
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
    table = read_csv(path, SEQUENCES_LOGGED[:3])
    columns = tested_lengths(table)
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
    for length, column in tested_lengths(rows).items():
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
