"""Success rates over several swept parameters, one panel each."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..decoration import SMALL, footnote, legend
from ..entry import Context, Drawn, Part, Runs, Size
from ..runs import estimate, points, reduce_series
from ..source import Series
from ..style import STANDARD, legend_order, looks, new_figure
from .panels import draw_series

NOTE = "Bars: 95 % intervals. Beside the points: runs that failed, of n."


@dataclass(frozen=True)
class Successes(Part):
    """Success rates only, one panel per swept parameter. Panels are (title, file, runs)."""

    KIND = "sweep"
    NEEDS = "outcomes"

    panels: tuple[tuple[str, str, Runs], ...]
    columns: int
    size: Size = STANDARD

    def drawn(self, context: Context) -> Drawn:
        """Reduce and estimate each panel, draw all."""
        if self.panels not in context.shared:
            context.shared[self.panels] = estimated(self, context)
        found = context.shared[self.panels]
        models = legend_order(model for _, reduced, _ in found.values() for model in reduced.models)
        side = {
            f"{self.stem}_{title.lower().replace(' ', '_')}_plot_data": summary
            for title, (_, _, summary) in found.items()
        }
        return draw(self, context, found, models), side


def estimated(part: Successes, context: Context) -> dict:
    """Return title -> swept column, runs and their summary, of the panels that have a file."""
    found = {}
    for title, file, runs in part.panels:
        if context.source.expect((file,), (title,)) is None:
            continue
        reduced = reduce_series((Series((file,)),), runs, context.source, context.setups)
        by = ["model", "operation", runs.x]
        found[title] = (runs.x, reduced, estimate(reduced.runs, by, context.estimators))
    return found


def draw(part: Successes, context: Context, found: dict, models: list[str]):
    """Draw panels in their grid; one without data says so."""
    rows = math.ceil(len(part.panels) / part.columns)
    figure = new_figure((part.size[0], part.size[1] + 0.6))
    shown = looks(models, context.palette)
    missing = set(models)
    for place, (title, _, _) in enumerate(part.panels, start=1):
        axes = figure.add_subplot(rows, part.columns, place)
        axes.set_title(title)
        axes.set_ylim(-0.08, 1.1)
        if (place - 1) % part.columns == 0:
            axes.set_ylabel("Success rate")
        if title not in found:
            axes.text(0.5, 0.5, "no data", transform=axes.transAxes, ha="center", color="0.35")
            continue
        x, _, summary = found[title]
        for index, model in enumerate(models):
            table = summary[summary["model"] == model].sort_values(x)
            if table.empty:
                continue
            missing.discard(model)
            places = table[x].to_numpy(dtype=float)
            draw_series(axes, places, points(table, "success.rate"), shown[model], model, line=True)
            ends = zip(places, table["success.rate.mean"], table["failed"], table["n"], strict=True)
            for at, mean, failed, n in ends:
                axes.annotate(
                    f"{failed}/{n}",
                    (at, mean),
                    xytext=(2, 4 if index == 0 else -9),
                    textcoords="offset points",
                    fontsize=SMALL,
                    color=shown[model].color,
                )
        largest = float(np.max(summary[x]))
        axes.set_xlim(-0.04 * largest, 1.06 * largest)
    legend(figure, shown, missing=tuple(missing))
    footnote(figure, NOTE)
    return figure
