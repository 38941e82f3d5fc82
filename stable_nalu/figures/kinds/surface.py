"""Predictions over two inputs, cut into equal bins, one facet a series."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from stable_nalu.errors import UsageError

from ..parts import Surface
from ..product import Context, Product
from ..source import numeric, read_csv
from ..style import MISSING, drawing, new_figure
from .decoration import footnote

COLUMNS = ("x1", "x2", "pred")
RAMP = ("#35978f", "#c7eae5", "#bf812d", "#330000")
SQUARES = ((1.0, 2.0, "#0000FF", "interpolation"), (2.0, 6.0, "#FF0000", "extrapolation"))


def render(part: Surface, context: Context) -> Product:
    """Read the grids, cut all by the same edges, draw."""
    grids: dict[str, pd.DataFrame | None] = {}
    for one in context.series:
        label = one.label or one.files[0]
        path = context.source.expect(one.files, (label,))
        grids[label] = None
        if path is not None:
            table = read_csv(path, COLUMNS, "a grid of predictions")
            grids[label] = numeric(table, COLUMNS, path)
    found = [grid for grid in grids.values() if grid is not None]
    if not found:
        raise UsageError(f"nothing to draw: {'; '.join(context.source.warnings)}")
    values = np.concatenate([grid["pred"].to_numpy() for grid in found])
    finite = values[np.isfinite(values)]
    if not len(finite):
        raise UsageError("no prediction is a finite number")
    edges = np.linspace(finite.min(), finite.max() + 1e-9, part.bins + 1)
    with drawing():
        figure = draw(part, context, grids, edges)
    return Product(context.stem(part.stem), figure)


def colors(bins: int) -> np.ndarray:
    """Colours from one end of the ramp to the other, mixed in linear light."""
    from matplotlib.colors import to_rgb

    stops = np.array([to_rgb(color) for color in RAMP])
    linear = np.where(stops <= 0.04045, stops / 12.92, ((stops + 0.055) / 1.055) ** 2.4)
    at = np.linspace(0, len(RAMP) - 1, bins)
    mixed = np.stack([np.interp(at, range(len(RAMP)), linear[:, c]) for c in range(3)], axis=1)
    return np.where(mixed <= 0.0031308, mixed * 12.92, 1.055 * mixed ** (1 / 2.4) - 0.055)


def draw(part: Surface, context: Context, grids: dict[str, pd.DataFrame | None], edges: np.ndarray):
    """Facets in two rows, the legend of bins below."""
    from matplotlib.colors import BoundaryNorm, ListedColormap
    from matplotlib.patches import Patch, Rectangle

    columns = math.ceil(len(grids) / 2)
    size = (part.size[0] * max(1.0, columns / 2.6), part.size[1] + 3)
    figure = new_figure(size)
    palette = colors(part.bins)
    cmap = ListedColormap(palette)
    norm = BoundaryNorm(edges, part.bins)
    for place, (label, grid) in enumerate(grids.items(), start=1):
        axes = figure.add_subplot(2, columns, place, aspect="equal")
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
    handles = [
        Patch(color=palette[i], label=f"({edges[i]:.3g}, {edges[i + 1]:.3g}]")
        for i in range(part.bins)
    ]
    figure.legend(
        handles=handles,
        loc="lower center",
        ncols=min(5, part.bins),
        fontsize=6.5,
        handlelength=1,
    )
    footnote(
        figure,
        "Colour: prediction. Blue square: trained on; red: tested on. In brackets: solved there?",
        context.stamp,
    )
    return figure
