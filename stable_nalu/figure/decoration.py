"""What surrounds the data in every drawing: frames, legend, footnote, counts below the axes."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from stable_nalu.console import plain

from .style import CM, DASHED, MISSING, Look, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

NO_DATA = " (no data)"
SMALL = 6.5
"""Size of footnotes and counts in points: ten pixels where a README shows the figure."""

HATCHES = ("", "////", "----", "\\\\\\\\", "xxxx")
"""Of bars side by side. An SVG would describe dots one by one, in 160 kB."""

LEFT, RIGHT, GAP, TOP = 1.6, 0.35, 1.6, 0.75
X_TITLE, LEGEND_ROW, NOTE_LINE, COUNT_ROW = 0.75, 0.44, 0.31, 0.3
"""Heights and gaps in cm."""


class Frame(NamedTuple):
    """A figure of panels, each with a strip of counts below it.

    panels: pairs of axes, panel and strip.
    """

    figure: Figure
    panels: list[tuple[Axes, Axes]]


def framed(
    size: tuple[float, float],
    panels: int,
    tick_height: float,
    handles: Sequence[Line2D],
    note: str,
    *,
    stacked: bool,
) -> Frame:
    """Place panels beside or, stacked, below each other; strips and note make the figure higher.

    handles: the entries of the legend, each with a row of counts.
    """
    width = size[0]
    per_row = _legend_columns(width, [str(handle.get_label()) for handle in handles])
    lines = textwrap.wrap(note, int(width * 8.1))
    strip = COUNT_ROW * len(handles)
    panel = 3.4 if stacked else max(2.2, size[1] - TOP - tick_height - X_TITLE - LEGEND_ROW)
    row = X_TITLE + tick_height + strip + 0.1 + panel + TOP
    notes_top = 0.1 + NOTE_LINE * len(lines)
    legend_top = notes_top + LEGEND_ROW * math.ceil(len(handles) / per_row) + 0.1
    rows, columns = (panels, 1) if stacked else (1, panels)
    height = legend_top + row * rows
    figure = new_figure((width, height), layout=None)
    each = (width - LEFT - RIGHT - GAP * (columns - 1)) / columns
    placed = []
    for place in range(panels):
        left = (LEFT + (place % columns) * (each + GAP)) / width
        base = legend_top + row * (rows - 1 - place // columns) + X_TITLE + tick_height
        box = (left, (base + strip + 0.1) / height, each / width, panel / height)
        axes = figure.add_axes(box)
        below = figure.add_axes((left, base / height, each / width, strip / height), sharex=axes)
        placed.append((axes, below))
    figure.legend(
        handles=handles,
        loc="upper center",
        bbox_to_anchor=(0.5, legend_top / height),
        ncols=per_row,
        handlelength=2.6,
        borderpad=0,
        borderaxespad=0.2,
    )
    _write_note(figure, lines, height)
    return Frame(figure, placed)


def _write_note(figure: Figure, lines: Sequence[str], height: float) -> None:
    """Write small grey lines at the bottom of a figure of that height in cm."""
    text = "\n".join(lines)
    figure.text(0.5, 0.1 / height, text, ha="center", va="bottom", fontsize=SMALL, color="0.35")


def legend_handles(
    looks: Mapping[str, Look],
    texts: Mapping[str, str],
    missing: Collection[str],
    *,
    lines: bool,
) -> list[Line2D]:
    """Return the entries of a legend; series without data are grey and say so.

    texts: what is added to labels.
    """
    from matplotlib.lines import Line2D

    handles = []
    for label, look in looks.items():
        gone = label in missing
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
    return handles


def _legend_columns(width: float, labels: Sequence[str]) -> int:
    """Return how many entries stand beside each other, all rows being equally full."""
    widest = max(len(plain(label)) for label in labels)
    fits = max(1, int(width / (0.152 * widest + 1.35)))
    return math.ceil(len(labels) / math.ceil(len(labels) / fits))


def footnote(figure: Figure, *sentences: str) -> None:
    """Write small grey text at the bottom of a figure that lays itself out, below its legend."""
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    text = " ".join(sentence for sentence in sentences if sentence)
    lines = textwrap.wrap(text, max(40, int(figure.get_figwidth() * 19.5)))
    height = figure.get_figheight() / CM
    share = (0.15 + NOTE_LINE * len(lines)) / height
    above = share
    for below in figure.legends:
        below.set_bbox_to_anchor((0.5, share), transform=figure.transFigure)
        below.set_in_layout(False)
        pixels = below.get_window_extent().height
        above = max(above, share + pixels / figure.bbox.height + 0.15 / height)
    engine = figure.get_layout_engine()
    if isinstance(engine, ConstrainedLayoutEngine):
        engine.set(rect=(0, above, 1, 0.99 - above))
    _write_note(figure, lines, height)


def legend(
    figure: Figure,
    looks: Mapping[str, Look],
    texts: Mapping[str, str] | None = None,
    missing: Collection[str] = (),
    *,
    lines: bool = True,
) -> None:
    """Write the legend below a figure that lays itself out; see `legend_handles`."""
    handles = legend_handles(looks, texts or {}, missing, lines=lines)
    columns = _legend_columns(_width(figure), [str(handle.get_label()) for handle in handles])
    figure.legend(handles=handles, loc="lower center", ncols=columns, handlelength=2.6)


def patch_legend(figure: Figure, entries: Mapping[str, tuple[str, str]]) -> None:
    """Write a legend of bars, label -> colour and hatch, below a figure that lays itself out."""
    from matplotlib.patches import Patch

    handles = [
        Patch(facecolor=color, hatch=hatch, edgecolor="white", linewidth=0.3, label=label)
        for label, (color, hatch) in entries.items()
    ]
    columns = _legend_columns(_width(figure), list(entries))
    figure.legend(handles=handles, loc="lower center", ncols=columns)


def _width(figure: Figure) -> float:
    return figure.get_figwidth() / CM


def ascending(numbers: Iterable[int], form: str = "") -> str:
    """Return the different numbers as a sentence has them: `3 or 5`."""
    return " or ".join(format(number, form) for number in sorted(set(numbers)))


def mark(
    axes: Axes, x: float | None = None, y: float | None = None, linewidth: float = 0.8
) -> None:
    """Draw a dashed line at a place of an axis."""
    look: dict[str, Any] = {"color": "0.35", "linewidth": linewidth, "linestyle": DASHED}
    if x is not None:
        axes.axvline(x, **look)
    if y is not None:
        axes.axhline(y, **look)


def ribbon(
    axes: Axes, table: pd.DataFrame, x: str, middle: str, look: Look, *,
    alpha: float = 0.15, **line: Any,
) -> None:  # fmt: skip
    """Draw a column as a line, in a ribbon from the columns `lower` to `upper`."""
    axes.fill_between(
        table[x], table["lower"], table["upper"], color=look.color, alpha=alpha, linewidth=0
    )
    axes.plot(table[x], table[middle], **look.style | line)


def grouped_bars(
    axes: Axes,
    heights: Mapping[str, tuple[Any, Any]],
    looks: Mapping[str, Look],
    share: float,
) -> dict[str, tuple[str, str]]:
    """Draw a group of bars for each number of some series, and return the entries of the legend.

    heights: heights of bars and lengths of their error bars. share: of the axis that bars take.
    """
    entries, each = {}, share / len(heights)
    for place, (label, (height, error)) in enumerate(heights.items()):
        x = np.arange(len(height)) + (place + 0.5) * each - share / 2
        color, hatch = looks[label].color, HATCHES[place % len(HATCHES)]
        axes.bar(
            x, height, each, yerr=error, color=color, hatch=hatch, edgecolor="white",
            linewidth=0.3, error_kw={"elinewidth": 0.9, "capsize": 2},
        )  # fmt: skip
        entries[label] = (color, hatch)
    axes.grid(visible=False, axis="x")
    return entries


def say_no_data(axes: Axes, color: str = MISSING) -> None:
    """Write into empty axes that there is nothing to draw."""
    axes.text(0.5, 0.5, "no data", transform=axes.transAxes, ha="center", color=color)


def counts(
    axes: Axes,
    rows: Mapping[str, tuple[np.ndarray, np.ndarray]],
    looks: Mapping[str, Look],
    title: str,
) -> None:
    """Write numbers of runs below a panel: one row per series, one number per point.

    rows: label -> (x, counts), NaN where there is no run.
    """
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_yticks([])
    axes.grid(visible=False)
    for side in ("top", "right", "left", "bottom"):
        axes.spines[side].set_visible(False)
    axes.tick_params(axis="x", length=0, pad=1)
    across = axes.get_yaxis_transform()
    inch = axes.get_window_extent().width / axes.figure.dpi
    for row, (label, (x, numbers)) in enumerate(rows.items()):
        look = looks[label]
        axes.plot(
            -0.06 / inch, row, marker=look.marker, color=look.color, markersize=3,
            transform=across, clip_on=False,
        )  # fmt: skip
        texts = ["–" if np.isnan(number) else f"{int(number)}" for number in numbers]
        places, size = spread(axes, x, max(map(len, texts), default=1))
        for place, text in zip(places, texts, strict=True):
            color = MISSING if text == "–" else look.color
            axes.text(
                place, row, text, ha="center", va="center", fontsize=size, color=color,
                transform=across,
            )  # fmt: skip
    axes.text(
        -0.13 / inch, 0.5, title, transform=axes.transAxes, ha="right", va="center",
        fontsize=SMALL, color="0.35",
    )  # fmt: skip


def spread(axes: Axes, x: np.ndarray, digits: int) -> tuple[np.ndarray, float]:
    """Return where numbers of so many digits stand without touching, and their size.

    Places are shares of the axis, in the order of `x`. Numbers that would touch move to the right,
    back from the end where that is too far, and become smaller where there is no room at all.
    """
    points = np.column_stack([x, np.zeros(len(x))])
    places = (axes.transData + axes.transAxes.inverted()).transform(points)[:, 0]
    width = axes.get_window_extent().width / axes.figure.dpi * 72
    share = (0.64 * digits + 0.25) / width
    size = min(SMALL, 1 / (share * max(len(x), 1)))
    order = np.argsort(places, kind="stable")
    for before, place in zip(order, order[1:], strict=False):
        places[place] = max(places[place], places[before] + size * share)
    places[order[-1:]] = np.minimum(places[order[-1:]], 1.0)
    for after, place in zip(order[::-1], order[-2::-1], strict=False):
        places[place] = min(places[place], places[after] - size * share)
    return places, size
