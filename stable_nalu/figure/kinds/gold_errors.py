"""Errors that are left with exact weights, against the range of the divisor."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import pandas as pd

from stable_nalu.statistics.names import plain
from stable_nalu.statistics.table import numeric

from ..decoration import footnote, legend
from ..entry import Context, Drawn, Part, Size
from ..source import read_csv
from ..style import STANDARD, half_open, looks, new_figure

COLUMNS = ("module", "parameter", "test.mse", "range")


@dataclass(frozen=True)
class GoldErrors(Part):
    """Error that is left with exact weights, against the sampled range, by module."""

    KIND = "gold-errors"

    panels: tuple[tuple[str, str], ...]
    order: tuple[str, ...]
    size: Size = STANDARD

    def drawn(self, context: Context) -> Drawn:
        """Read and draw; nothing is estimated."""
        path = context.source.require(context.series[0])
        table = numeric(read_csv(path, COLUMNS, "a table of gold errors"), ("test.mse",), path)
        table["bound"] = table["range"].map(upper_bound)
        absent = tuple(m for m in self.order if m not in set(table["module"]))
        for module in absent:
            context.source.warn(f"missing: {plain(module)} (no row in {path})")
        return draw(self, context, table, absent), {}


def upper_bound(label: str) -> float:
    """Return the larger number of a range."""
    return max(float(n) for n in re.findall(r"\d+\.?\d*(?:e[+-]?\d+)?", label))


def draw(part: GoldErrors, context: Context, table: pd.DataFrame, absent: tuple[str, ...]):
    """Draw one panel per task, one line per module."""
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
                **look.style,
                label=module,
            )
        axes.set_title(title)
        axes.set_yscale("log")
        axes.margins(0.08)
        axes.set_xticks(np.arange(len(ranges)), [half_open(r) for r in ranges])
        for text in axes.get_xticklabels():
            text.set(rotation=45, ha="right", rotation_mode="anchor")
        axes.set_xlabel("Range that inputs are sampled from")
    grid[0].set_ylabel("Mean squared test error")
    legend(figure, shown, missing=absent)
    footnote(figure, "Computed in float32 with the weights that solve the task exactly: no runs.")
    return figure
