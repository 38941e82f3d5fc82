"""Predictions over two inputs, cut into equal bins, one facet per series."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from stable_nalu.errors import UsageError
from stable_nalu.statistics.table import numeric

from ..decoration import footnote
from ..entry import Context, Drawn, Part, Size
from ..source import read_csv
from ..style import MISSING, new_figure

COLUMNS = ("x1", "x2", "pred")
RAMP = ("#35978f", "#c7eae5", "#bf812d", "#330000")
"""Colours of the published figure, for the palette of that name."""

SQUARES = ((1.0, 2.0, "#FFFFFF", "interpolation"), (2.0, 6.0, "#FF0000", "extrapolation"))


@dataclass(frozen=True)
class Surface(Part):
    """Predictions over two inputs, cut into bins, one facet per series."""

    KIND = "surface"

    bins: int = 20
    size: Size = (16 * 1.4, 10 * 1.4)

    def drawn(self, context: Context) -> Drawn:
        """Read the grids, cut all by the same edges, draw."""
        grids = context.tables(
            lambda path, one: numeric(
                read_csv(path, COLUMNS, "a grid of predictions"), COLUMNS, path
            )
        )
        found = [grid["pred"].to_numpy() for grid in grids.values() if grid is not None]
        values = np.concatenate(found)
        finite = values[np.isfinite(values)]
        if not len(finite):
            raise UsageError("no prediction is a finite number")
        edges = np.linspace(finite.min(), finite.max() + 1e-9, self.bins + 1)
        return draw(self, context, grids, edges), {}


def colors(bins: int) -> np.ndarray:
    """Return colours from one end of the published ramp to the other, mixed in linear light."""
    from matplotlib.colors import to_rgb

    stops = np.array([to_rgb(color) for color in RAMP])
    linear = np.where(stops <= 0.04045, stops / 12.92, ((stops + 0.055) / 1.055) ** 2.4)
    at = np.linspace(0, len(RAMP) - 1, bins)
    mixed = np.stack([np.interp(at, range(len(RAMP)), linear[:, c]) for c in range(3)], axis=1)
    return np.where(mixed <= 0.0031308, mixed * 12.92, 1.055 * mixed ** (1 / 2.4) - 0.055)


def draw(part: Surface, context: Context, grids: dict[str, pd.DataFrame | None], edges: np.ndarray):
    """Draw facets in two rows, and the scale of colours beside them."""
    import matplotlib
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import BoundaryNorm, ListedColormap
    from matplotlib.patches import Rectangle

    columns = math.ceil(len(grids) / 2)
    figure = new_figure((part.size[0] * max(1.0, columns / 2.6), part.size[1] + 1))
    published = context.palette == "published"
    ramp = colors(part.bins) if published else matplotlib.colormaps["viridis"].resampled(part.bins)
    cmap = ListedColormap(ramp) if isinstance(ramp, np.ndarray) else ramp
    norm = BoundaryNorm(edges, part.bins)
    facets = []
    for place, (label, grid) in enumerate(grids.items(), start=1):
        axes = figure.add_subplot(2, columns, place, aspect="equal")
        facets.append(axes)
        axes.set_title(label)
        axes.grid(visible=False)
        axes.set_xlabel("$x_1$")
        axes.set_ylabel("$x_2$")
        if grid is None:
            axes.text(0.5, 0.5, "no data", transform=axes.transAxes, ha="center", color=MISSING)
            continue
        table = grid.pivot_table(index="x2", columns="x1", values="pred")
        axes.pcolormesh(
            table.columns, table.index, table.to_numpy(), cmap=cmap, norm=norm, rasterized=True
        )
        for low, high, color, text in SQUARES:
            side = high - low
            square = Rectangle((low, low), side, side, fill=False, edgecolor=color, linewidth=1.2)
            square.set_gid(text)
            axes.add_patch(square)
    bar = figure.colorbar(ScalarMappable(norm, cmap), ax=facets, label="Prediction")
    ends = edges[::4].tolist()
    bar.set_ticks(ends, labels=[f"{end:.3g}" for end in ends])
    note = "White square: range of training; red square: range of the test. Titles: solved where."
    footnote(figure, note)
    return figure
