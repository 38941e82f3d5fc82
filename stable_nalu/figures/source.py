"""Where exported files lie, what is read from them, and what was missing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from stable_nalu.errors import UsageError
from stable_nalu.statistics.table import read_table, require

from .entry import Series
from .names import GRAMMARS
from .order import plain


@dataclass
class Source:
    """Exported files of one entry.

    folders: tried before the folder itself; a name that is no folder is a file-name prefix.
    warnings: what is missing, in words, each once.
    notes: what else a reader should know.
    """

    csv_dir: Path
    folders: tuple[str, ...] = ()
    warnings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def warn(self, text: str) -> None:
        """Say that something is missing."""
        if text not in self.warnings:
            self.warnings.append(text)

    def note(self, text: str) -> None:
        """Say what was done."""
        if text not in self.notes:
            self.notes.append(text)

    def find(self, files: Iterable[str]) -> Path | None:
        """The first of the files that exists."""
        for name in files:
            stem = Path(name)
            if stem.is_absolute():
                candidates = [stem]
            else:
                below = [self.csv_dir / folder / name for folder in (*self.folders, "")]
                candidates = below + [self.csv_dir / f"{folder}{name}" for folder in self.folders]
            for candidate in candidates:
                for path in (candidate.with_name(f"{candidate.name}.csv"), candidate):
                    if path.is_file():
                        return path
        return None

    def expect(self, files: Sequence[str], missed: Iterable[str]) -> Path | None:
        """As `find`; a missing file is a warning that names what the figure lacks."""
        path = self.find(files)
        if path is None:
            names = ", ".join(plain(label) for label in missed)
            self.warn(f"missing: {names} (no file {self.csv_dir / files[0]}.csv)")
        return path

    def require(self, series: Series) -> Path:
        """As `find`, for a file that a drawing cannot do without."""
        path = self.find(series.files)
        if path is None:
            raise UsageError(f"no file {self.csv_dir / series.files[0]}.csv")
        return path


def read_csv(path: Path, columns: Iterable[str], kind: str = "an export of runs") -> pd.DataFrame:
    """A file with at least the given columns."""
    table = read_table(path)
    require(table, columns, path, kind)
    return table


def with_names(table: pd.DataFrame, grammar: str, path: Path) -> pd.DataFrame:
    """The table and the columns that its run names hold, parsed once a name."""
    codes, names = pd.factorize(table["name"].astype(str))
    try:
        parsed = pd.DataFrame([GRAMMARS[grammar](name) for name in names])
    except ValueError as error:
        raise UsageError(f"{path}: {error}") from None
    parsed = parsed.drop(columns=[column for column in parsed if column in table])
    expanded = parsed.take(codes).set_axis(table.index)
    return pd.concat([table, expanded], axis=1)


def numeric(table: pd.DataFrame, columns: Iterable[str], path: Path) -> pd.DataFrame:
    """The table with number columns; text in one of them is an error."""
    table = table.copy()
    for column in columns:
        try:
            table[column] = pd.to_numeric(table[column])
        except (ValueError, TypeError) as error:
            raise UsageError(f"{path}: column {column} holds no numbers ({error})") from None
    return table
