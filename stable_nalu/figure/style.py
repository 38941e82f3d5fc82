"""How figures look: labels and their order, colours, markers, sizes, and what surrounds the data.

Every series differs from its neighbours in three ways, so that a figure reads in grey and for
colour-blind readers. `published` gives the hues of the published figures instead. Around the data
are frames, a legend, a footnote, and counts below the axes.
"""

import math
import re
import textwrap
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any, Literal

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from matplotlib.container import BarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.mathtext import MathTextParser

from stable_nalu.base.script import plain
from stable_nalu.dataset.distribution import INTERPOLATION_ORDER
from stable_nalu.layer import registry
from stable_nalu.statistics import setups
from stable_nalu.statistics.setups import NAC_ADD, NAC_ADD_Z, NAC_MUL, NAC_MUL_NMU, NAC_MUL_SIGMA

_LATEX_ORDER = (NAC_MUL_NMU, NAC_MUL_SIGMA, NAC_MUL, NAC_ADD, NAC_ADD_Z)
_NUMBER = re.compile(r"-?\d+\.?\d*(?:e[+-]?\d+)?")

Palette = Literal["safe", "published"]
PALETTES: tuple[Palette, ...] = ("safe", "published")
Line = Literal["-"] | tuple[float, Sequence[float]]
"""A line style: plain, or where its dashes start, and the lengths of dashes and gaps."""

Size = tuple[float, float]
"""Width and height in cm."""

Handles = Sequence[Line2D | BarContainer]
"""Entries of a legend."""

CM = 1 / 2.54
INCH = 2.54
STANDARD = (13.968 * 1.4, 5.7 * 1.4)
WIDE = (13.968 * 2, 5.7 * 2)
"""Sizes of most published figures, and of wide ones."""


def standard(height: float) -> Size:
    """Return the usual width with a height that is given before the usual scale of 1.4."""
    return (STANDARD[0], height * 1.4)


_DPI_OF_CELLS = 120
FORMATS = ("pdf", "png")
MISSING = "0.55"
"""Grey of what is absent."""

MARK: dict[str, Any] = {"color": "0.35", "linewidth": 0.8, "linestyle": (0, (4, 2))}
"""How lines look that mark a place on an axis."""

_LOOKS = tuple(
    zip(registry.COLORS, ("o", "^", "s", "D", "v", "P", "X", "<", "*", "h"), strict=True)
)
"""Colours and markers of what has none of its own."""

_DASHES = ((4, 1.5), (1, 1.2), (4, 1.2, 1, 1.2), (6, 1, 1, 1, 1, 1))
_LINES: tuple[Line, ...] = ("-", *((0, dashes) for dashes in _DASHES))


@dataclass(frozen=True)
class Look:
    """How one series is drawn; bold: layers of users."""

    color: str
    marker: str
    line: Line
    bold: bool = False

    @property
    def weight(self) -> dict[str, Any]:
        """Return what `Axes.plot` takes for a bold series."""
        return {"linewidth": 2.2, "markersize": 7} if self.bold else {}

    @property
    def style(self) -> dict[str, Any]:
        """Return what `Axes.plot` takes for a line with markers."""
        look = {"color": self.color, "linestyle": self.line, "marker": self.marker}
        return look | self.weight


def looks(labels: Sequence[str], palette: Palette = "safe") -> dict[str, Look]:
    """Return the look of every series: its unit's look, unless an earlier series has taken it."""
    if palette == "published":
        return {
            label: Look(color, "^" if label in ("NMU", "NAU") else "o", "-")
            for label, color in zip(labels, hue_wheel(len(labels)), strict=True)
        }
    units = _looks_of_units()
    own = {drawable(entry.shown) for entry in registry.own_entries()}
    taken: dict[registry.ColorAndMarker, str] = {}
    for label in labels:
        begun = [one for one in units if re.match(rf"{re.escape(one)}(?![\w-])", label.casefold())]
        if begun:
            taken.setdefault(units[max(begun, key=len)], label)
    found = {label: look for look, label in taken.items()}
    colors = [color for color, _ in taken]
    free = [one for one in _LOOKS if one[0] not in colors] or _LOOKS
    others = [label for label in labels if label not in found]
    found |= {label: free[i % len(free)] for i, label in enumerate(others)}
    return {
        label: Look(*found[label], _LINES[i % len(_LINES)], label in own)
        for i, label in enumerate(labels)
    }


