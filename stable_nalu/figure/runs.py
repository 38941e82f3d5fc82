"""From exported files to plotted points: one row per run, judged, summarised, gaps named."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from stable_nalu.base.errors import UsageError
from stable_nalu.base.script import plain
from stable_nalu.statistics.judge import (
    BEST_STEP,
    EXPORTED,
    SPARSITY,
    TEST,
    VALIDATION,
    best_row,
    outcomes,
    with_limits,
)
from stable_nalu.statistics.names import expand_name
from stable_nalu.statistics.setups import Estimators, Judgement
from stable_nalu.statistics.summary import summarize
from stable_nalu.statistics.table import groups, numeric, parsed_names
from stable_nalu.statistics.thresholds import from_reference

from .drawing import Reference, Runs, Series
from .entry import Context, Source, distribution, matching, sequence_name, with_names
from .style import drawable, legend_order, range_order

SEQUENCE_VALIDATION = "metric.valid.mse"
SEQUENCES_LOGGED = ("name", "step", SEQUENCE_VALIDATION, SPARSITY)
_TEST_OF_SEQUENCES = r"metric\.test\.extrapolation\.(\d+)\.mse"


def reduced_and_estimated(
    spec: Runs, by: list[str], context: Context
) -> tuple[pd.DataFrame, tuple[str, ...], pd.DataFrame]:
    """Return runs, models and a summary of a figure, made once for parts that show the same."""
    key = (spec, tuple(by))
    if key not in context.shared:
        runs, models = reduce_series(context.figure.series, spec, context)
        context.shared[key] = (runs, models, estimate(runs, by, context.estimators))
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
    """Return mean, interval and number of runs of one measure, and the number that is written.

    It is that of the runs that failed for a success rate, of those that solved the task for others.
    """
    of_all = measure == "success.rate"
    solved = summary["n"] - summary["failed"]
    found = {end: summary[f"{measure}.{end}"] for end in ("mean", "lower", "upper")}
    found["count"] = summary["n"] if of_all else solved
    return pd.DataFrame(found | {"written": summary["failed"] if of_all else solved})


def reduce_series(
    series: Sequence[Series], spec: Runs, context: Context, also: Sequence[str] = ()
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Return one row per judged run of a figure, and its models in the order of the legend.

    Models without a run are among them.

    also: columns whose values at the row that a run is judged at are wanted.
    """
    tables, missed, source = [], [], context.source
    judgement = judgement_of(spec, context)
    reference: Mapping[int, float] = {}
    for one in series:
        if source.is_judged and (path := source.find(one.files)):
            kept = source.read(path, ("name", "solved"))
            tables.append(kept.merge(labelled(kept, one, spec, path), on="name"))
            continue
        read = read_series(one, spec, source, SEQUENCES_LOGGED if spec.reference else EXPORTED)
        if read is None:
            missed += one.missed
            continue
        rows, runs = read
        if spec.reference is None:
            needed = (spec.x, spec.extra)
            if lacking := [column for column in needed if column and column not in runs]:
                raise UsageError(f"run names of {one.files[0]} hold no {', '.join(lacking)}")
            parts = [(rows, with_limits(runs, judgement, source.warn))]
        else:
            if judgement.threshold is None and not reference:
                reference = reference_thresholds(spec.reference, judgement.best_range, source)
            parts = of_lengths(rows, runs, judgement.threshold or reference, spec, source)
        window = judgement.best_range
        tables += [
            reduce_rows(*part, one, spec, window, also) for part in parts if not part[1].empty
        ]
    tables = [table for table in tables if not table.empty]
    if not tables:
        raise source.nothing()
    runs = pd.concat(tables, ignore_index=True)
    if "name" in runs:
        own = dict.fromkeys(("model", "name", "operation", spec.x, spec.extra))
        twice = runs.loc[runs.duplicated([column for column in own if column in runs])]
        if len(twice):
            problem = f"run {twice['name'].iloc[0]} is there twice"
            raise UsageError(f"{problem}; give each run once, or label the files apart")
        _warn_of_mixtures(runs, spec, source)
    return runs, legend_models(runs, series, missed, spec, source)


def judgement_of(spec: Runs, context: Context) -> Judgement:
    """Return how the runs of a figure are judged: as a user asks for, or as the figure has it."""
    beside = context.source.find(map(str, context.figure.judgement.setups))
    own = replace(context.figure.judgement, setups=() if beside is None else (beside,))
    found = own.given(context.threshold, context.setups)
    if found.setups and spec.reference is None:
        context.source.note(f"thresholds: {', '.join(map(str, found.setups))}")
    return found


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
) -> tuple[pd.DataFrame, pd.DataFrame] | None:
    """Return the rows of one file, and its runs that a figure is about, with their options."""
    path = source.expect(one.files, one.missed)
    if path is None:
        return None
    table = source.read(path, columns)
    if table.empty:
        source.warn(f"missing: {', '.join(map(plain, one.missed))} ({path} has no rows)")
        return None
    table = numeric(table, [column for column in columns if column != "name"], path)
    runs = labelled(table, one, spec, path)
    if runs.empty:
        source.warn(f"missing: {', '.join(map(plain, one.missed))} ({path} has no such runs)")
        return None
    return table, runs


def logged(context: Context, spec: Runs, columns: Sequence[str]) -> pd.DataFrame:
    """Return all rows of the runs that a figure is about, with the options of their runs."""
    read = [read_series(one, spec, context.source, columns) for one in context.figure.series]
    tables = [
        rows.drop(columns=[c for c in runs if c in rows and c != "name"]).merge(runs, on="name")
        for rows, runs in filter(None, read)
    ]
    if not tables:
        raise context.source.nothing()
    return pd.concat(tables, ignore_index=True)


