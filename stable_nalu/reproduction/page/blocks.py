"""What the page is made of; `html` and `markdown` write it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

AGREES, DIFFERS, UNKNOWN = "agrees", "differs", "–"
"""Words for whether two intervals have a point in common."""


@dataclass(frozen=True)
class Heading:
    """level: 1 is the title. anchor: for links."""

    level: int
    text: str
    anchor: str


@dataclass(frozen=True)
class Paragraph:
    """Text with `code` in backquotes and [links](to)."""

    text: str


@dataclass(frozen=True)
class Bullets:
    """A list of such texts."""

    items: Sequence[str]


@dataclass(frozen=True)
class Command:
    """A command line."""

    line: str


@dataclass(frozen=True)
class Table:
    """Cells are such texts, too."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]

    def without_empty_columns(self) -> Table:
        """The same without columns in which nothing is known."""
        kept = [i for i in range(len(self.head)) if any(row[i] != UNKNOWN for row in self.rows)]
        rows = [[row[i] for i in kept] for row in self.rows]
        return Table([self.head[i] for i in kept], rows)


@dataclass(frozen=True)
class Drawing:
    """SVG panels that stand side by side where there is room, under a text that says the same.

    file: where the drawing is beside the page, for readers of Markdown; empty: only in HTML.
    """

    panels: Sequence[str]
    text: str
    file: str = ""


Block = Heading | Paragraph | Bullets | Command | Table | Drawing
