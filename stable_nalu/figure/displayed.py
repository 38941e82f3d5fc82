"""Figures that a notebook shows as the value of a cell, though pyplot does not know them."""

from __future__ import annotations

from io import BytesIO
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

DPI = 120


class DisplayedFigure(Figure):
    """A figure that no global state holds on to, whatever the backend of the program."""

    def __init__(self, *arguments: Any, **options: Any):
        super().__init__(*arguments, **options)
        FigureCanvasAgg(self)

    def _repr_png_(self) -> bytes:
        content = BytesIO()
        self.savefig(content, format="png", dpi=DPI)
        return content.getvalue()
