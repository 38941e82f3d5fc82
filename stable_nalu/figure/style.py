"""How figures look: labels and their order, colours, markers, sizes, and the files written.

Every series differs from its neighbours in three ways, so that a figure reads in grey and for
colour-blind readers. `published` gives the hues of the published figures instead.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from stable_nalu.layer import registry
from stable_nalu.layer.registry import (
    AMBER,
    BLACK,
    BLUE,
    GREEN,
    GREY,
    OLIVE,
    PURPLE,
    SKY,
    VERMILION,
    WINE,
)
from stable_nalu.paper.sweeps import INTERPOLATION_ORDER
from stable_nalu.statistics.names import (
    MODELS,
    NAC_ADD,
    NAC_ADD_Z,
    NAC_MUL,
    NAC_MUL_NMU,
    NAC_MUL_SIGMA,
    OPERATIONS,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

OUR_MODELS = ("NMU", "NAU")

_LATEX_ORDER = (NAC_MUL_NMU, NAC_MUL_SIGMA, NAC_MUL, NAC_ADD, NAC_ADD_Z)
_NUMBER = re.compile(r"-?\d+\.?\d*(?:e[+-]?\d+)?")

Palette = Literal["safe", "published"]
PALETTES: tuple[Palette, ...] = ("safe", "published")
Line = Literal["-"] | tuple[float, Sequence[float]]
"""A line style: plain, or where its dashes start, and the lengths of dashes and gaps."""

CM = 1 / 2.54
_DPI_OF_CELLS = 120
FORMATS = ("pdf", "png")
MISSING = "0.55"
"""Grey of what is absent."""

DASHED: Line = (0, (4, 2))
"""Of lines that mark a place on an axis."""

_COLORS = (BLUE, VERMILION, GREEN, PURPLE, AMBER, SKY, BLACK, WINE, OLIVE, GREY)
_MARKERS = ("o", "^", "s", "D", "v", "P", "X", "<", "*", "h")
_LINES: tuple[Line, ...] = (
    "-",
    (0, (4, 1.5)),
    (0, (1, 1.2)),
    (0, (4, 1.2, 1, 1.2)),
    (0, (6, 1, 1, 1, 1, 1)),
)

_SETTINGS = {
    "pdf.fonttype": 42,
    "ps.fonttype": 42,
    "svg.fonttype": "none",
    "font.family": "DejaVu Sans",
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "0.9",
    "grid.linewidth": 0.6,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "legend.fontsize": 7.5,
    "legend.frameon": False,
    "lines.linewidth": 1.1,
    "lines.markersize": 4,
    "figure.dpi": 100,
    "savefig.dpi": 200,
    "mathtext.fontset": "dejavusans",
}


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
    """Return the look of every series: that of its unit, where no series before it has that."""
    if palette == "published":
        return {
            label: Look(color, "^" if label in OUR_MODELS else "o", "-")
            for label, color in zip(labels, hue_wheel(len(labels)), strict=True)
        }
    units = _looks_of_units()
    own = {drawable(entry.shown) for entry in registry.own_entries()}
    taken: dict[registry.ColorAndMarker, str] = {}
    for label in labels:
        look = units.get(_unit(label, units))
        if look is not None:
            taken.setdefault(look, label)
    found = {label: look for look, label in taken.items()}
    colors = [color for color, _ in taken]
    free = [
        (color, marker)
        for color, marker in zip(_COLORS, _MARKERS, strict=True)
        if color not in colors
    ] or list(zip(_COLORS, _MARKERS, strict=True))
    others = [label for label in labels if label not in found]
    found |= {label: free[i % len(free)] for i, label in enumerate(others)}
    return {
        label: Look(*found[label], _LINES[i % len(_LINES)], label in own)
        for i, label in enumerate(labels)
    }


def _looks_of_units() -> dict[str, registry.ColorAndMarker | None]:
    """Return colour and marker of every unit, by the labels that figures have for it."""
    known = registry.entries().values()
    by_key = {entry.key.lower(): entry.look for entry in known}
    pairs = [(label, by_key.get(code.partition("-")[0])) for code, label in MODELS.items()]
    pairs += [(label, by_key[code]) for code, label in MODELS.items() if code in by_key]
    for entry in known:
        look = (BLACK, "*") if entry.tier == "own" else entry.look
        variants = [(one.label, one.look) for one in entry.variants if one.look]
        pairs += [(entry.key, look), (entry.label, look), (entry.shown, look), *variants]
    return {label.casefold(): look for label, look in pairs if look is not None}


def _unit(label: str, known: Iterable[str]) -> str:
    """Return the label of the unit that the label of a series begins with, if any."""
    text = label.casefold()
    begun = [one for one in known if re.match(rf"{re.escape(one)}(?![\w-])", text)]
    return max(begun, key=len, default="")


def hue_wheel(n: int) -> list[str]:
    """Return `n` colours hcl(15 + 360 i/n, 100, 65), cut to what a screen can show."""
    return [_hcl(15 + 360 * i / n, 100, 65) for i in range(n)]


def _hcl(hue: float, chroma: float, luminance: float) -> str:
    """Convert polar CIE-LUV under D65 to an sRGB hex code."""
    white_y, white_u, white_v = 1.0, 0.19783, 0.46832
    y = white_y * ((luminance + 16) / 116) ** 3
    u = chroma * math.cos(math.radians(hue)) / (13 * luminance) + white_u
    v = chroma * math.sin(math.radians(hue)) / (13 * luminance) + white_v
    x = 9 * y * u / (4 * v)
    z = -x / 3 - 5 * y + 3 * y / v
    linear = (
        3.240479 * x - 1.537150 * y - 0.498535 * z,
        -0.969256 * x + 1.875992 * y + 0.041556 * z,
        0.055648 * x - 0.204043 * y + 1.057311 * z,
    )
    return "#" + "".join(f"{round(255 * _gamma(c)):02X}" for c in linear)


def _gamma(value: float) -> float:
    encoded = 12.92 * value if value <= 0.00304 else 1.055 * value ** (1 / 2.4) - 0.055
    return min(1.0, max(0.0, encoded))


@contextmanager
def drawing() -> Iterator[None]:
    """Apply the project's settings to figures made in the block; the backend is the program's."""
    import matplotlib

    # The keys are typed as a closed list of literals.
    with matplotlib.rc_context(_SETTINGS):  # pyright: ignore[reportArgumentType]
        yield


def new_figure(
    size: tuple[float, float], layout: Literal["constrained"] | None = "constrained"
) -> Figure:
    """Return an empty figure of a size in cm that no global state holds on to."""
    return _displayed()(figsize=(size[0] * CM, size[1] * CM), layout=layout)


@cache
def _displayed() -> type[Figure]:
    """Return figures that a notebook shows as the value of a cell, whatever its backend."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    class DisplayedFigure(Figure):
        def __init__(self, *arguments: Any, **options: Any):
            super().__init__(*arguments, **options)
            FigureCanvasAgg(self)

        def _repr_png_(self) -> bytes:
            content = BytesIO()
            self.savefig(content, format="png", dpi=_DPI_OF_CELLS)
            return content.getvalue()

    return DisplayedFigure