def _looks_of_units() -> dict[str, registry.ColorAndMarker]:
    """Return colour and marker of every unit, by the labels that figures have for it."""
    known = registry.entries().values()
    by_key = {entry.key.lower(): entry.look for entry in known}
    pairs = [(label, by_key.get(code.partition("-")[0])) for code, label in setups.MODELS.items()]
    pairs += [(label, by_key[code]) for code, label in setups.MODELS.items() if code in by_key]
    for entry in known:
        look = (registry.BLACK, "*") if entry.tier == "own" else entry.look
        variants = [(one.label, one.look) for one in entry.variants if one.look]
        pairs += [(entry.key, look), (entry.label, look), (entry.shown, look), *variants]
    return {label.casefold(): look for label, look in pairs if look is not None}


_RGB_OF_XYZ = np.array(
    [
        [3.240479, -1.537150, -0.498535],
        [-0.969256, 1.875992, 0.041556],
        [0.055648, -0.204043, 1.057311],
    ]
)


def hue_wheel(n: int) -> list[str]:
    """Return `n` colours hcl(15 + 360 i/n, 100, 65), polar CIE-LUV under D65, cut to sRGB."""
    hue = np.radians(15 + 360 * np.arange(n) / n)
    y = ((65 + 16) / 116) ** 3
    u = 100 * np.cos(hue) / (13 * 65) + 0.19783
    v = 100 * np.sin(hue) / (13 * 65) + 0.46832
    x = 9 * y * u / (4 * v)
    linear = _RGB_OF_XYZ @ np.stack([x, np.full(n, y), -x / 3 - 5 * y + 3 * y / v])
    power = np.clip(linear, 0.00304, None) ** (1 / 2.4)
    encoded = np.where(linear <= 0.00304, 12.92 * linear, 1.055 * power - 0.055)
    return [to_hex(color).upper() for color in np.clip(encoded, 0, 1).T]


def drawing() -> AbstractContextManager[None]:
    """Apply the project's settings to figures made in the block; the backend is the program's."""
    return matplotlib.rc_context(fname=Path(__file__).with_name("figures.mplstyle"))


class _Displayed(Figure):
    """A figure that a notebook shows as the value of a cell, whatever its backend."""

    def __init__(self, *arguments: Any, **options: Any):
        super().__init__(*arguments, **options)
        FigureCanvasAgg(self)

    def _repr_png_(self) -> bytes:
        content = BytesIO()
        self.savefig(content, format="png", dpi=_DPI_OF_CELLS)
        return content.getvalue()


def new_figure(size: Size, layout: Literal["constrained"] | None = "constrained") -> Figure:
    """Return an empty figure of a size in cm that no global state holds on to."""
    return _Displayed(figsize=(size[0] * CM, size[1] * CM), layout=layout)


def subplots(size: Size, *shape: int, **options: Any) -> tuple[Figure, Any]:
    """Return an empty figure and its axes, as the `subplots` of matplotlib does."""
    figure = new_figure(size)
    return figure, figure.subplots(*shape, **options)


def save(figure: Figure, path: Path, form: str, dpi: int = 200) -> Path:
    metadata = {"CreationDate": None} if form == "pdf" else {"Software": None}
    figure.savefig(path, format=form, dpi=dpi, metadata=metadata)
    return path


def _ordered(labels: Iterable[str], known: Sequence[str], rank: Callable[[str], Any]) -> list[str]:
    """Return distinct labels: the known ones in their order, then others by a rank."""
    places = {label: place for place, label in enumerate(known)}

    def key(label: str) -> tuple[int, Any]:
        place = places.get(label.replace(")", "]"), len(places))
        return place, rank(label) if place == len(places) else ()

    return sorted(dict.fromkeys(labels), key=key)


def legend_order(labels: Iterable[str]) -> list[str]:
    """Return distinct labels as published legends have them: LaTeX first, then by alphabet."""
    return _ordered(labels, _LATEX_ORDER, lambda label: (label[:1] != "$", label.lower()))


def range_order(labels: Iterable[str]) -> list[str]:
    """Return distinct ranges: the nine in their order, others after them by their numbers."""
    return _ordered(labels, INTERPOLATION_ORDER, lambda label: (numbers_of(label), label))


def operation_order(operations: Iterable[str]) -> list[str]:
    """Return distinct operations (`mul`, …) in the order of tables; unknown ones come last."""
    return _ordered(operations, list(setups.OPERATIONS), lambda _: ())