def labelled(table: pd.DataFrame, one: Series, spec: Runs, path: Path) -> pd.DataFrame:
    """Return the runs of a table that the figure is about, with their options and models."""
    parse = expand_name if spec.reference is None else sequence_name
    _, runs = parsed_names(table, parse, path)
    runs["model"] = runs["model"].map(drawable) if one.label is None else one.label
    try:
        made = [("model", spec.relabel)] if spec.relabel is not None else []
        made += [("distribution", distribution)] if spec.x == "distribution" else []
        for column, make in [*made, *spec.derive]:
            runs[column] = list(map(make, runs.to_dict("records")))
    except KeyError as error:
        raise UsageError(f"{path}: run names hold no {error.args[0]}") from None
    models = runs["model"]
    wanted = models.isin(spec.models) | (not spec.closed)
    for only in spec.only:
        if only.column not in runs:
            raise UsageError(f"run names hold no {only.column}")
        others = False if only.models is None else ~models.isin(only.models)
        wanted &= runs[only.column].isin(only.values) | others
    return runs.loc[wanted]


def reduce_rows(
    rows: pd.DataFrame,
    runs: pd.DataFrame,
    one: Series,
    spec: Runs,
    best_range: int,
    also: Sequence[str] = (),
) -> pd.DataFrame:
    """Return one row per run, in the column order of the published side files."""
    for column in also:
        if column not in rows:
            problem = f"{one.files[0]}.csv lacks the column {column}"
            raise UsageError(f"{problem}: export with --export-gate")
    found = outcomes(rows, runs, best_range, also).sort_values(["model", "name"])
    outcome = found.loc[:, "threshold":"solved"].columns
    columns = ["name", spec.x, *outcome, "model", "operation", "seed", "size", BEST_STEP]
    extra = [spec.extra] if spec.extra else []
    return found.loc[:, list(dict.fromkeys([*columns, *extra, *also]))]


def legend_models(
    runs: pd.DataFrame, series: Sequence[Series], missed: Sequence[str], spec: Runs, source: Source
) -> tuple[str, ...]:
    """Return the models of a legend; warn of expected models and points without a run."""
    present = dict.fromkeys(runs["model"])
    absent = [model for model in (*missed, *spec.models) if model not in present]
    for model in dict.fromkeys(absent):
        if model not in missed:
            source.warn(f"missing: {plain(model)} (no run of it)")
    if without := int(runs[spec.x].isna().to_numpy().sum()):
        source.warn(f"{without} runs have no {spec.x} and are left out")
    listed = list(dict.fromkeys(one.label for one in series if one.label is not None))
    models = listed or legend_order([*present, *absent])
    if source.is_judged:
        models = [model for model in models if model in present]
    for model in present:
        there = set(runs.loc[runs["model"] == model, spec.x])
        if gaps := [str(value) for value in spec.expected if value not in there]:
            source.warn(f"missing: {plain(model)} at {spec.x} {', '.join(gaps)} (no run)")
    return tuple(models)


def in_order(values: Iterable[Any], column: str) -> list:
    """Return the different values of a column: numbers ascending, ranges and texts as they come."""
    found: list[Any] = list(dict.fromkeys(values))
    if all(isinstance(value, str) for value in found):
        return range_order(found) if column == "interpolation.range" else found
    return sorted(found)


def tested_lengths(table: pd.DataFrame) -> dict[int, str]:
    """Return the column of every test length, in ascending order."""
    found = {int(match[1]): name for match, name in matching(table, _TEST_OF_SEQUENCES)}
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
    table = source.read(path, SEQUENCES_LOGGED[:3])
    columns = tested_lengths(table)
    table = numeric(table, [SEQUENCE_VALIDATION, *columns.values()], path)
    rows = with_names(table, sequence_name, path).sort_values("step", kind="stable")
    best = {
        int(seed): run.iloc[best_row(run[SEQUENCE_VALIDATION].to_numpy(), last)]
        for (_, seed), run in groups(rows, ["name", "seed"])
    }
    absent = [str(seed) for seed in reference.seeds if seed not in best]
    if absent:
        source.warn(f"missing: reference seeds {', '.join(absent)} ({path})")
    seeds = [seed for seed in reference.seeds if seed in best]
    if len(seeds) < 2:
        raise UsageError(f"{path} holds {len(seeds)} of the reference seeds: two are needed")
    bound = {"level": reference.level, "of_one_run": reference.of_one_run}
    return {
        length: from_reference([float(best[seed][column]) for seed in seeds], **bound)
        for length, column in columns.items()
    }


def of_lengths(
    rows: pd.DataFrame,
    runs: pd.DataFrame,
    thresholds: float | Mapping[int, float],
    spec: Runs,
    source: Source,
) -> list[tuple[pd.DataFrame, pd.DataFrame]]:
    """Return rows of every length, in the columns of the arithmetic tasks, and runs with limits."""
    parts = []
    for length, column in tested_lengths(rows).items():
        if spec.length not in (None, length):
            continue
        one_for_all = not isinstance(thresholds, Mapping)
        threshold = thresholds if one_for_all else thresholds.get(length, np.nan)
        if np.isnan(threshold):
            source.warn(f"length {length} left out, the reference has no threshold for it")
            continue
        one = rows.rename(columns={SEQUENCE_VALIDATION: VALIDATION, column: TEST})
        x = {spec.x: length} if spec.length is None else {}
        parts.append((one, runs.assign(threshold=threshold, inclusive=False, **x)))
    if not parts and spec.length is not None:
        source.warn(f"no run was tested at length {spec.length}")
    return parts
