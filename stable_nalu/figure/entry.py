"""What draws a figure: the exported files that it reads, its kind, and what it makes.

Files have a place, rows and names of runs; what is missing is remembered.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from stable_nalu.base.errors import UsageError
from stable_nalu.base.script import plain
from stable_nalu.options.run_names import Columns, NameField, read_fields
from stable_nalu.statistics.names import model_label
from stable_nalu.statistics.setups import PUBLISHED, Estimators
from stable_nalu.statistics.table import MODEL_CODE, parsed_names, read_table, require
from stable_nalu.task import pairs, sequences

from .drawing import Drawing, Run, Series
from .style import Look, Palette, footnote, legend, looks

if TYPE_CHECKING:
    from matplotlib.container import BarContainer
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

_NUMBER = r"-?\d+\.?\d*"
_NORMAL = re.compile(rf"tn-({_NUMBER})-({_NUMBER})(?:-{_NUMBER}-{_NUMBER})?")
_OF_SEQUENCES = (
    *("operation", "regualizer", "regualizer.z", "regualizer.oob", "interpolation.length"),
    *("hidden.size", "seed"),
)


@dataclass
class Source:
    """Exported files of one entry, or tables in memory.

    tables: path of an exported file, without `.csv` -> what it would hold; None: files are read.
    folders: are searched before the folder itself; names of other things are prefixes of files.
    warnings: say what is missing, each once.
    notes: say what else a reader should know.
    trained_in: table of a model -> folder of its runs, which exporters name other tables by.
    is_judged: whether tables have a row per judged run; figures then show no models without runs.
    """

    csv_dir: Path
    folders: tuple[str, ...] = ()
    trained_in: Mapping[str, str] = field(default_factory=dict)
    tables: Mapping[str, pd.DataFrame] | None = None
    warnings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    is_judged: bool = False

    def warn(self, text: str) -> None:
        """Remember that something is missing."""
        if text not in self.warnings:
            self.warnings.append(text)

    def nothing(self) -> UsageError:
        """Return the error of a figure without data, for the reasons that were remembered."""
        return UsageError(f"nothing to draw: {'; '.join(self.warnings) or 'no run is left'}")

    def note(self, text: str) -> None:
        """Remember what was done."""
        if text not in self.notes:
            self.notes.append(text)

    def find(self, files: Iterable[str]) -> Path | None:
        """Return the first of the files that exists, or has a table."""
        for path in self.candidates(files):
            if path.is_file() if self.tables is None else path.as_posix() in self.tables:
                return path
        return None

    def read(
        self, path: Path, columns: Iterable[str], kind: str = "an export of runs"
    ) -> pd.DataFrame:
        """Return the table of a file that was found, which has at least the given columns."""
        if self.tables is None:
            table = read_table(path)
        else:
            known = self.tables[path.as_posix()]
            table = known.where(known.notna())
        require(table, columns, path, kind)
        return table

    def candidates(self, files: Iterable[str]) -> Iterator[Path]:
        """Yield every path that one of the files may have, those below the CSV folder first."""
        stems: list[str] = []
        for name in files:
            tried = [(Path(folder) / name).as_posix() for folder in (*self.folders, "")]
            if not Path(name).is_absolute():
                tried += [f"{folder}{name}" for folder in self.folders]
                tried += [self.trained_in[stem] for stem in tried if stem in self.trained_in]
            stems += tried
        for root in (self.csv_dir, *self._roots(stems)):
            for path in (root / stem for stem in stems):
                yield path.with_name(f"{path.name}.csv")
                yield path

    def _roots(self, stems: Iterable[str]) -> Iterator[Path]:
        """Yield folders above the CSV folder, where that is one of the folders of the files.

        The published commands name the folder of some figures, and the one above it of others.
        """
        inner = self.csv_dir.parts
        for parts in (Path(stem).parts for stem in stems):
            for depth in range(1, min(len(parts), len(inner)) + 1):
                if inner[-depth:] == parts[:depth] and len(inner) > depth:
                    yield self.csv_dir.parents[depth - 1]

    def expect(self, files: Sequence[str], missed: Iterable[str]) -> Path | None:
        """Find a file, or warn of what the figure lacks without it."""
        path = self.find(files)
        if path is None:
            names, file = ", ".join(map(plain, missed)), f"{self.csv_dir / files[0]}.csv"
            absent = f"missing: {names} (no file {file})"
            self.warn(f"no runs are kept of {names}" if self.is_judged else absent)
        return path

    def require(self, series: Series) -> Path:
        """Find a file that a drawing cannot do without."""
        path = self.find(series.files)
        if path is None:
            raise UsageError(f"no file {self.csv_dir / series.files[0]}.csv")
        return path


def numbers(table: pd.DataFrame, column: str) -> pd.Series:
    """Return a column of numbers, missing where a run has none."""
    return pd.Series(pd.to_numeric(table[column], errors="coerce"))


def matching(names: Iterable[object], pattern: str) -> Iterator[tuple[re.Match[str], str]]:
    """Yield what a pattern finds in the names of columns, with the names that it matches whole."""
    for name in map(str, names):
        if match := re.fullmatch(pattern, name):
            yield match, name


def last_rows(table: pd.DataFrame, time: str = "step") -> pd.DataFrame:
    """Return the last row of every run."""
    return table.sort_values(time, kind="stable").drop_duplicates("name", keep="last")


def with_names(
    table: pd.DataFrame, parse: Callable[[str, Columns | None], Columns], path: Path
) -> pd.DataFrame:
    """Add the columns that run names hold; each name is parsed once."""
    codes, parsed = parsed_names(table, parse, path)
    if MODEL_CODE in table:
        table = table.loc[:, :MODEL_CODE].drop(columns=MODEL_CODE)
    parsed = parsed.drop(columns=[column for column in parsed if column in table])
    expanded = parsed.take(codes).set_axis(table.index)
    return pd.concat([table, expanded], axis=1)


def distribution(run: Run) -> str:
    """Return what a run is trained on, with the range: `U:[-50,50]`, `TN(-1,3):[-5,10]`."""
    family, bounds = str(run["train.distribution"]), run["interpolation.range"].replace("U[", "[")
    if normal := _NORMAL.fullmatch(family):
        return f"TN({normal[1]},{normal[2]}):{bounds}"
    return f"{family.split('-')[0].upper()}:{bounds}"


def sequence_name(name: str, _: Columns | None = None) -> Columns:
    """Parse a run of the sequence tasks."""
    found = _found(name, sequences.name_fields("mnist"), _OF_SEQUENCES, "a sequence task")
    return {"name": name, "model": model_label(name.split("_")[0]), **found}


def two_digit_name(name: str, _: Columns | None = None) -> Columns:
    """Parse a run on a pair of digits."""
    return _found(name, pairs.NAME, ("operation", "learn.labels2out", "seed"), "a two-digit task")


def _found(name: str, fields: Sequence[NameField], columns: Iterable[str], task: str) -> Columns:
    """Return these columns of a name; raise ValueError where it lacks one."""
    found = read_fields(name, fields)
    if any(column not in found for column in columns):
        raise ValueError(f"run name {name!r} is not of {task}")
    return {column: found[column] for column in columns}


INCH = 2.54


@dataclass(frozen=True)
class Product:
    """One drawing or table, not yet written.

    stem: its file name without ending.
    text: LaTeX, where it is a table.
    side: further tables by their whole file name without `.csv`.
    """

    stem: str
    figure: "Figure | None" = None
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

    def exported(self, columns: Iterable[str]) -> dict[str, pd.DataFrame | None]:
        """Return the table of each series, by its name; None where there is none."""
        return self.tables(lambda path, _: self.source.read(path, columns))

    def present(self, columns: Iterable[str]) -> dict[str, pd.DataFrame]:
        """Return the table of each series that has one, by its name."""
        tables = self.exported(columns)
        return {name: table for name, table in tables.items() if table is not None}

    def tables(
        self, read: Callable[[Path, Series], pd.DataFrame | None]
    ) -> dict[str, pd.DataFrame | None]:
        """Return what is read of the file of each series, by its name; None where there is none."""
        found = {}
        for one in self.figure.series:
            path = self.source.expect(one.files, (one.name,))
            found[one.name] = None if path is None else read(path, one)
        if all(table is None for table in found.values()):
            raise self.source.nothing()
        return found

    def looks(self, labels: Iterable[str]) -> dict[str, Look]:
        """Return the look of every series, in the colours that are asked for."""
        return looks(list(labels), self.palette)

    def plotted(
        self,
        figure: "Figure",
        points: pd.DataFrame | Sequence[pd.DataFrame],
        *sentences: str,
        handles: "Sequence[Line2D | BarContainer]" = (),
        text: str | None = None,
        side: str = "plot_data",
    ) -> Product:
        """Return a drawing with its legend and footnote, and the table of what is drawn.

        points: the table, or parts of it. side: how the name of its file ends.
        """
        legend(figure, handles)
        footnote(figure, *sentences)
        table = points if isinstance(points, pd.DataFrame) else pd.concat(points, ignore_index=True)
        return Product(self.stem, figure, text, {f"{self.stem}_{side}": table})
