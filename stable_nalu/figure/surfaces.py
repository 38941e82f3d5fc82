"""Drawings over two inputs or two weights, and of what is computed or measured beside runs.

The last one is of the weights of a NAC, drawn at random: W = tanh(W_hat) sigmoid(M_hat). A start
says what W_hat and M_hat are drawn from: both from one range, as an article has them, or as a NAC
of 100 inputs and 10 outputs begins its training.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from stable_nalu.console import plain
from stable_nalu.errors import UsageError
from stable_nalu.options.layer_options import half_open
from stable_nalu.paper.experiment import STANDARD, Runs, Series, Size
from stable_nalu.statistics.names import operation_label
from stable_nalu.statistics.table import numeric

from . import style
from .entry import INCH, Context, Product, kind, read_csv
from .runs import reduce_series

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.container import BarContainer
    from matplotlib.figure import Figure


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
        lambda path, _: numeric(read_csv(path, names, "a grid of predictions"), names, path)
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


X = np.array([1.0, 1.2, 1.8, 2.0])
TARGET = float((X[0] + X[1]) * X.sum())


@kind("landscape", needs="nothing")
def landscape(context: Context, unit: str, epsilon: float, title: str) -> Product:
    """Draw the loss of a chain of two layers over one weight of each, computed: no file is read.

    x = (1, 1.2, 1.8, 2),   t = (x1 + x2)(x1 + x2 + x3 + x4) = 13.2
    z = ((w1, w1, 0, 0) x, (w1, w1, w1, w1) x),   y = unit(z; w2, w2)
    """
    from mpl_toolkits.mplot3d.axes3d import Axes3D

    step = 0.01
    weights = np.arange(-1.0, 1.0 - step / 2, step)
    w1, w2 = np.meshgrid(weights, weights, indexing="ij")
    figure = style.new_figure((7 * INCH, 4.6 * INCH), layout=None)
    axes = figure.add_subplot(projection="3d")
    assert isinstance(axes, Axes3D)
    surface = axes.plot_surface(
        w1, w2, chain_error(unit, w1, w2, epsilon), cmap="Spectral", rcount=80, ccount=80,
        linewidth=0, rasterized=True,
    )  # fmt: skip
    axes.view_init(elev=45, azim=-45)
    axes.set(xlabel="$w_1$", ylabel="$w_2$", zlabel="RMSE", title=title)
    figure.colorbar(surface, ax=axes, shrink=0.6, pad=0.14)
    text = f"Computed, no runs. Input {tuple(map(float, X))}, target {TARGET:g}."
    figure.text(0.5, 0.02, text, ha="center", fontsize=style.SMALL, color="0.35")
    return Product(context.stem, figure)


def chain_output(unit: str, z: np.ndarray, w2: np.ndarray, epsilon: float) -> np.ndarray:
    """Return the output of a unit with both weights w2, for z of shape (2, ...)."""
    if unit == "nmu":
        return np.prod(z * w2 + 1 - w2, axis=0)
    power = (np.abs(z) + epsilon) ** w2
    if unit == "nac-mul":
        return np.prod(power, axis=0)
    gate = np.tanh(1000.0 * w2) ** 2 if unit == "nru-tanh" else np.abs(w2)
    return np.prod(np.sign(z) * power * gate + 1 - gate, axis=0)


def chain_error(unit: str, w1: np.ndarray, w2: np.ndarray, epsilon: float) -> np.ndarray:
    """Return |y - t|."""
    z = np.stack([w1 * X[:2].sum(), w1 * X.sum()])
    shift = np.abs(z) + epsilon if unit == "nmu" else z
    with np.errstate(over="ignore", divide="ignore"):
        return np.abs(chain_output(unit, shift, w2, epsilon) - TARGET)


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
    table = read_csv(found, ("name", time, *weights), "an export with weights")
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


@kind("gold-errors")
def gold_errors(
    context: Context, panels: tuple[tuple[str, str], ...], order: tuple[str, ...]
) -> Product:
    """Draw the error that is left with exact weights, against the sampled range of a divisor.

    panels: tasks and their titles. order: modules, of which each is a line.
    """
    columns = ("module", "parameter", "test.mse", "range")
    path = context.source.require(context.figure.series[0])
    table = numeric(read_csv(path, columns, "a table of gold errors"), ("test.mse",), path)
    absent = [module for module in order if module not in set(table["module"])]
    for module in absent:
        context.source.warn(f"missing: {plain(module)} (no row in {path})")
    shown = context.looks([*order, *sorted(set(table["module"]) - set(order))])
    ranges = sorted(table["range"].unique(), key=lambda label: max(style.numbers_of(label)))
    places = np.arange(len(ranges))
    size = (STANDARD[0], STANDARD[1] + 1.2)
    figure, ((*grid,),) = style.subplots(size, 1, len(panels), sharey=True, squeeze=False)
    for axes, (parameter, title) in zip(grid, panels, strict=True):
        for module, look in shown.items():
            chosen = (table["module"] == module) & (table["parameter"] == parameter)
            errors = table[chosen].set_index("range")["test.mse"].reindex(ranges)
            axes.plot(places, errors, **look.style, label=module)
        axes.set(title=title, yscale="log", xlabel="Range that inputs are sampled from")
        axes.margins(0.08)
        axes.set_xticks(places, [half_open(r) for r in ranges])
        for text in axes.get_xticklabels():
            text.set(rotation=45, ha="right", rotation_mode="anchor")
    grid[0].set_ylabel("Mean squared test error")
    style.legend(figure, style.legend_handles(shown, missing=absent))
    note = "Computed in float32 with the weights that solve the task exactly: no runs."
    style.footnote(figure, note)
    return Product(context.stem, figure)


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
    axes: Axes, group: pd.DataFrame, column: str, shown: Mapping[str, style.Look]
) -> list[BarContainer]:
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


ARTICLE = "uniform"
STARTS = {
    ARTICLE: "Ŵ and M̂ from {range}",
    "nac": "Start of a NAC",
    "xavier-normal": "Xavier-normal start",
    "truncated-normal": "Start from a cut normal",
}
"""Start -> how its panel is called."""

INPUTS, OUTPUTS = 100, 10

_INITS = {"nac": "default", "xavier-normal": "xavier-normal", "truncated-normal": "truncated"}
"""Start -> the option `nalu_init` of the layer that begins so."""


def shares(w: np.ndarray) -> tuple[float, float, float]:
    """Return which shares of the weights are within 0.05 of 0, above 0.95 and below -0.95."""
    return float(np.mean(np.abs(w) < 0.05)), float(np.mean(w > 0.95)), float(np.mean(w < -0.95))


def shares_text(w: np.ndarray) -> str:
    """Say how many weights are close to the values that they should have, and how they deviate."""
    zero, one, minus_one = (f"{100 * share:.1f} %" for share in shares(w))
    near = f"{zero} within 0.05 of 0, {one} above 0.95, {minus_one} below −0.95"
    return f"{near}, deviation {np.std(w):.3f}"


@dataclass(frozen=True)
class Weights:
    """What weights are drawn from, and how many.

    ends: what the article's start draws from.
    """

    starts: tuple[str, ...] = tuple(STARTS)
    draws: int = 1000
    ends: tuple[float, float] = (-10, 10)
    bins: int = 100
    seed: int = 0

    @property
    def edges(self) -> np.ndarray:
        """Return the ends of the bins."""
        return np.linspace(-1, 1, self.bins + 1)

    def weights(self) -> dict[str, np.ndarray]:
        """Return the weights of every start."""
        return {start: self._of(start) for start in self.starts}

    def _of(self, start: str) -> np.ndarray:
        if start == ARTICLE:
            low, high = self.ends
            u = np.random.default_rng(self.seed).random((2, self.draws))
            u = low * (1 - u) + high * u  # Scaled so, ends may be as far apart as numbers go.
            # The tanh form of the sigmoid does not overflow.
            return np.tanh(u[1]) * (1 + np.tanh(u[0] / 2)) / 2
        import torch

        from stable_nalu.layer.nalu import NALULayer

        found: list[torch.Tensor] = []
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            torch.manual_seed(self.seed)
            for _ in range(math.ceil(self.draws / (INPUTS * OUTPUTS))):
                layer = NALULayer(INPUTS, OUTPUTS, nalu_init=_INITS[start], dtype=torch.float64)
                found.append(layer.nac_add.weights().flatten())
        return torch.cat(found)[: self.draws].numpy()


@kind("weights", needs="nothing")
def weights(context: Context) -> Product:
    """Draw weights of every start, and then the figure."""
    part = Weights()
    return Product(context.stem, draw_weights(part, part.weights()))


def histogram_table(part: Weights, weights: Mapping[str, np.ndarray]) -> pd.DataFrame:
    """Return the histogram of every start, a row per bin."""
    found = []
    for start, w in weights.items():
        counts, ends = np.histogram(w, part.edges)
        columns = {"bin.low": ends[:-1], "bin.high": ends[1:], "count": counts}
        found.append(pd.DataFrame({"init": start, **columns, "share": counts / len(w)}))
    return pd.concat(found, ignore_index=True)


def draw_weights(part: Weights, weights: Mapping[str, np.ndarray]) -> Figure:
    """Draw the first start large, and the others below each other at its right."""
    figure = style.new_figure((8 * INCH, 4 * INCH))
    others = len(weights) - 1
    ratios = (1.6, 1) if others else (1,)
    grid = figure.add_gridspec(max(others, 1), len(ratios), width_ratios=ratios)
    places = [grid[:, 0], *(grid[row, 1] for row in range(others))]
    shown = style.looks(tuple(weights))
    for number, ((start, w), place) in enumerate(zip(weights.items(), places, strict=True)):
        axes = figure.add_subplot(place)
        counts, ends = np.histogram(w, part.edges)
        axes.stairs(counts, ends, fill=True, color=shown[start].color)
        axes.set(xlim=(-1.03, 1.03), ylim=(0, None))
        axes.yaxis.set_major_formatter("{x:,.0f}")
        axes.set_xticks([-1, -0.5, 0, 0.5, 1], ["−1", "−0.5", "0", "0.5", "1"])
        axes.grid(visible=False, axis="x")
        low, high = (f"{end:g}".replace("-", "−") for end in part.ends)
        title = STARTS[start].format(range=f"U({low}, {high})")
        told = f": deviation {np.std(w):.3f}" if number else f"\n{shares_text(w)}"
        axes.set_title(f"{title}{told}")
        if number in (0, others):
            axes.set_xlabel("Weight W")
        else:
            axes.tick_params(labelbottom=False)
    figure.axes[0].set_ylabel("Number of weights")
    style.footnote(
        figure,
        f"{part.draws:,} weights W = tanh(Ŵ) σ(M̂) each, {part.bins:,} bins.",
        f"A start is that of a layer of {INPUTS} inputs and {OUTPUTS} outputs."
        if set(weights) != {ARTICLE}
        else "",
    )
    return figure
