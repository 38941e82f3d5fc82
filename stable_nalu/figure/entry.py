"""What a figure is as data: its key and paper, how runs become points, and its parts.

Sizes are width and height in cm.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

from stable_nalu.errors import UsageError
from stable_nalu.papers import Paper
from stable_nalu.statistics.estimators import PUBLISHED, Estimators
from stable_nalu.statistics.thresholds import REFERENCE_LEVEL

from .source import Series, Source
from .style import STANDARD, Palette, drawing

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

INCH = 2.54
Size = tuple[float, float]


def standard(height: float = 5.7) -> Size:
    """Return the usual width with a height that is given before the usual scale of 1.4."""
    return (STANDARD[0], height * 1.4)


@dataclass(frozen=True)
class Threshold:
    """Errors below which runs count as solved: one number, or rows of setup files.

    flat: the threshold of every run, unless setup files are given or `file` is exported.
    file: a table of thresholds that counts, in place of the usual ones, where it is exported.
    parameter: the rows that count; None: those of a run's script and model.
    by_input_size: whether runs match only rows of their own input size.
    """

    flat: float | None = None
    file: str | None = None
    parameter: str | None = None
    by_input_size: bool = False


@dataclass(frozen=True)
class Only:
    """Rows to keep: those whose `column` is one of `values`; rows of other `models` pass."""

    column: str
    values: tuple[object, ...]
    models: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Reference:
    """Runs with a solved accumulator: the files that may have them, and the seeds that count.

    level, of_one_run: the bound on their errors; see `thresholds.sequential.from_reference`.
    """

    files: tuple[str, ...]
    seeds: tuple[int, ...]
    level: float = REFERENCE_LEVEL
    of_one_run: bool = False


@dataclass(frozen=True)
class Runs:
    """How the rows of exported files become one row per run.

    x: the column that groups runs besides the model.
    names: the grammar of the run names.
    models: models that the figure should have; with `closed`, it has no others.
    expected: values of x that every model should have.
    relabel: makes new labels from the columns that run names hold.
    extra: one more grouping column.
    best_range: number of last rows among which a run is judged.
    reference: what gives the thresholds of sequence tasks.
    length: the test length of sequence tasks that is shown; None: all, and x is the length.
    derive: further columns, made from those that run names hold.
    """

    x: str
    threshold: Threshold
    names: Literal["single", "data-set", "sequence"] = "data-set"
    models: tuple[str, ...] = ()
    closed: bool = False
    expected: tuple[object, ...] = ()
    only: tuple[Only, ...] = ()
    relabel: Callable[[pd.DataFrame], pd.Series] | None = None
    extra: str | None = None
    best_range: int = 5000
    reference: Reference | None = None
    length: int | None = None
    derive: tuple[tuple[str, Callable[[pd.DataFrame], pd.Series]], ...] = ()


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
