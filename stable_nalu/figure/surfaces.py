"""Drawings over two inputs or two weights, and of what is computed or measured beside runs."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from stable_nalu.errors import UsageError
from stable_nalu.paper.drawing import STANDARD, Runs, Series, Size
from stable_nalu.statistics.names import operation_label, plain
from stable_nalu.statistics.table import numeric

from .decoration import HATCHES, SMALL, footnote, legend, patch_legend, say_no_data
from .entry import INCH, Context, Drawn, Part
from .runs import LOGGED, Reduced, read_series, reduce_series
from .source import read_csv
from .style import Look, drawable, half_open, looks, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

RAMP = ("#35978f", "#c7eae5", "#bf812d", "#330000")
"""Colours of the published surface, for the palette of that name."""

_SQUARES = ((1.0, 2.0, "#FFFFFF", "interpolation"), (2.0, 6.0, "#FF0000", "extrapolation"))


@dataclass(frozen=True)
class Surface(Part):
    """Predictions over two inputs, cut into bins, one facet per series."""

    KIND = "surface"

    bins: int = 20
    size: Size = (16 * 1.4, 10 * 1.4)

    def drawn(self, context: Context) -> Drawn:
        """Read the grids, cut all by the same edges, draw."""
        columns = ("x1", "x2", "pred")
        grids = context.tables(
            lambda path, _: numeric(read_csv(path, columns, "a grid of predictions"), columns, path)
        )
        values = np.concatenate([g["pred"].to_numpy() for g in grids.values() if g is not None])
        finite = values[np.isfinite(values)]
        if not len(finite):
            raise UsageError("no prediction is a finite number")
        edges = np.linspace(finite.min(), finite.max() + 1e-9, self.bins + 1)
        return self._figure(context, grids, edges), {}

    def _figure(
        self, context: Context, grids: dict[str, pd.DataFrame | None], edges: np.ndarray
    ) -> Figure:
        """Draw facets in two rows, and the scale of colours beside them."""
        import matplotlib
        from matplotlib.cm import ScalarMappable
        from matplotlib.colors import BoundaryNorm, ListedColormap
        from matplotlib.patches import Rectangle

        columns = math.ceil(len(grids) / 2)
        figure = new_figure((self.size[0] * max(1.0, columns / 2.6), self.size[1] + 1))
        cmap = matplotlib.colormaps["viridis"].resampled(self.bins)
        if context.palette == "published":
            cmap = ListedColormap(published_ramp(self.bins))
        norm = BoundaryNorm(edges, self.bins)
        facets = []
        for place, (label, grid) in enumerate(grids.items(), start=1):
            axes = figure.add_subplot(2, columns, place, aspect="equal")
            facets.append(axes)
            axes.set(title=label, xlabel="$x_1$", ylabel="$x_2$")
            axes.grid(visible=False)
            if grid is None:
                say_no_data(axes)
                continue
            table = grid.pivot_table(index="x2", columns="x1", values="pred")
            axes.pcolormesh(
                table.columns, table.index, table.to_numpy(), cmap=cmap, norm=norm, rasterized=True
            )
            for low, high, color, gid in _SQUARES:
                side = high - low
                square = Rectangle((low, low), side, side, fill=False, edgecolor=color, lw=1.2)
                square.set_gid(gid)
                axes.add_patch(square)
        bar = figure.colorbar(ScalarMappable(norm, cmap), ax=facets, label="Prediction")
        ends = edges[::4].tolist()
        bar.set_ticks(ends, labels=[f"{end:.3g}" for end in ends])
        footnote(
            figure,
            "White square: range of training; red square: range of the test. Titles: solved where.",
        )
        return figure


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


@dataclass(frozen=True)
class Landscape(Part):
    """Loss of a chain of two layers over one weight of each, computed: no file is read.

    x = (1, 1.2, 1.8, 2),   t = (x1 + x2)(x1 + x2 + x3 + x4) = 13.2
    z = ((w1, w1, 0, 0) x, (w1, w1, w1, w1) x),   y = unit(z; w2, w2)
    """

    KIND = "landscape"
    NEEDS = "nothing"

    loss: str
    epsilon: float
    title: str
    size: Size = (7 * INCH, 4.6 * INCH)

    def drawn(self, context: Context) -> Drawn:
        """Compute the loss on a grid and draw it as a surface seen from a corner."""
        from mpl_toolkits.mplot3d.axes3d import Axes3D

        step = 0.01
        weights = np.arange(-1.0, 1.0 - step / 2, step)
        w1, w2 = np.meshgrid(weights, weights, indexing="ij")
        figure = new_figure(self.size, layout=None)
        axes = figure.add_subplot(projection="3d")
        assert isinstance(axes, Axes3D)
        error = landscape(self.loss, w1, w2, self.epsilon)
        surface = axes.plot_surface(
            w1, w2, error, cmap="Spectral", rcount=80, ccount=80, linewidth=0, rasterized=True
        )
        axes.view_init(elev=45, azim=-45)
        axes.set(xlabel="$w_1$", ylabel="$w_2$", zlabel="RMSE", title=self.title)
        figure.colorbar(surface, ax=axes, shrink=0.6, pad=0.14)
        text = f"Computed, no runs. Input {tuple(map(float, X))}, target {TARGET:g}."
        figure.text(0.5, 0.02, text, ha="center", fontsize=SMALL, color="0.35")
        return figure, {}


def chain_output(unit: str, z: np.ndarray, w2: np.ndarray, epsilon: float) -> np.ndarray:
    """Return the output of a unit with both weights w2, for z of shape (2, ...)."""
    if unit == "nmu":
        return np.prod(z * w2 + 1 - w2, axis=0)
    power = (np.abs(z) + epsilon) ** w2
    if unit == "nac-mul":
        return np.prod(power, axis=0)
    gate = np.tanh(1000.0 * w2) ** 2 if unit == "nru-tanh" else np.abs(w2)
    return np.prod(np.sign(z) * power * gate + 1 - gate, axis=0)


def landscape(unit: str, w1: np.ndarray, w2: np.ndarray, epsilon: float) -> np.ndarray:
    """Return |y - t|."""
    z = np.stack([w1 * X[:2].sum(), w1 * X.sum()])
    shift = np.abs(z) + epsilon if unit == "nmu" else z
    with np.errstate(over="ignore", divide="ignore"):
        return np.abs(chain_output(unit, shift, w2, epsilon) - TARGET)


_FIRST, _LAST = "#0000FF", "#FF0000"


@dataclass(frozen=True)
class Path(Part):
    """Two weights, and two gates, along training: one file of the entry."""

    KIND = "path"
    NEEDS = "epochs"

    file: str
    columns: tuple[tuple[str, str], ...]
    time: str
    limits: tuple[float, float]
    size: Size = (16, 16)

    def drawn(self, context: Context) -> Drawn:
        """Read one file and draw it."""
        one = next((s for s in context.series if self.file in s.files), Series((self.file,)))
        path = context.source.require(one)
        weights, *others = self.columns
        table = read_csv(path, ("name", self.time, *weights), "an export with weights")
        pairs = [weights, *(pair for pair in others if set(pair) <= set(table))]
        columns = [column for pair in pairs for column in pair]
        rows = numeric(table, [self.time, *columns], path)
        rows = rows.sort_values(["name", self.time], kind="stable")
        rows = rows.loc[rows[columns[0]].notna()]
        if rows.empty:
            remedy = "run and export with --verbose; pairs of digits with --learn-labels2out"
            raise UsageError(f"{path} holds no weights in {columns[0]}: {remedy}")
        figure = self._figure(rows, pairs)
        figure.axes[0].set_title(one.label or drawable(self.file), fontsize=9)
        return figure, {f"{self.stem}_plot_data": rows.filter(["name", self.time, *columns])}

    def _figure(self, rows: pd.DataFrame, pairs: list[tuple[str, str]]) -> Figure:
        """Draw weight 0 against weight 1, coloured by time."""
        figure = new_figure(self.size)
        axes = figure.add_subplot(aspect="equal")
        for pair, marker in zip(pairs, ("o", "^"), strict=False):
            for _, run in rows.groupby("name", sort=False):
                times = run[self.time].to_numpy()
                line = _draw_path(axes, run[list(pair)].to_numpy(), times, marker)
        reach = rows[[c for pair in pairs for c in pair]].to_numpy(dtype=float)
        low, high = self.limits
        axes.set_xlim(min(low, np.nanmin(reach)) - 0.05, max(high, np.nanmax(reach)) + 0.05)
        axes.set_ylim(axes.get_xlim())
        axes.set_xlabel("Weight 0")
        axes.set_ylabel("Weight 1")
        figure.colorbar(line, ax=axes, label=self.time, shrink=0.8)
        gates = " Triangles: gates." if len(pairs) > 1 else ""
        runs = rows["name"].nunique()
        footnote(figure, f"{runs} runs. Blue star: first, red star: last row.{gates}")
        return figure


def _draw_path(axes: Axes, points: np.ndarray, times: np.ndarray, marker: str):
    """Draw one run; segments take the colour of the time they begin at."""
    from matplotlib.collections import LineCollection
    from matplotlib.colors import LinearSegmentedColormap

    ramp = LinearSegmentedColormap.from_list("time", [_FIRST, _LAST])
    segments = np.stack([points[:-1], points[1:]], axis=1)
    line = LineCollection(list(segments), cmap=ramp, linewidth=0.9)
    line.set_array(times[:-1].astype(float))
    line.set_clim(float(times.min()), float(times.max()))
    axes.add_collection(line)
    inner = axes.scatter(
        points[:, 0], points[:, 1], c=times, cmap=ramp, marker=marker, s=7, linewidth=0
    )
    inner.set_clim(float(times.min()), float(times.max()))
    for place, color in ((0, _FIRST), (-1, _LAST)):
        axes.plot(
            *points[place], marker="*", markersize=9, color=color, markeredgecolor="white",
            markeredgewidth=0.4, zorder=4,
        )  # fmt: skip
    return inner


@dataclass(frozen=True)
class GoldErrors(Part):
    """Error that is left with exact weights, against the sampled range of a divisor, by module.

    panels: tasks and their titles. order: modules.
    """

    KIND = "gold-errors"

    panels: tuple[tuple[str, str], ...]
    order: tuple[str, ...]
    size: Size = STANDARD

    def drawn(self, context: Context) -> Drawn:
        """Read and draw one panel per task, one line per module; nothing is estimated."""
        columns = ("module", "parameter", "test.mse", "range")
        path = context.source.require(context.series[0])
        table = numeric(read_csv(path, columns, "a table of gold errors"), ("test.mse",), path)
        absent = [module for module in self.order if module not in set(table["module"])]
        for module in absent:
            context.source.warn(f"missing: {plain(module)} (no row in {path})")
        shown = looks(
            [*self.order, *sorted(set(table["module"]) - set(self.order))], context.palette
        )
        ranges = sorted(table["range"].unique(), key=upper_bound)
        places = np.arange(len(ranges))
        figure = new_figure((self.size[0], self.size[1] + 1.2))
        grid = figure.subplots(1, len(self.panels), sharey=True, squeeze=False)[0]
        for axes, (parameter, title) in zip(grid, self.panels, strict=True):
            for module, look in shown.items():
                chosen = (table["module"] == module) & (table["parameter"] == parameter)
                errors = table[chosen].set_index("range")["test.mse"].reindex(ranges)
                axes.plot(places, errors, **look.style, label=module)
            axes.set_title(title)
            axes.set_yscale("log")
            axes.margins(0.08)
            axes.set_xticks(places, [half_open(r) for r in ranges])
            for text in axes.get_xticklabels():
                text.set(rotation=45, ha="right", rotation_mode="anchor")
            axes.set_xlabel("Range that inputs are sampled from")
        grid[0].set_ylabel("Mean squared test error")
        legend(figure, shown, missing=absent)
        footnote(
            figure, "Computed in float32 with the weights that solve the task exactly: no runs."
        )
        return figure, {}


def upper_bound(label: str) -> float:
    """Return the larger number of a range."""
    return max(float(n) for n in re.findall(r"\d+\.?\d*(?:e[+-]?\d+)?", label))


_OUTCOMES = {"solved": HATCHES[0], "not solved": HATCHES[1]}


@dataclass(frozen=True)
class Histogram(Part):
    """Distribution of a gate over runs, by model and operation, split by success."""

    KIND = "histogram"

    runs: Runs
    column: str
    bins: int = 25
    size: Size = STANDARD

    def drawn(self, context: Context) -> Drawn:
        """Reduce, take the gates, draw one row of panels per operation, one column per model."""
        reduced = reduce_series(context.series, self.runs, context.source, context.setups)
        runs = self._with_gates(context, reduced)
        operations = [name for name in ("mul", "add") if name in set(runs["operation"])]
        operations += sorted(set(runs["operation"]) - set(operations))
        figure = new_figure(self.size)
        grid = figure.subplots(len(operations), len(reduced.models), sharex=True, squeeze=False)
        shown = looks(tuple(_OUTCOMES), context.palette)
        for line, operation in zip(grid, operations, strict=True):
            for axes, model in zip(line, reduced.models, strict=True):
                group = runs.loc[(runs["model"] == model) & (runs["operation"] == operation)]
                self._draw_gates(axes, group, shown)
                failed = int(np.sum(~group["solved"].to_numpy(bool)))
                words = {"mul": "Multiplication", "add": "Addition"}
                word = words.get(operation, operation_label(operation))
                title = f"{word} – {model}\nn = {len(group)}, failed: {failed}"
                axes.set_title(title, fontsize=7)
                if model in reduced.missing or group.empty:
                    say_no_data(axes, "black")
                    context.source.warn(f"missing: {plain(model)} on {operation} (no run of it)")
            line[0].set_ylabel("Runs")
        for axes in grid[-1]:
            axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["mul", "0.25", "0.50", "0.75", "add"])
            axes.set_xlabel("Gate")
        patch_legend(figure, {name: (shown[name].color, h) for name, h in _OUTCOMES.items()})
        footnote(figure, "Gate at the row that a run is judged at.")
        return figure, {f"{self.stem}_seeds_best": runs}

    def _with_gates(self, context: Context, reduced: Reduced) -> pd.DataFrame:
        """Add the gate at the row that each run is judged at."""
        gates = []
        for one in context.series:
            rows = read_series(one, self.runs, context.source, LOGGED)
            if rows is None:
                continue
            if self.column not in rows:
                raise UsageError(
                    f"{one.files[0]}.csv lacks the column {self.column}: export with --export-gate"
                )
            rows = rows.sort_values(["model", "name", "step"], kind="stable")
            place = rows.groupby(["model", "name"], sort=False).cumcount() + 1
            gates.append(rows.assign(**{"best.model.step": place}))
        keys = ["model", "name", "best.model.step"]
        return reduced.runs.merge(pd.concat(gates)[[*keys, self.column]], on=keys, how="left")

    def _draw_gates(self, axes: Axes, group: pd.DataFrame, shown: dict[str, Look]) -> None:
        """Draw the counts of solved and failed runs beside each other."""
        edges = np.linspace(0, 1, self.bins + 1)
        width = (edges[1] - edges[0]) / 2
        for place, (outcome, hatch) in enumerate(_OUTCOMES.items()):
            gates = group.loc[group["solved"] == (place == 0), self.column]
            heights, _ = np.histogram(gates.dropna().to_numpy(dtype=float), bins=edges)
            axes.bar(
                edges[:-1] + place * width, heights, width=width, align="edge",
                color=shown[outcome].color, hatch=hatch, edgecolor="white", linewidth=0.3,
                label=outcome,
            )  # fmt: skip
