"""What draws a figure: its parts, the files that they read, and the files that they make."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

from stable_nalu.errors import UsageError
from stable_nalu.files import atomic_text_file
from stable_nalu.paper.drawing import Series
from stable_nalu.papers import Paper
from stable_nalu.statistics.estimators import PUBLISHED, Estimators
from stable_nalu.statistics.table import write_table

from .source import Source, read_csv
from .style import FORMATS, Palette, drawing, save

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

    def exported(self, columns: Iterable[str]) -> dict[str, pd.DataFrame | None]:
        """Return the table of each series, by its name; None where there is none."""
        return self.tables(lambda path, _: read_csv(path, columns))

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


@dataclass(frozen=True)
class Output:
    """Where files go and which are written.

    side: whether to write the tables beside a drawing, too.
    """

    folder: Path
    formats: Sequence[str] = FORMATS
    dpi: int = 200
    side: bool = True


def render(entry: Entry, context: Context, output: Output) -> list[Path]:
    """Write all parts of an entry and return the paths.

    A part without any data is a warning, unless no part has some.
    """
    written: list[Path] = []
    failures: list[UsageError] = []
    for part in entry.parts:
        try:
            product = part.render(context)
        except UsageError as error:
            failures.append(error)
            continue
        written += write(product, output)
    if failures and not written:
        raise failures[0]
    for error in failures:
        context.source.warn(str(error))
    return written


def write(product: Product, output: Output) -> list[Path]:
    """Write one product and return the paths."""
    written = []
    try:
        output.folder.mkdir(parents=True, exist_ok=True)
        if product.figure is not None:
            written += save(product.figure, output.folder, product.stem, output.formats, output.dpi)
        if product.text is not None:
            path = output.folder / f"{product.stem}.tex"
            with atomic_text_file(path) as file:
                file.write(product.text)
            written.append(path)
    except OSError as error:
        raise UsageError(f"cannot write to {output.folder}: {error.strerror}") from None
    if output.side:
        for name, table in product.side.items():
            path = output.folder / f"{name}.csv"
            write_numbered(path, table)
            written.append(path)
    return written


def write_numbered(path: Path, table: pd.DataFrame) -> None:
    """Write a table behind an unnamed column of row numbers, as the published files have."""
    columns = ["", *map(str, table.columns)]
    records = (
        {"": str(number), **{str(name): value for name, value in row.items()}}
        for number, row in enumerate(table.to_dict("records"), start=1)
    )
    write_table(path, columns, records)
