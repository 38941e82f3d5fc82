"""What draws a figure: the files that it reads, its kind, and what it makes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from stable_nalu.errors import UsageError
from stable_nalu.paper.drawing import Drawing, Series
from stable_nalu.statistics.setups import PUBLISHED, Estimators

from .source import Source, read_csv
from .style import Palette

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

INCH = 2.54


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


@dataclass(frozen=True)
class Context:
    """The files of a figure and how a user wants it drawn.

    setups, threshold: in place of those of the figure, see `Judgement.given`.
    shared: what parts of one figure make once and use together.
    stem: file name of the part that is drawn, without ending.
    """

    figure: Drawing
    source: Source
    setups: Sequence[Path] = ()
    threshold: float | None = None
    estimators: Estimators = PUBLISHED
    palette: Palette = "safe"
    shared: dict[Any, Any] = field(default_factory=dict)
    stem: str = ""

    @property
    def key(self) -> str:
        """Return the key of the figure."""
        return self.figure.key

    @property
    def series(self) -> Sequence[Series]:
        """Return the files of the figure."""
        return self.figure.series

    def exported(self, columns: Iterable[str]) -> dict[str, pd.DataFrame | None]:
        """Return the table of each series, by its name; None where there is none."""
        return self.tables(lambda path, _: read_csv(path, columns))

    def present(self, columns: Iterable[str]) -> dict[str, pd.DataFrame]:
        """Return the table of each series that has one, by its name."""
        tables = self.exported(columns)
        return {name: table for name, table in tables.items() if table is not None}

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

    def plotted(self, figure: Figure, points: pd.DataFrame) -> Product:
        """Return a drawing with the table of what is drawn."""
        return Product(self.stem, figure, side={f"{self.stem}_plot_data": points})


Maker = Callable[..., Product]
Needs = Literal["nothing", "outcomes", "measures", "epochs"]


class PartKind(NamedTuple):
    """A kind of drawings or tables.

    title: what `--list` calls it.
    needs: what it is drawn from: a formula, the outcome of each run, what was measured at its end
        and at some steps, or at every epoch.
    make: what makes it from the context of a figure and the options of a sketch.
    """

    title: str
    needs: Needs
    make: Maker


KINDS: dict[str, PartKind] = {}
"""Every kind by the name of its function, which a sketch has."""


def kind(title: str, needs: Needs = "measures") -> Callable[[Maker], Maker]:
    """Make a function a kind of drawings: it is given a context, and the options of a sketch."""

    def add(make: Maker) -> Maker:
        KINDS[make.__name__] = PartKind(title, needs, make)
        return make

    return add
