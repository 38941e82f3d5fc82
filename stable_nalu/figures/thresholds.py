"""The threshold of every run of a figure: from a setups file, or computed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import pandas as pd

from .order import plain
from .parts import Threshold
from .source import Source, read_csv

_NUMBER = re.compile(r"-?\d+\.?\d*(?:e[+-]?\d+)?")
_TOLERANCE = 9
Rows = list[Mapping[str, object]]
Key = tuple[object, ...]


def run_thresholds(
    names: pd.DataFrame, spec: Threshold, source: Source, setups: Path | None
) -> pd.Series:
    """Threshold of each row of `names`, missing where no row of the setups fits.

    names: one row a run, with the columns that its name holds.
    setups: file whose rows take the place of computed ones.
    """
    path = setups or (source.find((spec.file,)) if spec.file else None)
    if path is None and spec.flat is not None:
        return pd.Series(spec.flat, index=names.index)
    rows = _of_file(path) if path else _computed(spec, set(names["operation"]))
    by_key = {
        _key(row, spec.join): float(str(row["threshold"]))
        for row in rows
        if row["parameter"] == spec.parameter and _truth(row["simple"]) == spec.simple
    }
    keys = [_key(row, spec.join) for row in names.to_dict("records")]
    if path is not None:
        source.note(f"thresholds: {path}")
    found = pd.Series([by_key.get(key) for key in keys], index=names.index, dtype=float)
    _tell_dropped(names[found.isna()], spec, source)
    return found


def _tell_dropped(dropped: pd.DataFrame, spec: Threshold, source: Source) -> None:
    columns = [column for column in spec.join if column in dropped]
    for values, group in dropped.groupby(columns, dropna=False, observed=True):
        where = ", ".join(f"{c} {plain(str(v))}" for c, v in zip(columns, values, strict=True))
        source.warn(f"{len(group)} runs left out, no threshold for {where}")


def _key(row: Mapping[str, object], columns: Iterable[str]) -> Key:
    return tuple(_comparable(column, row.get(column)) for column in columns)


def _comparable(column: str, value: object) -> object:
    """Ranges by their parts in any order, numbers rounded, operations without their prefix."""
    if column == "operation":
        return str(value).removeprefix("op-")
    if column.endswith(".range"):
        numbers = [float(number) for number in _NUMBER.findall(str(value))]
        return tuple(sorted(zip(numbers[::2], numbers[1::2], strict=False)))
    number = float(str(value)) if value is not None else float("nan")
    return None if number != number else round(number, _TOLERANCE)


def _truth(value: object) -> bool:
    return str(value).upper() == "TRUE"


def _of_file(path: Path) -> Rows:
    table = read_csv(path, ("operation", "parameter", "extrapolation.range"))
    if "threshold" not in table:
        table = table.rename(columns={"epsilon": "threshold"})
    if "simple" not in table:
        table["simple"] = False
    return table.to_dict("records")


def _computed(spec: Threshold, operations: set[str]) -> Rows:
    from stable_nalu.statistics.thresholds import tables

    if spec.table == "arithmetic-cases":
        return _computed_cases(spec.parameter, operations)
    settings = tables.Settings()
    return [row for row, _ in tables.TABLES[str(spec.table)].rows(settings)]


def _computed_cases(parameter: str, operations: set[str]) -> Rows:
    """Only the rows that can fit: some of the others take seconds of simulation."""
    from stable_nalu.statistics.thresholds import arithmetic, tables

    rows: Rows = []
    for name, task in tables.arithmetic_cases():
        if name != parameter or task.operation not in operations:
            continue
        if task.operation in arithmetic.SIMULATED:
            threshold = arithmetic.simulate(task).threshold
        else:
            threshold = arithmetic.closed_form(task)
        rows.append(
            {
                "operation": task.operation,
                "parameter": name,
                "simple": task.simple,
                "input.size": task.input_size,
                "subset.ratio": None if task.simple else task.subset_ratio,
                "overlap.ratio": None if task.simple else task.overlap_ratio,
                "extrapolation.range": task.extrapolation_range.label("∪"),
                "threshold": threshold,
            }
        )
    return rows