def numbers_of(label: str) -> list[float]:
    return [float(number) for number in _NUMBER.findall(label)]


@cache
def drawable(label: str) -> str:
    """Return a label that can be drawn: as plain text, where matplotlib cannot read its formula."""
    try:
        if "$" in label:
            MathTextParser("path").parse(label)
    except ValueError:
        return label.replace("$", r"\$")
    return label


NO_DATA = " (no data)"
SMALL = 6.5
"""Size of footnotes and counts in points: ten pixels where a README shows the figure."""

GREY: dict[str, Any] = {"fontsize": SMALL, "color": "0.35"}
MIDDLE: dict[str, Any] = {"ha": "center", "va": "center"}
"""How small text looks, and where text stands that is in the middle of its place."""

HATCHES = ("", "////", "----", "\\\\\\\\", "xxxx")
"""Of bars side by side. An SVG would describe dots one by one, in 160 kB."""

LEFT, RIGHT, GAP, TOP = 1.6, 0.35, 1.6, 0.75
X_TITLE, LEGEND_ROW, NOTE_LINE, COUNT_ROW = 0.75, 0.44, 0.31, 0.3
"""Heights and gaps in cm."""


def framed(
    size: Size, panels: int, tick_height: float, handles: Sequence[Line2D], note: str, stacked: bool
) -> tuple[Figure, list[tuple[Axes, Axes]]]:
    """Return a figure of panels in a row or a stack, each with a strip of counts below it.

    Strips and the note make the figure higher.

    handles: the entries of the legend, each with a row of counts.
    """
    width = size[0]
    lines = textwrap.wrap(note, int(width * 8.1))
    strip = COUNT_ROW * len(handles)
    panel = 3.4 if stacked else max(2.2, size[1] - TOP - tick_height - X_TITLE - LEGEND_ROW)
    row = X_TITLE + tick_height + strip + 0.1 + panel + TOP
    columns = _legend_columns(width, handles)
    notes_top = 0.1 + NOTE_LINE * len(lines)
    legend_top = notes_top + LEGEND_ROW * math.ceil(len(handles) / columns) + 0.1
    height = legend_top + row * (panels if stacked else 1)
    figure = new_figure((width, height), layout=None)
    each = panel_width(width, 1 if stacked else panels)
    placed = []
    for place in range(panels):
        left = (LEFT + (0 if stacked else place) * (each + GAP)) / width
        base = legend_top + row * (panels - 1 - place if stacked else 0) + X_TITLE + tick_height
        box = (left, (base + strip + 0.1) / height, each / width, panel / height)
        axes = figure.add_axes(box)
        below = figure.add_axes((left, base / height, each / width, strip / height), sharex=axes)
        placed.append((axes, below))
    look: Any = {"ncols": columns, "handlelength": 2.6, "borderpad": 0, "borderaxespad": 0.2}
    top = (0.5, legend_top / height)
    figure.legend(handles=handles, loc="upper center", bbox_to_anchor=top, **look)
    _write_note(figure, lines, height)
    return figure, placed


def panel_width(width: float, columns: int) -> float:
    return (width - LEFT - RIGHT - GAP * (columns - 1)) / columns


def _write_note(figure: Figure, lines: Sequence[str], height: float) -> None:
    figure.text(0.5, 0.1 / height, "\n".join(lines), ha="center", va="bottom", **GREY)


def legend_handles(
    looks: Mapping[str, Look],
    texts: Mapping[str, str] | None = None,
    missing: Collection[str] = (),
    *,
    lines: bool = True,
) -> list[Line2D]:
    """Return the entries of a legend; series without data are grey and say so.

    texts: what is added to labels.
    """
    found = []
    for label, look in looks.items():
        text = (texts or {}).get(label, "")
        own: dict[str, Any] = {"color": look.color, "marker": look.marker}
        if label in missing:
            text, own = NO_DATA, {"color": MISSING, "marker": "x"}
        line = look.line if lines and label not in missing else "none"
        found.append(Line2D([], [], label=label + text, linestyle=line, **own))
    return found


def _legend_columns(width: float, handles: Handles) -> int:
    """Return the number of columns that fit and fill all rows evenly."""
    widest = max(len(plain(str(handle.get_label()))) for handle in handles)
    fits = max(1, int(width / (0.152 * widest + 1.35)))
    return math.ceil(len(handles) / math.ceil(len(handles) / fits))


