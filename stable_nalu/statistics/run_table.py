"""Exported metric files as one table: logged rows with the options that run names hold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd

from stable_nalu.catalogue.ranges import AMPERSAND, UNION, canonical
from stable_nalu.errors import UsageError
from stable_nalu.options.run_name import parse_leaf

from .display_names import model_label
from .reduce import SPARSITY, TEST, VALIDATION

REQUIRED = ("name", "step", VALIDATION, TEST, SPARSITY)


def read_table(path: Path) -> pd.DataFrame:
    """Read a CSV file; what is wrong with it is said in one line."""
    try:
        return pd.read_csv(path)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from None
    except ValueError as error:
        raise UsageError(f"{path} is not a CSV table: {' '.join(str(error).split())}") from None


def require(table: pd.DataFrame, columns: Iterable[str], path: Path, kind: str) -> None:
    """Refuse a table that lacks a column."""
    lacking = [column for column in columns if column not in table.columns]
    if lacking:
        raise UsageError(f"{path} is not {kind}: it has no column {', '.join(lacking)}")


def read_runs(
    paths: Sequence[Path], models: Sequence[str] | None = None
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Logged rows of all files, and one row a run with its options; both have `model`, `name`.

    models: one label a file, in place of those that follow from the run names. Runs are told
        apart by label and name; two files with the same run under one label are refused.
    """
    if models is not None and len(models) != len(paths):
        raise UsageError(f"{len(models)} models are named for {len(paths)} files")
    rows, runs = [], []
    for i, path in enumerate(paths):
        part = read_table(path)
        require(part, REQUIRED, path, "an export of metrics")
        options = expand_names(part["name"].unique())
        if models is not None:
            options["model"] = models[i]
        rows.append(part.merge(options[["name", "model"]], on="name", validate="many_to_one"))
        runs.append(options)
    table = pd.concat(runs, ignore_index=True)
    if table.empty:
        raise UsageError("there is no run in the exported metrics")
    twice = table["name"][table.duplicated(["model", "name"])].tolist()
    if twice:
        raise UsageError(f"two files hold run {twice[0]}; tell them apart by --models")
    return pd.concat(rows, ignore_index=True), table


def expand_names(names: Iterable[str]) -> pd.DataFrame:
    """One row a run name with its options; `model` is the label, `model_code` field 1."""
    options = []
    for name in names:
        try:
            columns = parse_leaf(name)
        except ValueError as error:
            raise UsageError(str(error)) from None
        single = is_single_module(columns["input.size"], columns["subset.ratio"])
        for column in ("interpolation.range", "extrapolation.range"):
            columns[column] = canonical(columns[column], AMPERSAND if single else UNION)
        options.append({"name": name, "model": model_label(columns["model_code"])} | columns)
    return pd.DataFrame(options, columns=None if options else ["name", "model"])


def is_single_module(input_size: float, subset_ratio: float | None) -> bool:
    """Whether operands are single inputs: subsets of size one."""
    return subset_ratio is not None and round(input_size * subset_ratio, 6) == 1
