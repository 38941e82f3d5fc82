"""Drawings over two inputs or two weights, and of what is computed or measured beside runs.

The last one is of the weights of a NAC, drawn at random: W = tanh(W_hat) sigmoid(M_hat). A start
says what W_hat and M_hat are drawn from: both from one range, as an article has them, or as a NAC
of 100 inputs and 10 outputs begins its training.
"""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from stable_nalu.base.errors import UsageError
from stable_nalu.base.script import plain
from stable_nalu.statistics.names import operation_label
from stable_nalu.statistics.table import numeric

from . import style
from .drawing import STANDARD, Runs, Series, Size, kind
from .entry import Context, Product
from .runs import reduce_series

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.container import BarContainer

RAMP = ("#35978f", "#c7eae5", "#bf812d", "#330000")
"""Colours of the published surface, for the palette of that name."""

BINS = 20
_SQUARES = ((1.0, 2.0, "#FFFFFF", "interpolation"), (2.0, 6.0, "#FF0000", "extrapolation"))


@kind("surface")
def surface(context: Context) -> Product:
    """Draw predictions over two inputs, cut into bins: a facet per series, in two rows."""
    import matplotlib
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import BoundaryNorm, ListedColormap
    from matplotlib.patches import Rectangle

    names = ("x1", "x2", "pred")
    grids = context.tables(
        lambda path, _: numeric(
            context.source.read(path, names, "a grid of predictions"), names, path
        )
    )
    values = np.concatenate([g["pred"].to_numpy() for g in grids.values() if g is not None])
    finite = values[np.isfinite(values)]
    if not len(finite):
        raise UsageError("no prediction is a finite number")
    edges = np.linspace(finite.min(), finite.max() + 1e-9, BINS + 1)
    columns = math.ceil(len(grids) / 2)
    figure = style.new_figure((16 * 1.4 * max(1.0, columns / 2.6), 10 * 1.4 + 1))
    cmap = matplotlib.colormaps["viridis"].resampled(BINS)
    if context.palette == "published":
        cmap = ListedColormap(published_ramp(BINS))
    norm = BoundaryNorm(edges, BINS)
    facets = []
    for place, (label, grid) in enumerate(grids.items(), start=1):
        axes = figure.add_subplot(2, columns, place, aspect="equal")
        facets.append(axes)
        axes.set(title=label, xlabel="$x_1$", ylabel="$x_2$")
        axes.grid(visible=False)
        if grid is None:
            style.say_no_data(axes)
            continue
        table = grid.pivot_table(index="x2", columns="x1", values="pred")
        axes.pcolormesh(
            table.columns, table.index, table.to_numpy(), cmap=cmap, norm=norm, rasterized=True
        )
        for low, high, color, gid in _SQUARES:
            side = high - low
            look = {"fill": False, "edgecolor": color, "lw": 1.2, "gid": gid}
            axes.add_patch(Rectangle((low, low), side, side, **look))
    bar = figure.colorbar(ScalarMappable(norm, cmap), ax=facets, label="Prediction")
    bar.set_ticks(edges[::4].tolist(), labels=[f"{end:.3g}" for end in edges[::4]])
    style.footnote(
        figure,
        "White square: range of training; red square: range of the test. Titles: solved where.",
    )
    return Product(context.stem, figure)


def published_ramp(bins: int) -> np.ndarray:
    """Return colours from one end of the published ramp to the other, mixed in linear light."""
    from matplotlib.colors import to_rgb

    stops = np.array([to_rgb(color) for color in RAMP])
    linear = np.where(stops <= 0.04045, stops / 12.92, ((stops + 0.055) / 1.055) ** 2.4)
    at = np.linspace(0, len(RAMP) - 1, bins)
    mixed = np.stack([np.interp(at, range(len(RAMP)), linear[:, c]) for c in range(3)], axis=1)
    return np.where(mixed <= 0.0031308, mixed * 12.92, 1.055 * mixed ** (1 / 2.4) - 0.055)


_FIRST, _LAST = "#0000FF", "#FF0000"


