"""What draws a figure: its parts, the files that they read, and what they make of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

from stable_nalu.errors import UsageError
from stable_nalu.paper.drawing import Only as Only
from stable_nalu.paper.drawing import Reference as Reference
from stable_nalu.paper.drawing import Runs as Runs
from stable_nalu.paper.drawing import Series as Series
from stable_nalu.paper.drawing import Size as Size
from stable_nalu.paper.drawing import Threshold as Threshold
from stable_nalu.papers import Paper
from stable_nalu.statistics.estimators import PUBLISHED, Estimators

from .source import Source
from .style import Palette, drawing

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

INCH = 2.54


@dataclass(frozen=True)
class Context:
    """The files of an entry and how a user wants it drawn.

    setups: files of thresholds; none: the usual ones.
    shared: what parts of one entry make once and use together.
    """

    key: str
    series: Sequence[Series]
    source: Source
    setups: Sequence[Path] = ()
    estimators: Estimators = PUBLISHED
    palette: Palette = "safe"
    shared: dict[Any, Any] = field(default_factory=dict)

    def stem(self, pattern: str) -> str:
        """Return the file name of a part, without ending."""
        return pattern.replace("{key}", self.key)

    def tables(
        self, read: Callable[[Path, Series], pd.DataFrame | None]
    ) -> dict[str, pd.DataFrame | None]:
        """Return what is read of the file of each series, by its name; None where there is none."""
        found = {}
        for one in self.series:
            path = self.source.expect(one.files, (one.name,))
            found[one.name] = None if path is None else read(path, one)
        if all(table is None for table in found.values()):
            raise UsageError(f"nothing to draw: {'; '.join(self.source.warnings)}")
        return found


@dataclass(frozen=True)
class Product:
    """One drawing or table, not yet written.

    stem: its file name without ending.
    text: LaTeX, where it is a table.
    side: further tables by their whole file name without `.csv`.
    """

    stem: str
    figure: Figure | None = None
    text: str | None = None
    side: dict[str, pd.DataFrame] = field(default_factory=dict)


Drawn: TypeAlias = "tuple[Figure, dict[str, pd.DataFrame]]"
"""A drawing, and the tables beside it by the patterns of their file names."""


@dataclass(frozen=True)
class Part:
    """One drawing or table; each subclass is a kind and says how it is made.

    stem: name of the file without its ending; `{key}` stands for the lookup key.
    """

    KIND: ClassVar[str]
    """What `--list` calls the kind."""

    NEEDS: ClassVar[Literal["nothing", "outcomes", "measures", "epochs"]] = "measures"
    """What it is drawn from: a formula, the outcome of each run, what was measured at its end and
    at some steps, or at every epoch."""

    stem: str

    @property
    def kind(self) -> str:
        """Return what `--list` calls this part."""
        return self.KIND

    def render(self, context: Context) -> Product:
        """Read, reduce and draw what the context names."""
        with drawing():
            figure, side = self.drawn(context)
        tables = {context.stem(name): table for name, table in side.items()}
        return Product(context.stem(self.stem), figure, side=tables)

    def drawn(self, context: Context) -> Drawn:
        """Return the drawing and its tables, of a kind that is drawn."""
        raise NotImplementedError


@dataclass(frozen=True)
class Entry:
    """One figure or table, found by its lookup key.

    paper: where it was published; None for a user's own files.
    number: the paper's number for it; empty where it is in none.
    shows: one line.
    series: files in the order of the legend.
    folders: where the series may lie below the CSV folder, besides the CSV folder itself.
    """

    key: str
    paper: Paper | None
    number: str
    shows: str
    parts: tuple[Part, ...]
    series: tuple[Series, ...] = ()
    folders: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """Return the kind of the first part."""
        return self.parts[0].kind
