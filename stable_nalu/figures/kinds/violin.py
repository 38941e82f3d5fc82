"""Distribution of a measure over runs, one violin a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import numpy as np

from stable_nalu.errors import UsageError

from ..parts import Violin
from ..product import Context, Product
from ..style import MISSING, drawing, new_figure
from .decoration import footnote
from .digits import chosen_rows, model_places, read_digits

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PolyCollection


def render(part: Violin, context: Context) -> Product:
    """Choose rows, draw."""
    rows, labels, missing = read_digits(context)
    if part.column not in rows:
        raise UsageError(f"no file has the column {part.column}")
    chosen = chosen_rows(rows, part.best)
    models = [m for m in model_places(labels, part.order) if m in part.order]
    values = [chosen.loc[chosen["model"] == m, part.column].dropna().to_numpy() for m in models]
    with drawing():
        figure = new_figure((part.size[0], part.size[1]))
        axes = figure.add_subplot()
        violins(axes, values, models, horizontal=True)
        axes.set_xlabel(part.y_label)
        axes.set_ylabel("model")
        footnote(figure, "Box: quartiles. Points: outliers.", context.stamp)
    stem = context.stem(part.stem)
    side = chosen.filter(["model", "name", "seed", "epoch", part.column])
    return Product(stem, figure, side={f"{stem}_plot_data": side})


def violins(
    axes: Axes, values: Sequence[np.ndarray], labels: Sequence[str], *, horizontal: bool
) -> None:
    """Violins with boxes; a label without values says so."""
    orientation = "horizontal" if horizontal else "vertical"
    places = range(1, len(labels) + 1)
    for place, some in zip(places, values, strict=True):
        if len(some) == 0:
            x, y = (0.5, place) if horizontal else (place, 0.5)
            axis = axes.get_yaxis_transform() if horizontal else axes.get_xaxis_transform()
            axes.text(x, y, "no data", transform=axis, color=MISSING, ha="center", va="center")
            continue
        if len(some) > 1 and np.ptp(some) > 0:
            body = axes.violinplot(
                [some], [place], orientation=orientation, widths=0.7, showextrema=False
            )
            for shape in cast("list[PolyCollection]", body["bodies"]):
                shape.set(facecolor="cornflowerblue", alpha=0.8, edgecolor="0.3", linewidth=0.5)
        axes.boxplot(
            [some],
            positions=[place],
            orientation=orientation,
            widths=0.08,
            manage_ticks=False,
            flierprops={"marker": ".", "markersize": 3, "markeredgecolor": "#D55E00"},
            medianprops={"color": "black"},
        )
    texts = [f"{label}\n(n = {len(some)})" for label, some in zip(labels, values, strict=True)]
    if horizontal:
        axes.set_yticks(places, texts)
        axes.set_ylim(0.4, len(labels) + 0.6)
    else:
        axes.set_xticks(places, texts)
        axes.set_xlim(0.4, len(labels) + 0.6)
