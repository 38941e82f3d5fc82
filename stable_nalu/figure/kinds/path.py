"""Two weights, and two gates, along training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from stable_nalu.errors import UsageError
from stable_nalu.statistics.table import numeric

from ..decoration import footnote
from ..entry import Context, Drawn, Part, Size
from ..source import Series, read_csv
from ..style import drawable, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FIRST, LAST = "#0000FF", "#FF0000"
_MARKERS = ("o", "^")


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
        pairs = [pair for pair in self.columns if pair == self.columns[0]]
        table = read_csv(path, ("name", self.time, *self.columns[0]), "an export with weights")
        pairs += [pair for pair in self.columns[1:] if set(pair) <= set(table)]
        columns = [column for pair in pairs for column in pair]
        rows = numeric(table, [self.time, *columns], path)
        rows = rows.sort_values(["name", self.time], kind="stable")
        rows = rows.loc[rows[columns[0]].notna()]
        if rows.empty:
            remedy = "run and export with --verbose; pairs of digits with --learn-labels2out"
            raise UsageError(f"{path} holds no weights in {columns[0]}: {remedy}")
        figure = draw(self, rows, pairs)
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
