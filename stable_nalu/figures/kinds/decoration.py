"""What surrounds the data in every drawing: legend, footnote, counts below the axes."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..style import MISSING, Look

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NO_DATA = " (no data)"


def footnote(figure: Figure, *sentences: str) -> None:
    """Small grey text at the bottom, below the legend."""
    text = " ".join(sentence for sentence in sentences if sentence)
    characters = max(40, int(figure.get_figwidth() * 23))
    figure.supxlabel("\n".join(textwrap.wrap(text, characters)), fontsize=5.5, color="0.35")


def legend(
    figure: Figure,
    looks: dict[str, Look],
    texts: dict[str, str],
    missing: Iterable[str],
    *,
    lines: bool,
    columns: int | None = None,
) -> None:
    """Series in their order with counts; those without data in grey, and said to be so."""
    from matplotlib.lines import Line2D

    absent = set(missing)
    handles = []
    for label, look in looks.items():
        gone = label in absent
        handles.append(
            Line2D(
                [],
                [],
                color=MISSING if gone else look.color,
                marker="x" if gone else look.marker,
                linestyle=look.line if lines and not gone else "none",
                label=label + (NO_DATA if gone else texts.get(label, "")),
            )
        )
    per_row = columns or legend_columns(figure, [h.get_label() for h in handles])
    figure.legend(handles=handles, loc="outside lower center", ncols=per_row, handlelength=2.6)


def legend_columns(figure: Figure, labels: Sequence[str]) -> int:
    """How many entries fit beside each other."""
    widest = max((len(label.replace("\\mathrm", "").replace("\\bullet", "•")) for label in labels))
    fits = int(figure.get_figwidth() * 72 / (widest * 4.6 + 34))
    return max(1, min(len(labels), fits))


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
        for x, count in zip(*rows[label], strict=True):
            absent = np.isnan(count)
            axes.text(
                x,
                row,
                "–" if absent else f"{int(count)}",
                ha="center",
                va="center",
                fontsize=5.5,
                color=MISSING if absent else look.color,
            )
    axes.text(
        -0.06,
        0.5,
        title,
        transform=axes.transAxes,
        ha="right",
        va="center",
        fontsize=5.5,
        color="0.35",
    )