def footnote(figure: Figure, *sentences: str, handles: Handles = ()) -> None:
    """Write small grey text at the bottom of a figure that lays itself out, below its legend.

    handles: entries of the legend, if it has one.
    """
    width, height = figure.get_figwidth() / CM, figure.get_figheight() / CM
    text = " ".join(sentence for sentence in sentences if sentence)
    lines = textwrap.wrap(text, max(40, int(figure.get_figwidth() * 19.5)))
    above = share = (0.15 + NOTE_LINE * len(lines)) / height
    if handles:
        long = 2.6 if isinstance(handles[0], Line2D) else None
        look: Any = {"ncols": _legend_columns(width, handles), "handlelength": long}
        legend = figure.legend(handles=handles, loc="lower center", **look)
        legend.set_bbox_to_anchor((0.5, share), transform=figure.transFigure)
        legend.set_in_layout(False)
        pixels = legend.get_window_extent().height
        above = share + pixels / figure.bbox.height + 0.15 / height
    if (engine := figure.get_layout_engine()) is not None:
        engine.set(rect=(0, above, 1, 0.99 - above))
    _write_note(figure, lines, height)


def ascending(numbers: Iterable[int], form: str = "") -> str:
    """Return the different numbers as a sentence has them: `3 or 5`."""
    return " or ".join(format(number, form) for number in sorted(set(numbers)))


def ribbon(
    axes: Axes, table: pd.DataFrame, x: str, middle: str, look: Look, alpha: float = 0.15, **line
) -> None:
    """Draw a column as a line, in a ribbon from the columns `lower` to `upper`."""
    band: Any = {"color": look.color, "alpha": alpha, "linewidth": 0}
    axes.fill_between(table[x], table["lower"], table["upper"], **band)
    axes.plot(table[x], table[middle], **look.style | line)


def bar_look(look: Look, place: int) -> dict[str, Any]:
    """Return what `Axes.bar` takes for one of some series side by side."""
    hatch = HATCHES[place % len(HATCHES)]
    return {"edgecolor": "white", "linewidth": 0.3, "color": look.color, "hatch": hatch}


def grouped_bars(
    axes: Axes, heights: Mapping[str, tuple[Any, Any]], looks: Mapping[str, Look], share: float
) -> list[BarContainer]:
    """Draw a group of bars for each number of some series, and return the bars of each series.

    heights: heights of bars and lengths of their error bars. share: of the axis that bars take.
    """
    bars, each = [], share / len(heights)
    errors = {"elinewidth": 0.9, "capsize": 2}
    for place, (label, (height, error)) in enumerate(heights.items()):
        x = np.arange(len(height)) + (place + 0.5) * each - share / 2
        look = bar_look(looks[label], place)
        bars.append(axes.bar(x, height, each, yerr=error, error_kw=errors, label=label, **look))
    axes.grid(visible=False, axis="x")
    return bars


def say_no_data(axes: Axes, color: str = MISSING) -> None:
    axes.text(0.5, 0.5, "no data", transform=axes.transAxes, ha="center", color=color)


def counts(
    axes: Axes, x: np.ndarray, rows: Mapping[str, np.ndarray], looks: Mapping[str, Look], title: str
) -> None:
    """Write numbers of runs below a panel: one row per series, one number per point.

    rows: label -> counts, NaN where there is no run.
    """
    axes.set(ylim=(len(rows) - 0.4, -0.6), yticks=[])
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    axes.tick_params(axis="x", length=0, pad=1)
    across = axes.get_yaxis_transform()
    inch = axes.get_window_extent().width / axes.figure.dpi
    for row, (label, numbers) in enumerate(rows.items()):
        look = looks[label]
        point: Any = {"marker": look.marker, "color": look.color, "markersize": 3}
        axes.plot(-0.06 / inch, row, transform=across, clip_on=False, **point)
        texts = ["–" if np.isnan(number) else f"{int(number)}" for number in numbers]
        places, size = spread(axes, x, max(map(len, texts), default=1))
        for place, text in zip(places, texts, strict=True):
            own = {"fontsize": size, "color": MISSING if text == "–" else look.color}
            axes.text(place, row, text, transform=across, **MIDDLE, **own)
    beside: dict[str, Any] = MIDDLE | GREY | {"ha": "right"}
    axes.text(-0.13 / inch, 0.5, title, transform=axes.transAxes, **beside)


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
