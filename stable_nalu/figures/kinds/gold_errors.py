"""Errors that are left with exact weights, against the range of the divisor."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd

from ..order import plain
from ..parts import GoldErrors
from ..product import Context, Product
from ..source import numeric, read_csv
from ..style import drawing, looks, new_figure
from .decoration import Bottom, footnote, legend

COLUMNS = ("module", "parameter", "test.mse", "range")


def render(part: GoldErrors, context: Context) -> Product:
    """Read, draw; nothing is estimated."""
    path = context.source.require(context.series[0])
    table = numeric(read_csv(path, COLUMNS, "a table of gold errors"), ("test.mse",), path)
    table["bound"] = table["range"].map(upper_bound)
    absent = tuple(m for m in part.order if m not in set(table["module"]))
    for module in absent:
        context.source.warn(f"missing: {plain(module)} (no row in {path})")
    with drawing():
        figure = draw(part, context, table, absent)
    return Product(context.stem(part.stem), figure)


def upper_bound(label: str) -> float:
    """The larger number of a range."""
    return max(float(n) for n in re.findall(r"\d+\.?\d*(?:e[+-]?\d+)?", label))


def draw(part: GoldErrors, context: Context, table: pd.DataFrame, absent: tuple[str, ...]):
    """One panel a task, a line a module."""
    figure = new_figure((part.size[0], part.size[1] + 1.2))
    modules = [*part.order, *sorted(set(table["module"]) - set(part.order))]
    shown = looks(modules, context.palette)
    ranges = table.drop_duplicates("range").sort_values("bound")["range"].tolist()
    grid = figure.subplots(1, len(part.panels), sharey=True, squeeze=False)[0]
    for axes, (parameter, title) in zip(grid, part.panels, strict=True):
        for module in modules:
            look = shown[module]
            chosen = (table["module"] == module) & (table["parameter"] == parameter)
            errors = table[chosen].set_index("range")["test.mse"].reindex(ranges)
            axes.plot(
                np.arange(len(ranges)),
                errors,
                color=look.color,
                linestyle=look.line,
                marker=look.marker,
                label=module,
            )
        axes.set_title(title)
        axes.set_yscale("log")
        axes.set_ylim(1e-13, 1e20)
        axes.set_xticks(np.arange(len(ranges)), ranges)
        for text in axes.get_xticklabels():
            text.set(rotation=45, ha="right", rotation_mode="anchor")
        axes.set_xlabel("Data sample range")
    grid[0].set_ylabel("log(Test error)")
    legend(figure, Bottom(shown, {}, absent, "", "", lines=True))
    footnote(figure, "Computed with exact weights: no runs, no intervals.", context.stamp)
    return figure
