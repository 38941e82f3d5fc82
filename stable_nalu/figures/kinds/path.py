"""Two weights, and two gates, along training; or how far they move between logged rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from stable_nalu.errors import UsageError

from ..entry import Series
from ..parts import Path
from ..product import Context, Product
from ..source import numeric, read_csv, with_names
from ..style import drawing, looks, new_figure
from .decoration import Bottom, footnote, legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FIRST, LAST = "#0000FF", "#FF0000"
_MARKERS = ("o", "^")
_SMALL = 0.01
"""Added to both distances of a ratio."""


def render(part: Path, context: Context) -> Product:
    """Read one file, keep every so many steps, draw."""
    one = next((s for s in context.series if part.file in s.files), Series((part.file,)))
    path = context.source.require(one)
    pairs = [pair for pair in part.columns if pair == part.columns[0]]
    table = read_csv(path, ("name", part.time, *part.columns[0]), "an export with weights")
    pairs += [pair for pair in part.columns[1:] if set(pair) <= set(table)]
    if part.show == "ratio" and len(pairs) < 2:
        raise UsageError(f"{path} has no gates: train a unit that has them, with --verbose")
    columns = [column for pair in pairs for column in pair]
    rows = numeric(table, [part.time, *columns], path)
    grammar = "two-digit" if part.time == "epoch" else "single"
    rows = with_names(rows, grammar, path).sort_values(["name", part.time], kind="stable")
    rows = rows.loc[(rows[part.time] % part.every == 0) & rows[columns[0]].notna()]
    if rows.empty:
        raise UsageError(f"{path} holds no weights: run and export with --verbose")
    with drawing():
        figure = (
            draw(part, context, rows, pairs)
            if part.show == "path"
            else distances(part, context, rows, pairs)
        )
        figure.axes[0].set_title(one.label or part.file, fontsize=9)
    stem = context.stem(part.stem)
    return Product(
        stem, figure, side={f"{stem}_plot_data": rows.filter(["name", part.time, *columns])}
    )


def draw(part: Path, context: Context, rows: pd.DataFrame, pairs: list[tuple[str, str]]):
    """Weight 0 against weight 1, coloured by time."""
    figure = new_figure(part.size)
    axes = figure.add_subplot(aspect="equal")
    line = None
    for pair, marker in zip(pairs, _MARKERS, strict=False):
        for _, run in rows.groupby("name", sort=False):
            line = draw_path(axes, run[list(pair)].to_numpy(), run[part.time].to_numpy(), marker)
    reach = rows[[c for pair in pairs for c in pair]].to_numpy(dtype=float)
    low, high = part.limits
    axes.set_xlim(min(low, np.nanmin(reach)) - 0.05, max(high, np.nanmax(reach)) + 0.05)
    axes.set_ylim(axes.get_xlim())
    axes.set_xlabel("Weight 0")
    axes.set_ylabel("Weight 1")
    if line is not None:
        figure.colorbar(line, ax=axes, label=part.time, shrink=0.8)
    gates = " Triangles: gates." if len(pairs) > 1 else ""
    runs = rows["name"].nunique()
    footnote(figure, f"{runs} runs. Blue star: first, red star: last row.{gates}", context.stamp)
    return figure


def draw_path(axes: Axes, points: np.ndarray, times: np.ndarray, marker: str):
    """One run; segments take the colour of the time they begin at."""
    from matplotlib.collections import LineCollection
    from matplotlib.colors import LinearSegmentedColormap

    ramp = LinearSegmentedColormap.from_list("time", [FIRST, LAST])
    segments = np.stack([points[:-1], points[1:]], axis=1)
    line = LineCollection(list(segments), cmap=ramp, linewidth=0.9)
    line.set_array(times[:-1].astype(float))
    line.set_clim(float(times.min()), float(times.max()))
    axes.add_collection(line)
    inner = axes.scatter(
        points[:, 0], points[:, 1], c=times, cmap=ramp, marker=marker, s=7, linewidth=0
    )
    inner.set_clim(float(times.min()), float(times.max()))
    for place, color in ((0, FIRST), (-1, LAST)):
        axes.plot(
            *points[place],
            marker="*",
            markersize=9,
            color=color,
            markeredgecolor="white",
            markeredgewidth=0.4,
            zorder=4,
        )
    return inner


def moves(part: Path, run: pd.DataFrame, pairs: Sequence[tuple[str, str]]) -> np.ndarray:
    """Euclidean distance from row to row, of the weights or over that of the gates."""
    steps = [np.diff(run[list(pair)].to_numpy(dtype=float), axis=0) for pair in pairs]
    weights = np.hypot(*steps[0].T)
    if part.show == "distance":
        return weights
    return (weights + _SMALL) / (np.hypot(*steps[1].T) + _SMALL)


def distances(part: Path, context: Context, rows: pd.DataFrame, pairs: list[tuple[str, str]]):
    """Distances between consecutive rows, or their ratios, a line a seed."""
    figure = new_figure(part.size)
    axes = figure.add_subplot()
    shown = looks([str(seed) for seed in sorted(set(rows["seed"]))], context.palette)
    for _, run in rows.groupby("name", sort=False):
        times = run[part.time].to_numpy()[1:]
        chosen = times % part.shown == 0
        seed = str(run["seed"].iloc[0])
        look = shown[seed]
        axes.plot(
            times[chosen],
            moves(part, run, pairs)[chosen],
            color=look.color,
            linestyle=look.line,
            marker=look.marker,
            markersize=3,
            label=seed,
        )
    axes.set_xlabel("Epoch")
    axes.set_ylabel("L2 distance")
    if part.show == "ratio":
        axes.set_ylabel("weight:gate L2 ratio")
        axes.axhline(1.0, color="black", linewidth=0.8, gid="equal")
    legend(figure, Bottom(shown, {}, (), "", "", lines=True))
    footnote(figure, "By seed.", context.stamp)
    return figure
