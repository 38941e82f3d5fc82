"""Two weights, and two gates, along training; or how far they move between logged rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas as pd

from stable_nalu.errors import UsageError
from stable_nalu.statistics.table import numeric

from ..entry import Context, Drawn, Part, Size
from ..source import Series, read_csv, with_names
from ..style import drawable, looks, new_figure
from .decoration import Bottom, footnote, legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FIRST, LAST = "#0000FF", "#FF0000"
_MARKERS = ("o", "^")
_SMALL = 0.01
"""Added to both distances of a ratio."""


@dataclass(frozen=True)
class Path(Part):
    """Two weights, and two gates, along training: one file of the entry.

    every: steps that it divides are read; `shown`: those that are drawn, unless `show` is a path.
    show: the path itself, how far the weights move between rows, or that over how far gates do.
    """

    KIND = "path"
    NEEDS = "epochs"

    file: str
    columns: tuple[tuple[str, str], ...]
    time: str
    limits: tuple[float, float]
    every: int = 1
    shown: int = 1
    show: Literal["path", "distance", "ratio"] = "path"
    size: Size = (16, 16)

    def drawn(self, context: Context) -> Drawn:
        """Read one file, keep every so many steps, draw."""
        one = next((s for s in context.series if self.file in s.files), Series((self.file,)))
        path = context.source.require(one)
        pairs = [pair for pair in self.columns if pair == self.columns[0]]
        table = read_csv(path, ("name", self.time, *self.columns[0]), "an export with weights")
        pairs += [pair for pair in self.columns[1:] if set(pair) <= set(table)]
        if self.show == "ratio" and len(pairs) < 2:
            raise UsageError(f"{path} has no gates: train a unit that has them, with --verbose")
        columns = [column for pair in pairs for column in pair]
        rows = numeric(table, [self.time, *columns], path)
        if self.show != "path":
            grammar = "two-digit" if self.time == "epoch" else "single"
            rows = with_names(rows, grammar, path)
        rows = rows.sort_values(["name", self.time], kind="stable")
        rows = rows.loc[(rows[self.time] % self.every == 0) & rows[columns[0]].notna()]
        if rows.empty:
            remedy = "run and export with --verbose; pairs of digits with --learn-labels2out"
            raise UsageError(f"{path} holds no weights in {columns[0]}: {remedy}")
        path_itself = self.show == "path"
        figure = draw(self, rows, pairs) if path_itself else distances(self, context, rows, pairs)
        figure.axes[0].set_title(one.label or drawable(self.file), fontsize=9)
        return figure, {f"{self.stem}_plot_data": rows.filter(["name", self.time, *columns])}


def draw(part: Path, rows: pd.DataFrame, pairs: list[tuple[str, str]]):
    """Draw weight 0 against weight 1, coloured by time."""
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
    footnote(figure, f"{runs} runs. Blue star: first, red star: last row.{gates}")
    return figure


def draw_path(axes: Axes, points: np.ndarray, times: np.ndarray, marker: str):
    """Draw one run; segments take the colour of the time they begin at."""
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
    """Return how far the weights move from row to row, for a ratio over how far the gates do."""
    steps = [np.diff(run[list(pair)].to_numpy(dtype=float), axis=0) for pair in pairs]
    weights = np.hypot(*steps[0].T)
    if part.show == "distance":
        return weights
    return (weights + _SMALL) / (np.hypot(*steps[1].T) + _SMALL)


def distances(part: Path, context: Context, rows: pd.DataFrame, pairs: list[tuple[str, str]]):
    """Draw distances between consecutive rows, or their ratios, one line per seed."""
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
            **look.style,
            markersize=3,
            label=seed,
        )
    axes.set_xlabel("Epoch")
    axes.set_ylabel("L2 distance between rows")
    if part.show == "ratio":
        axes.set_ylabel("L2 distance of weights over that of gates")
        axes.axhline(1.0, color="black", linewidth=0.8, gid="equal")
    legend(figure, Bottom(shown, {}, (), "", "", lines=True))
    footnote(figure, "One line per seed.")
    return figure
