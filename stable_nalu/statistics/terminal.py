"""A summary as text that fits the width of a terminal."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from .names import operation_label, plain

if TYPE_CHECKING:
    import pandas as pd

_TITLES = {"success.rate": "success rate", "converged.at": "solved at", "sparse.error": "sparsity"}
_LEADING = ("model", "operation", "interpolation.range", "group")
_GAP = "  "


class _Cell(NamedTuple):
    """A value, and its 95 % interval where it has one."""

    value: str
    interval: str = ""

    def __str__(self) -> str:
        return f"{self.value} ({self.interval})" if self.interval else self.value


def as_text(table: pd.DataFrame, width: int) -> str:
    """Return a summary: one line per group, two where intervals would not fit beside the means.

    Options that all groups share are named above the table. Where two lines are still too wide,
    options that follow from model and training range are left out, and at last every group is a
    block of lines.
    """
    measures = [c for c in table if str(c).startswith(tuple(_TITLES))]
    names = [str(c) for c in table if c not in measures and c != "runs"]
    options = {name: [_option(name, value) for value in table[name]] for name in names}
    shared = {n: v[0] for n, v in options.items() if len(table) > 1 and len(set(v)) == 1}
    columns = {_title(n): [_Cell(o) for o in v] for n, v in options.items() if n not in shared}
    if "runs" in table:
        columns["runs"] = [_Cell(str(n)) for n in table["runs"]]
    for column in measures:
        columns |= _measure(table, str(column))
    lines = _fitting(columns, [_title(name) for name in _following(options) - shared.keys()], width)
    above = [f"{_title(name)}: {value}" for name, value in shared.items()]
    return "\n".join([*above, *lines, "With 95 % intervals; '-': no run is solved."]) + "\n"


def _following(options: dict[str, list[str]]) -> set[str]:
    """Return the options that a group's model, operation and training range determine."""
    leading = [name for name in _LEADING if name in options]
    groups = list(zip(*map(options.__getitem__, leading), strict=True))
    return {
        name
        for name, values in options.items()
        if name not in leading and len({*zip(groups, values, strict=False)}) == len({*groups})
    }


def _fitting(columns: dict[str, list[_Cell]], following: list[str], width: int) -> list[str]:
    fewer = {name: cells for name, cells in columns.items() if name not in following}
    left_out = f"Left out, see --csv-out: {', '.join(sorted(following))}."
    for lines, note in ((_beside(columns), ""), (_below(columns), ""), (_below(fewer), left_out)):
        if max(map(len, lines)) <= width:
            return [*lines, *textwrap.wrap(note, width)]
    return _blocks(columns)


def _title(name: str) -> str:
    return name.replace(".", " ")


def _option(column: object, value: Any) -> str:
    if value is None or value != value:
        return "-"
    if isinstance(value, float):
        return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
    return operation_label(value) if column == "operation" else plain(str(value))


def _measure(table: pd.DataFrame, column: str) -> dict[str, list[_Cell]]:
    """Return the column of a mean with its interval, or of a p value; nothing for all others."""
    base = column.removesuffix(".mean")
    ends = next((e for e in (column, base) if f"{e}.lower" in table), None)
    if ends is None and not column.endswith(".ks.p"):
        return {}
    name = next(name for name in _TITLES if column.startswith(name))
    rest = _title(column.removeprefix(name).removesuffix(".mean" if column != ends else ""))
    if ends is None:
        return {_TITLES[name] + rest: [_Cell(_number(v)) for v in table[column]]}
    factor, unit = (100, " %") if name == "success.rate" else (1, "")
    rows = zip(table[column], table[f"{ends}.lower"], table[f"{ends}.upper"], strict=True)
    return {
        _TITLES[name] + rest: [
            _Cell(
                f"{_number(factor * mean)}{unit}",
                "" if low != low else f"{_number(factor * low)}–{_number(factor * high)}{unit}",
            )
            for mean, low, high in rows
        ]
    }


def _number(value: float) -> str:
    if math.isnan(value):
        return "-"
    return f"{value:,.0f}" if 10 <= value < math.inf else f"{value:.2g}"


def _beside(columns: dict[str, list[_Cell]]) -> list[str]:
    return aligned(list(columns), [list(map(str, row)) for row in _rows(columns)])


def _below(columns: dict[str, list[_Cell]]) -> list[str]:
    """Return values above their intervals, below names of two lines."""
    heads = [name.partition(" ") for name in columns]
    rows = [[rest for _, _, rest in heads]]
    for cells in _rows(columns):
        rows += [[cell.value for cell in cells], [cell.interval for cell in cells]]
    return [line for line in aligned([first for first, _, _ in heads], rows) if line]


def _blocks(columns: dict[str, list[_Cell]]) -> list[str]:
    lines: list[str] = []
    for cells in _rows(columns):
        lines += [f"{name}: {cell}" for name, cell in zip(columns, cells, strict=True)] + [""]
    return lines


def _rows(columns: dict[str, list[_Cell]]) -> list[tuple[_Cell, ...]]:
    return list(zip(*columns.values(), strict=True))


def aligned(names: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return a line of names and one per row, in aligned columns."""
    widths = [max(map(len, column)) for column in zip(names, *rows, strict=True)]
    lines = (
        _GAP.join(cell.ljust(w) for cell, w in zip(row, widths, strict=True))
        for row in (names, *rows)
    )
    return [line.rstrip() for line in lines]
