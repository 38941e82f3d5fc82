"""Many runs over epochs, of digits, weights and gates, and predictions of single models."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib import colors
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from stable_nalu.base.errors import UsageError
from stable_nalu.base.script import plain
from stable_nalu.options.flags import half_open
from stable_nalu.statistics.setups import operation_label
from stable_nalu.statistics.summary import mean_summary
from stable_nalu.statistics.table import TEST, groups, numeric, refuse_repeated

from . import style
from .panels import draw_series, offsets
from .runs import (
    Context,
    Product,
    Runs,
    Series,
    judgement_of,
    kind,
    logged,
    numbers,
    reduce_series,
    together,
    two_digit_name,
    with_names,
)

_FLOOR = 1e-32
"""What errors of 0 are drawn as."""

Titled = tuple[tuple[str, str], ...]
"""Columns of exported tables, and what panels or places call them."""

Tables = Mapping[str, pd.DataFrame]
"""Model -> the rows of its runs."""

_SQUARE = (7 * style.INCH, 7 * style.INCH)


def quartiles(table: pd.DataFrame, by: str, column: str) -> pd.DataFrame:
    """Return median and quartiles of a column over runs; infinite errors count, missing do not."""
    groups = numbers(table, column).groupby(table[by].to_numpy())
    found = {"lower": groups.quantile(0.25), "median": groups.median()}
    found |= {"upper": groups.quantile(0.75), "runs": groups.count()}
    return pd.DataFrame(found).rename_axis(by).reset_index()


def draw_quartiles(axes: Axes, curve: pd.DataFrame, by: str, look: style.Look) -> None:
    style.ribbon(axes, curve, by, "median", look, markevery=max(1, len(curve) // 6))


def draw_epochs(
    panels: list[Axes], curves: Titled, by: str, models: Tables, shown: Mapping[str, style.Look]
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


def with_counts(shown: dict[str, style.Look], models: dict[str, pd.DataFrame]) -> list[Line2D]:
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
            judgement = judgement_of(context, runs)
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


def _draw_runs(axes: Axes, table: pd.DataFrame, column: str, look: style.Look) -> pd.DataFrame:
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


def read_pairs(context: Context, column: str = "") -> tuple[pd.DataFrame, list[str], list[str]]:
    """Return the rows of runs on pairs of digits, labels in their order, and those without data.

    column: one that some file should have.
    """
    found = context.exported(
        ("name", "epoch"), made=lambda table, path: with_names(table, two_digit_name, path)
    )
    table = together(found)
    if column and column not in table:
        raise UsageError(f"no file has the column {column}")
    return table, list(found), [name for name, own in found.items() if own is None]


def chosen_rows(rows: pd.DataFrame, best: str | None) -> pd.DataFrame:
    """Return one row per run: the last, or of the last ten rows the one with the largest `best`."""
    picked = []
    for _, run in rows.sort_values("epoch", kind="stable").groupby(["model", "name"], sort=False):
        last = run.iloc[-10:]
        known = best in last and bool(last[best].notna().any())
        picked.append(last.loc[last[best].idxmax()] if known else last.iloc[-1])
    return pd.DataFrame(picked).reset_index(drop=True)


@kind("curve")
def epoch_curves(context: Context, column: str, y_label: str) -> Product:
    """Draw the mean of a column against the epoch, with standard errors, one line per model."""
    rows, labels, missing = read_pairs(context, column)
    groups = rows.groupby(["model", "epoch"], sort=False)[column]
    summary = groups.agg(n="count", mean="mean", sd="std").reset_index()
    summary["se"] = summary["sd"] / summary["n"] ** 0.5
    summary = summary.sort_values(["model", "epoch"], kind="stable").reset_index(drop=True)
    figure, axes = style.subplots(_SQUARE)
    shown = context.looks(labels)
    texts = {}
    for label, look in shown.items():
        table = summary.loc[summary["model"] == label]
        if table.empty:
            continue
        epochs, mean, error = table["epoch"], table["mean"], table["se"]
        each = max(1, len(table) // 8)
        axes.plot(epochs, mean, **look.style, markevery=each, label=label)
        gid = f"{label} interval"
        axes.fill_between(epochs, mean - error, mean + error, color=look.color, alpha=0.15, gid=gid)
        fewest, most = min(table["n"]), max(table["n"])
        texts[label] = f" (n = {most})" if fewest == most else f" (n = {fewest} to {most})"
    axes.set(xlabel="Epoch", ylabel=y_label)
    axes.locator_params(axis="x", integer=True)
    handles = style.legend_handles(shown, texts, missing)
    note = "Means over runs that have the epoch. Ribbons: standard errors."
    return context.plotted(figure, summary, note, handles=handles)


@kind("metrics")
def scatter(
    context: Context,
    metrics: Sequence[tuple[tuple[str, ...], str]],
    y_label: str,
    order: Sequence[str] = (),
    best: str | None = None,
) -> Product:
    """Draw means of several columns at one epoch of each run: models on the x axis.

    metrics: (columns, text); the first column that the files have is used.
    best: the column whose largest value among the last ten rows chooses the row; None: the last.
    """
    rows, labels, missing = read_pairs(context)
    models = [m for m in order if m in labels] + [m for m in labels if m not in order]
    chosen = chosen_rows(rows, best)
    filled = set(chosen.columns[chosen.notna().any()])
    measures = {
        next(column for column in columns if column in filled): text
        for columns, text in metrics
        if filled.intersection(columns)
    }
    if not measures:
        wanted = ", ".join(columns[0] for columns, _ in metrics[:2])
        raise UsageError(f"no file has a column for {y_label}, such as {wanted}")
    summary = mean_summary(chosen, ["model"], measures)
    figure, axes = style.subplots(_SQUARE)
    shown = context.looks(dict.fromkeys(summary["metric.type"]))
    places = np.arange(len(models))
    for (measure, look), offset in zip(shown.items(), offsets(len(shown)), strict=True):
        table = summary[summary["metric.type"] == measure].set_index("model").reindex(models)
        mean, error = table["mean"], table["se"]
        ends = {"mean": mean, "lower": mean - error, "upper": mean + error}
        draw_series(axes, places + offset, pd.DataFrame(ends), look, measure, line=False)
    counts = dict(zip(summary["model"], summary["n"], strict=True))
    none = style.NO_DATA.strip()
    below = {m: none if m in missing else f"n = {counts.get(m, 0)}" for m in models}
    axes.set_xticks(places, [f"{model}\n{text}" for model, text in below.items()])
    axes.set(xlim=(-0.5, len(models) - 0.5), xlabel="Model", ylabel=y_label)
    if max(map(len, models)) * len(models) > 70:
        axes.tick_params(axis="x", labelrotation=20)
    when = "at the last epoch" if best is None else f"at the best {best} of the last ten"
    note = f"Means over runs {when}. Bars: standard errors."
    handles = style.legend_handles(shown, lines=False)
    return context.plotted(figure, summary, note, handles=handles)


RAMP = ("#35978f", "#c7eae5", "#bf812d", "#330000")
"""Colours of the published surface, for the palette of that name."""

BINS = 20
_SQUARES = ((1.0, 2.0, "#FFFFFF", "interpolation"), (2.0, 6.0, "#FF0000", "extrapolation"))


@kind("surface")
def surface(context: Context) -> Product:
    """Draw predictions over two inputs, cut into bins: a facet per series, in two rows."""
    names = ("x1", "x2", "pred")
    grids = context.exported(
        names, "a grid of predictions", lambda table, path: numeric(table, names, path)
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
        cmap = colors.ListedColormap(published_ramp(BINS))
    norm = colors.BoundaryNorm(edges, BINS)
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
        cells: dict[str, Any] = {"cmap": cmap, "norm": norm, "rasterized": True}
        axes.pcolormesh(table.columns, table.index, table.to_numpy(), **cells)
        for low, high, color, gid in _SQUARES:
            look = {"fill": False, "edgecolor": color, "lw": 1.2, "gid": gid}
            axes.add_patch(Rectangle((low, low), high - low, high - low, **look))
    bar = figure.colorbar(ScalarMappable(norm, cmap), ax=facets, label="Prediction")
    bar.set_ticks(edges[::4].tolist(), labels=[f"{end:.3g}" for end in edges[::4]])
    squares = "White square: range of training; red square: range of the test."
    style.footnote(figure, squares, "Titles: solved where.")
    return Product(context.stem, figure)


def published_ramp(bins: int) -> np.ndarray:
    """Return colours from one end of the published ramp to the other, mixed in linear light."""
    stops = np.array([colors.to_rgb(color) for color in RAMP])
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
    found = context.require(one)
    weights, *others = columns
    table = context.read(found, ("name", time, *weights), "an export with weights")
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


def _draw_path(axes: Axes, points: np.ndarray, times: np.ndarray, marker: str):
    ramp = colors.LinearSegmentedColormap.from_list("time", [_FIRST, _LAST])
    look: dict[str, Any] = {"cmap": ramp, "norm": colors.Normalize(times.min(), times.max())}
    segments = np.stack([points[:-1], points[1:]], axis=1)
    axes.add_collection(LineCollection(list(segments), array=times[:-1], linewidth=0.9, **look))
    inner = axes.scatter(*points.T, c=times, marker=marker, s=7, linewidth=0, **look)
    star: dict[str, Any] = {"marker": "*", "markeredgecolor": "white", "markeredgewidth": 0.4}
    for place, color in ((0, _FIRST), (-1, _LAST)):
        axes.plot(*points[place], markersize=9, color=color, zorder=4, **star)
    return inner


_OUTCOMES = ("solved", "not solved")


@kind("histogram", needs="outcomes")
def histogram(
    context: Context, runs: Runs, column: str, size: style.Size = style.STANDARD
) -> Product:
    """Draw how a gate is distributed over runs: a panel per operation and model, by success."""
    judged, models = reduce_series(context, runs, also=(column,))
    operations = [name for name in ("mul", "add") if name in set(judged["operation"])]
    operations += sorted(set(judged["operation"]) - set(operations))
    shape = (len(operations), len(models))
    figure, grid = style.subplots(size, *shape, sharex=True, squeeze=False)
    shown, edges = context.looks(_OUTCOMES), np.linspace(0, 1, 26)
    width = (edges[1] - edges[0]) / 2
    words = {"mul": "Multiplication", "add": "Addition"}
    for line, operation in zip(grid, operations, strict=True):
        for axes, model in zip(line, models, strict=True):
            group = judged.loc[(judged["model"] == model) & (judged["operation"] == operation)]
            solved, bars = group["solved"].to_numpy(bool), []
            for place, outcome in enumerate(_OUTCOMES):
                those = ~solved if place else solved
                gates = group.loc[those, column].dropna().to_numpy(dtype=float)
                heights, left = np.histogram(gates, bins=edges)[0], edges[:-1] + place * width
                look = style.bar_look(shown[outcome], place)
                bars.append(axes.bar(left, heights, width, align="edge", label=outcome, **look))
            word = words.get(operation, operation_label(operation))
            title = f"{word} – {model}\nn = {len(group)}, failed: {np.sum(~solved)}"
            axes.set_title(title, fontsize=7)
            if group.empty:
                style.say_no_data(axes, "black")
                context.warn(f"missing: {plain(model)} on {operation} (no run of it)")
        line[0].set_ylabel("Runs")
    for axes in grid[-1]:
        axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["mul", "0.25", "0.50", "0.75", "add"])
        axes.set_xlabel("Gate")
    note = "Gate at the row that a run is judged at."
    return context.plotted(figure, judged, note, handles=bars, side="seeds_best")


COUNTED = ("true", "predicted", "count")
"""Columns of a table of class counts."""


@kind("matrix")
def matrix(context: Context) -> Product:
    """Draw counts of true against predicted classes, as an annotated heat map."""
    path = context.require(context.figure.series[0])
    table = numeric(context.read(path, COUNTED, "a table of class counts"), COUNTED, path)
    if table.empty:
        raise UsageError(f"{path} has no rows")
    counts = counted(table)
    figure, axes = style.subplots((15 * style.INCH, 10 * style.INCH))
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    image = axes.imshow(shares, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    for (row, column), count in np.ndenumerate(counts):
        color = "white" if shares[row, column] > 0.5 else "black"
        axes.text(column, row, str(count), color=color, fontsize=13, **style.MIDDLE)
    ticks: dict[str, Any] = {"ticks": range(len(counts)), "labels": range(len(counts))}
    axes.set_xticks(**ticks, fontsize=15)
    axes.set_yticks(**ticks, fontsize=15)
    axes.grid(visible=False)
    axes.set_xlabel("Predicted digit", fontsize=15)
    axes.set_ylabel("True digit", fontsize=15)
    figure.colorbar(image, ax=axes).set_label("Share of the true digit", fontsize=13)
    note = f"n = {counts.sum()} digits: both of every pair."
    return context.plotted(figure, accuracies(counts), note, side="class_accs")


def counted(table: pd.DataFrame) -> np.ndarray:
    """Count pairs of a true class, by row, and a predicted one, cut into the known classes."""
    classes = int(table["true"].to_numpy().max()) + 1
    counts = np.zeros((classes, classes), dtype=int)
    predicted = table["predicted"].clip(0, classes - 1).astype(int)
    np.add.at(counts, (table["true"].astype(int), predicted), table["count"].astype(int))
    return counts


def accuracies(counts: np.ndarray) -> pd.DataFrame:
    with np.errstate(invalid="ignore"):
        share = np.diag(counts) / counts.sum(axis=1)
    return pd.DataFrame({"digit": range(len(counts)), "accuracy": share})
