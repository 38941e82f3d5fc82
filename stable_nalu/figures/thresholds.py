"""The threshold of every run of a figure: one number, or looked up in setup files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from stable_nalu.errors import UsageError
from stable_nalu.statistics.setups import SHIPPED, Thresholds, read_setups

from .order import plain
from .parts import Threshold
from .source import Source


def run_thresholds(
    names: pd.DataFrame, spec: Threshold, source: Source, setups: Sequence[Path]
) -> pd.Series:
    """Threshold of each row of `names`, missing where no row of the setup files fits.

    names: one row a run, with the columns that its name holds.
    setups: files to look up, also where one number would do; none: the shipped ones.
    """
    beside = source.find((spec.file,)) if spec.file else None
    paths = list(setups) or ([beside] if beside else [])
    if not paths and spec.flat is not None:
        return pd.Series(spec.flat, index=names.index)
    if not paths:
        paths = [path for path in SHIPPED if path.is_file()]
        if not paths:
            raise UsageError(f"no thresholds: {SHIPPED[0]} is missing; give --exp-setups")
    else:
        source.note(f"thresholds: {', '.join(map(str, paths))}")
    found = _look_up(names, read_setups(paths), spec)
    gone = names.loc[found.isna()]
    for _, group in gone.groupby(["operation", "extrapolation.range"]):
        operation, tested = group["operation"].iloc[0], plain(group["extrapolation.range"].iloc[0])
        source.warn(f"{len(group)} runs left out, no threshold for {operation} on {tested}")
    return found


def _look_up(names: pd.DataFrame, setups: pd.DataFrame, spec: Threshold) -> pd.Series:
    found = pd.Series(float("nan"), index=names.index)
    if not spec.by_input_size:
        table = Thresholds(setups, spec.parameter)
        found[:] = [table.of(run) for run in names.to_dict("records")]
        return found
    for size, runs in names.groupby("input.size"):
        table = Thresholds(setups.loc[setups["input.size"] == size], spec.parameter)
        found[runs.index] = [table.of(run) for run in runs.to_dict("records")]
    return found
