"""Errors of several models over the epochs, and those of single operations at the end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ..decoration import footnote, legend
from ..entry import Context, Drawn, Part, Size
from ..source import read_csv
from ..style import Look, looks, new_figure
from .panels import draw_series, offsets

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Columns = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Learning(Part):
    """A panel of curves for each of some columns, and one of the last values of others.

    curves, ends: columns of exported tables, and what panels or places call them.
    """

    KIND = "error over epochs"

    curves: Columns
    ends: Columns
    ends_title: str
    size: Size = (19.0, 8.0)

    def drawn(self, context: Context) -> Drawn:
        """Take quartiles over the runs of every model and draw them."""
        columns = [column for column, _ in (*self.curves, *self.ends)]
        tables = context.tables(lambda path, _: read_csv(path, ("name", "step", *columns)))
        found = {model: table for model, table in tables.items() if table is not None}
        shown = looks(list(tables), context.palette)
        figure = new_figure(self.size)
        *panels, last = figure.subplots(
            1, len(self.curves) + 1, sharey=True, width_ratios=[*[1.0] * len(self.curves), 0.9]
        )
        side = []
        for axes, (column, title) in zip(panels, self.curves, strict=True):
            axes.set(title=title, xlabel="Epoch", yscale="log")
            for model, table in found.items():
                curve = quartiles(table, "step", column)
                draw_quartiles(axes, curve, "step", shown[model])
                side.append(curve.assign(model=model, column=column))
        panels[0].set_ylabel("Mean squared error")
        side += self._draw_ends(last, found, shown)
        runs = {model: f" (n = {table['name'].nunique()})" for model, table in found.items()}
        missing = tuple(model for model in tables if model not in found)
        legend(figure, shown, runs, missing)
        footnote(
            figure,
            "Medians over runs; ribbons and bars: quartiles.",
            "Right: test rows at the end of training, of the problems that have such outputs.",
        )
        return figure, {f"{self.stem}_plot_data": pd.concat(side, ignore_index=True)}

    def _draw_ends(
        self, axes: Axes, found: dict[str, pd.DataFrame], shown: dict[str, Look]
    ) -> list[pd.DataFrame]:
        """Draw the last values of every run."""
        side = []
        columns = [column for column, _ in self.ends]
        for (model, table), offset in zip(found.items(), offsets(len(found)), strict=True):
            last = table.sort_values("step").drop_duplicates("name", keep="last")
            rows = [quartiles(last.assign(end=0), "end", column) for column in columns]
            points = pd.concat(rows, ignore_index=True)
            x = np.arange(len(columns)) + offset
            draw_series(axes, x, points.rename(columns={"median": "mean"}), shown[model], model,
                        line=False)  # fmt: skip
            side.append(points.assign(model=model, column=columns))
        axes.set(title=self.ends_title, xticks=range(len(columns)))
        axes.set_xticklabels([label for _, label in self.ends])
        axes.set_xlim(-0.5, len(columns) - 0.5)
        return side


def quartiles(table: pd.DataFrame, by: str, column: str) -> pd.DataFrame:
    """Return median and quartiles of a column over runs; infinite errors count, missing do not."""
    values = pd.Series(pd.to_numeric(table[column], errors="coerce"))
    groups = values.groupby(table[by].to_numpy())
    found = {
        "lower": groups.quantile(0.25),
        "median": groups.median(),
        "upper": groups.quantile(0.75),
        "runs": groups.count(),
    }
    return pd.DataFrame(found).rename_axis(by).reset_index()


def draw_quartiles(axes: Axes, curve: pd.DataFrame, by: str, look: Look) -> None:
    """Draw a line of medians in a ribbon of quartiles."""
    x = curve[by]
    axes.fill_between(x, curve["lower"], curve["upper"], color=look.color, alpha=0.15, linewidth=0)
    axes.plot(x, curve["median"], **look.style, markevery=max(1, len(x) // 6))