@kind("path", needs="epochs")
def path(
    context: Context,
    file: str,
    columns: tuple[tuple[str, str], ...],
    time: str,
    limits: tuple[float, float] = (-1.0, 1.0),
) -> Product:
    """Draw weight 0 against weight 1 along training, and so two gates: one file of the figure."""
    one = next((s for s in context.figure.series if file in s.files), Series((file,)))
    found = context.source.require(one)
    weights, *others = columns
    table = context.source.read(found, ("name", time, *weights), "an export with weights")
    pairs = [weights, *(pair for pair in others if set(pair) <= set(table))]
    shown = [column for pair in pairs for column in pair]
    rows = numeric(table, [time, *shown], found)
    rows = rows.sort_values(["name", time], kind="stable")
    rows = rows.loc[rows[shown[0]].notna()]
    if rows.empty:
        remedy = "run and export with --verbose; pairs of digits with --learn-labels2out"
        raise UsageError(f"{found} holds no weights in {shown[0]}: {remedy}")
    figure, axes = style.subplots((16, 16), subplot_kw={"aspect": "equal"})
    for pair, marker in zip(pairs, ("o", "^"), strict=False):
        for _, run in rows.groupby("name", sort=False):
            line = _draw_path(axes, run[list(pair)].to_numpy(), run[time].to_numpy(), marker)
    reach = np.array([*limits, *rows[shown].to_numpy(dtype=float).flat])
    ends = (np.nanmin(reach) - 0.05, np.nanmax(reach) + 0.05)
    axes.set(xlim=ends, ylim=ends, xlabel="Weight 0", ylabel="Weight 1")
    axes.set_title(one.label or style.drawable(file), fontsize=9)
    figure.colorbar(line, ax=axes, label=time, shrink=0.8)
    gates = " Triangles: gates." if len(pairs) > 1 else ""
    runs = rows["name"].nunique()
    note = f"{runs} runs. Blue star: first, red star: last row.{gates}"
    return context.plotted(figure, rows.filter(["name", time, *shown]), note)


def _draw_path(axes: "Axes", points: np.ndarray, times: np.ndarray, marker: str):
    """Draw one run; segments take the colour of the time they begin at."""
    from matplotlib.collections import LineCollection
    from matplotlib.colors import LinearSegmentedColormap, Normalize

    ramp = LinearSegmentedColormap.from_list("time", [_FIRST, _LAST])
    colors: dict[str, Any] = {"cmap": ramp, "norm": Normalize(times.min(), times.max())}
    segments = np.stack([points[:-1], points[1:]], axis=1)
    axes.add_collection(LineCollection(list(segments), array=times[:-1], linewidth=0.9, **colors))
    inner = axes.scatter(*points.T, c=times, marker=marker, s=7, linewidth=0, **colors)
    for place, color in ((0, _FIRST), (-1, _LAST)):
        axes.plot(
            *points[place], marker="*", markersize=9, color=color, markeredgecolor="white",
            markeredgewidth=0.4, zorder=4,
        )  # fmt: skip
    return inner


_OUTCOMES = ("solved", "not solved")


@kind("histogram", needs="outcomes")
def histogram(context: Context, runs: Runs, column: str, size: Size = STANDARD) -> Product:
    """Draw how a gate is distributed over runs: a panel per operation and model, by success."""
    judged, models = reduce_series(context.figure.series, runs, context, (column,))
    operations = [name for name in ("mul", "add") if name in set(judged["operation"])]
    operations += sorted(set(judged["operation"]) - set(operations))
    shape = (len(operations), len(models))
    figure, grid = style.subplots(size, *shape, sharex=True, squeeze=False)
    shown = context.looks(_OUTCOMES)
    words = {"mul": "Multiplication", "add": "Addition"}
    for line, operation in zip(grid, operations, strict=True):
        for axes, model in zip(line, models, strict=True):
            group = judged.loc[(judged["model"] == model) & (judged["operation"] == operation)]
            bars = _draw_gates(axes, group, column, shown)
            failed = int(np.sum(~group["solved"].to_numpy(bool)))
            word = words.get(operation, operation_label(operation))
            title = f"{word} – {model}\nn = {len(group)}, failed: {failed}"
            axes.set_title(title, fontsize=7)
            if group.empty:
                style.say_no_data(axes, "black")
                context.source.warn(f"missing: {plain(model)} on {operation} (no run of it)")
        line[0].set_ylabel("Runs")
    for axes in grid[-1]:
        axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["mul", "0.25", "0.50", "0.75", "add"])
        axes.set_xlabel("Gate")
    note = "Gate at the row that a run is judged at."
    return context.plotted(figure, judged, note, handles=bars, side="seeds_best")


def _draw_gates(
    axes: "Axes", group: pd.DataFrame, column: str, shown: Mapping[str, style.Look]
) -> "list[BarContainer]":
    """Draw the counts of solved and failed runs beside each other, and return their bars."""
    edges = np.linspace(0, 1, 26)
    width = (edges[1] - edges[0]) / 2
    bars = []
    for place, outcome in enumerate(_OUTCOMES):
        gates = group.loc[group["solved"] == (outcome == "solved"), column]
        heights, _ = np.histogram(gates.dropna().to_numpy(dtype=float), bins=edges)
        look = style.bar_look(shown[outcome], place)
        left = edges[:-1] + place * width
        bars.append(axes.bar(left, heights, width, align="edge", label=outcome, **look))
    return bars
