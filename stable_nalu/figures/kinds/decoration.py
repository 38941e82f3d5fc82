"""What surrounds the data in every drawing: legend, footnote, counts below the axes."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..order import plain
from ..style import CM, MISSING, Look, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

NO_DATA = " (no data)"


LEFT, RIGHT, GAP, TOP = 1.5, 0.35, 1.55, 0.75
X_TITLE, LEGEND_ROW, NOTE_LINE, COUNT_ROW = 0.45, 0.44, 0.27, 0.27


@dataclass(frozen=True)
class Frame:
    """A figure of panels beside each other, each with a strip of counts, placed in cm.

    panels: pairs of axes, panel and strip.
    """

    figure: Figure
    panels: tuple[tuple[Axes, Axes], ...]


@dataclass(frozen=True)
class Bottom:
    """What stands below the panels."""

    looks: dict[str, Look]
    texts: dict[str, str]
    missing: tuple[str, ...]
    note: str
    x_title: str
    lines: bool


def framed(size: tuple[float, float], columns: int, tick_height: float, bottom: Bottom) -> Frame:
    """Panels as high as a figure of this size leaves; strip and note make it higher."""
    width = size[0]
    handles = legend_handles(bottom)
    per_row = legend_columns(width, [str(handle.get_label()) for handle in handles])
    rows = math.ceil(len(handles) / per_row)
    note = textwrap.wrap(bottom.note, int(width * 9.6))
    strip = COUNT_ROW * len(bottom.looks)
    base = 0.1 + NOTE_LINE * len(note) + LEGEND_ROW * rows + X_TITLE + tick_height
    panel = max(2.2, size[1] - TOP - tick_height - X_TITLE - LEGEND_ROW)
    height = base + strip + 0.1 + panel + TOP
    figure = new_figure((width, height), layout=None)
    each = (width - LEFT - RIGHT - GAP * (columns - 1)) / columns
    panels = []
    for column in range(columns):
        left = (LEFT + column * (each + GAP)) / width
        box = (left, (base + strip + 0.1) / height, each / width, panel / height)
        axes = figure.add_axes(box)
        below = figure.add_axes((left, base / height, each / width, strip / height), sharex=axes)
        panels.append((axes, below))
    notes_top = (0.1 + NOTE_LINE * len(note)) / height
    legend_top = notes_top + LEGEND_ROW * rows / height
    figure.legend(
        handles=handles,
        loc="upper center",
        bbox_to_anchor=(0.5, legend_top),
        ncols=per_row,
        handlelength=2.6,
        borderpad=0,
        borderaxespad=0.2,
    )
    middle = (LEFT + (width - LEFT - RIGHT) / 2) / width
    figure.text(middle, legend_top, bottom.x_title, ha="center", va="bottom", fontsize=8)
    figure.text(
        0.5, 0.1 / height, "\n".join(note), ha="center", va="bottom", fontsize=5.5, color="0.35"
    )
    return Frame(figure, tuple(panels))


def legend_handles(bottom: Bottom) -> list[Line2D]:
    """Series in their order with counts; those without data in grey, and said to be so."""
    from matplotlib.lines import Line2D

    handles = []
    for label, look in bottom.looks.items():
        gone = label in bottom.missing
        handles.append(
            Line2D(
                [],
                [],
                color=MISSING if gone else look.color,
                marker="x" if gone else look.marker,
                linestyle=look.line if bottom.lines and not gone else "none",
                label=label + (NO_DATA if gone else bottom.texts.get(label, "")),
            )
        )
    return handles


def legend_columns(width: float, labels: Sequence[str]) -> int:
    """How many entries stand beside each other, rows being equally full."""
    widest = max(len(plain(label)) for label in labels)
    fits = max(1, int(width / (0.152 * widest + 1.35)))
    return math.ceil(len(labels) / math.ceil(len(labels) / fits))


def footnote(figure: Figure, *sentences: str) -> None:
    """Small grey text at the bottom of a figure that lays itself out, below its legend."""
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    text = " ".join(sentence for sentence in sentences if sentence)
    lines = textwrap.wrap(text, max(40, int(figure.get_figwidth() * 23)))
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
        engine.set(rect=(0, above, 1, 1 - above))
    note = "\n".join(lines)
    figure.text(0.5, 0.1 / height, note, ha="center", va="bottom", fontsize=5.5, color="0.35")


def legend(figure: Figure, bottom: Bottom) -> None:
    """The legend below a figure that lays itself out."""
    handles = legend_handles(bottom)
    labels = [str(handle.get_label()) for handle in handles]
    columns = legend_columns(figure.get_figwidth() / CM, labels)
    figure.legend(handles=handles, loc="lower center", ncols=columns, handlelength=2.6)


def patch_legend(figure: Figure, entries: Mapping[str, tuple[str, str]]) -> None:
    """Label -> colour and hatch of bars, below a figure that lays itself out."""
    from matplotlib.patches import Patch

    handles = [
        Patch(facecolor=color, hatch=hatch, edgecolor="white", linewidth=0.3, label=label)
        for label, (color, hatch) in entries.items()
    ]
    columns = legend_columns(figure.get_figwidth() / CM, list(entries))
    figure.legend(handles=handles, loc="lower center", ncols=columns)