def save(
    figure: Figure, folder: Path, stem: str, formats: Sequence[str], dpi: int = 200
) -> list[Path]:
    """Write the figure once per format and return the files."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name in formats:
        path = folder / f"{stem}.{name}"
        save_as(figure, path, name, dpi)
        written.append(path)
    return written


def save_as(figure: Figure, path: Path, name: str, dpi: int = 200) -> None:
    """Write the figure in a format, without a date: equal figures make equal files."""
    metadata = {"CreationDate": None} if name == "pdf" else {"Software": None}
    figure.savefig(path, format=name, dpi=dpi, metadata=metadata)


def legend_order(labels: Iterable[str]) -> list[str]:
    """Return distinct labels as published legends have them: LaTeX first, then by alphabet."""

    def rank(label: str) -> tuple[bool, int, str]:
        known = _LATEX_ORDER.index(label) if label in _LATEX_ORDER else len(_LATEX_ORDER)
        return (not label.startswith("$"), known, label.lower())

    return sorted(dict.fromkeys(labels), key=rank)


def range_order(labels: Iterable[str]) -> list[str]:
    """Return distinct ranges: the nine in their order, others after them by their numbers."""

    def rank(label: str) -> tuple[int, tuple[float, ...], str]:
        closed = label.replace(")", "]")
        if closed in INTERPOLATION_ORDER:
            return (INTERPOLATION_ORDER.index(closed), (), "")
        numbers = tuple(float(number) for number in _NUMBER.findall(label))
        return (len(INTERPOLATION_ORDER), numbers, label)

    return sorted(dict.fromkeys(labels), key=rank)


def operation_order(operations: Iterable[str]) -> list[str]:
    """Return distinct operations (`mul`, …) in the order of tables; unknown ones come last."""
    known = list(OPERATIONS)
    return sorted(
        dict.fromkeys(operations), key=lambda o: known.index(o) if o in known else len(known)
    )


@cache
def drawable(label: str) -> str:
    """Return a label that can be drawn: as plain text, where matplotlib cannot read its formula."""
    if "$" not in label:
        return label
    from matplotlib.mathtext import MathTextParser

    try:
        MathTextParser("path").parse(label)
    except ValueError:
        return label.replace("$", r"\$")
    return label
