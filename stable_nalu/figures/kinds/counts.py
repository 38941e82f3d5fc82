"""Numbers of runs below a panel."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..style import MISSING, Look

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIZE = 5.5
"""Of the numbers, in points, where there is room."""


def counts(
    axes: Axes,
    rows: dict[str, tuple[np.ndarray, np.ndarray]],
    looks: dict[str, Look],
    title: str,
) -> None:
    """Numbers of runs below a panel: one row a series, one number a point.

    rows: label -> (x, counts), NaN where there is no run.
    """
    labels = list(rows)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.set_yticks([])
    axes.grid(visible=False)
    for side in ("top", "right", "left", "bottom"):
        axes.spines[side].set_visible(False)
    axes.tick_params(axis="x", length=0, pad=1)
    for row, label in enumerate(labels):
        look = looks[label]
        axes.plot(
            -0.035,
            row,
            marker=look.marker,
            color=look.color,
            markersize=3,
            transform=axes.get_yaxis_transform(),
            clip_on=False,
        )
        texts = ["–" if np.isnan(count) else f"{int(count)}" for count in rows[label][1]]
        places, size = spread(axes, rows[label][0], max(map(len, texts), default=1))
        for place, text in zip(places, texts, strict=True):
            axes.text(
                place,
                row,
                text,
                ha="center",
                va="center",
                fontsize=size,
                color=MISSING if text == "–" else look.color,
                transform=axes.get_yaxis_transform(),
            )
    axes.text(
        -0.075,
        0.5,
        title,
        transform=axes.transAxes,
        ha="right",
        va="center",
        fontsize=5.5,
        color="0.35",
    )


def spread(axes: Axes, x: np.ndarray, digits: int) -> tuple[np.ndarray, float]:
    """Where along the axis numbers of so many digits stand without touching, and their size.

    Places are shares of the axis, in the order of `x`. Numbers that would touch move to the right,
    back from the end where that is too far, and become smaller where there is no room at all.
    """
    points = np.column_stack([x, np.zeros(len(x))])
    places = (axes.transData + axes.transAxes.inverted()).transform(points)[:, 0]
    width = axes.get_window_extent().width / axes.figure.dpi * 72
    share = (0.64 * digits + 0.25) / width
    size = min(SIZE, 1 / (share * max(len(x), 1)))
    order = np.argsort(places, kind="stable")
    for before, place in zip(order, order[1:], strict=False):
        places[place] = max(places[place], places[before] + size * share)
    places[order[-1:]] = np.minimum(places[order[-1:]], 1.0)
    for after, place in zip(order[::-1], order[-2::-1], strict=False):
        places[place] = min(places[place], places[after] - size * share)
    return places, size
