"""Errors of many runs in one drawing: over epochs, iterations, inputs or lengths of sequences."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from stable_nalu.options.layer_options import half_open
from stable_nalu.statistics.judge import TEST
from stable_nalu.statistics.names import operation_label
from stable_nalu.statistics.table import groups, refuse_repeated

from . import style
from .drawing import Runs, kind
from .entry import Context, Product, numbers
from .runs import judgement_of, logged

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

_FLOOR = 1e-32
"""What errors of 0 are drawn as."""

Titled = tuple[tuple[str, str], ...]
"""Columns of exported tables, and what panels or places call them."""


def quartiles(table: pd.DataFrame, by: str, column: str) -> pd.DataFrame:
    """Return median and quartiles of a column over runs; infinite errors count, missing do not."""
    groups = numbers(table, column).groupby(table[by].to_numpy())
    found = {
        "lower": groups.quantile(0.25),
        "median": groups.median(),
        "upper": groups.quantile(0.75),
        "runs": groups.count(),
    }
    return pd.DataFrame(found).rename_axis(by).reset_index()


def draw_quartiles(axes: "Axes", curve: pd.DataFrame, by: str, look: style.Look) -> None:
    """Draw a median with its quartiles."""
    style.ribbon(axes, curve, by, "median", look, markevery=max(1, len(curve) // 6))


def draw_epochs(
    panels: "list[Axes]",
    curves: Titled,
    by: str,
    models: Mapping[str, pd.DataFrame],
    shown: Mapping[str, style.Look],
) -> list[pd.DataFrame]:
    """Draw quartiles of each column against the epoch, in a panel of its own."""
    side = []
    for axes, (column, title) in zip(panels, curves, strict=True):
        axes.set(title=title, xlabel="Epoch", yscale="log")
        for model, table in models.items():
            curve = quartiles(table, by, column)
            draw_quartiles(axes, curve.dropna(subset="median"), by, shown[model])
            side.append(curve.assign(model=model, column=column))
    panels[0].set_ylabel("Mean squared error")
    return side


def with_counts(shown: dict[str, style.Look], models: dict[str, pd.DataFrame]) -> "list[Line2D]":
    """Return the entries of a legend, with the number of runs of each model."""
    texts = {model: f" (n = {table['name'].nunique()})" for model, table in models.items()}
    return style.legend_handles(shown, texts, shown.keys() - models.keys())


@kind("curve")
def iterations(context: Context, column: str, y_label: str, runs: Runs) -> Product:
    """Draw a column of arithmetic runs against the iteration, in a panel for each training range.

    A run that diverged counts as an infinite error. The threshold is drawn where the test error is.

    runs: how runs are named, and what their thresholds are.
    """
    rows = logged(context, runs, ("name", "step", column))
    refuse_repeated(rows, ["model", "name", "step"])
    parts: dict[Any, pd.DataFrame] = dict(groups(rows, ["operation", runs.x]))
    places = [
        (operation, trained)
        for operation in style.operation_order(map(str, rows["operation"]))
        for trained in style.range_order(map(str, rows[runs.x]))
        if (operation, trained) in parts
    ]
    listed = list(dict.fromkeys(one.label for one in context.figure.series if one.label))
    shown = context.looks(listed or style.legend_order(map(str, rows["model"])))
    across = min(3, len(places))
    down = -(-len(places) // across)
    size = (max(9.0, 6.5 * across), 6.0 * down + 2.0)
    figure, grid = style.subplots(size, down, across, squeeze=False, sharey=True)
    side = []
    for axes in list(grid.flat)[len(places) :]:
        axes.set_axis_off()
    for axes, (operation, trained) in zip(grid.flat, places, strict=False):
        table = parts[operation, trained]
        title = f"{operation_label(operation)} on {half_open(trained)}"
        axes.set(title=title, xlabel="Iteration")
        for (model,), own in groups(table, ["model"]):
            curve = _draw_runs(axes, own, column, shown[model])
            place = {"model": model, "operation": operation, runs.x: trained}
            side.append(curve.reset_index().assign(**place))
        if column == TEST:
            judgement = judgement_of(runs, context)
            for limit in set(judgement.limits(table.drop_duplicates("name"))):
                axes.axhline(limit.threshold, **style.MARK)
    errors = rows[column].to_numpy(float)
    if (errors[np.isfinite(errors)] >= 0).all():
        grid[0][0].set_yscale("log")
    for beside in grid[:, 0]:
        beside.set_ylabel(y_label)
    each = {model: table for (model,), table in groups(rows, ["model"])}
    return context.plotted(
        figure,
        side,
        "Thin: every run. Thick: the median; band: quartiles; a run that diverged counts as the "
        "largest error.",
        "Dashed: the threshold below which a run is solved." if column == TEST else "",
        handles=with_counts(shown, each),
    )


def _draw_runs(axes: "Axes", table: pd.DataFrame, column: str, look: style.Look) -> pd.DataFrame:
    """Draw every run thin, and median and quartiles, which are returned, thick."""
    values = numbers(table, column).fillna(np.inf)
    runs = table.assign(value=values).pivot(index="step", columns="name", values="value")
    levels = runs.quantile((0.25, 0.5, 0.75), axis=1, interpolation="nearest").T
    levels = levels.set_axis(["lower", "median", "upper"], axis=1)
    drawn = runs.mask(runs == 0, _FLOOR).replace(np.inf, np.nan)
    axes.plot(drawn.index, drawn, color=look.color, alpha=0.2, linewidth=0.5, gid="run")
    seen = levels.mask(levels == 0, _FLOOR).replace(np.inf, np.nan).reset_index()
    draw_quartiles(axes, seen, "step", look)
    return levels.assign(runs=runs.notna().sum(axis=1))
