"""What an entry is made of: a key, where it was published, the files it reads, what it draws."""

from __future__ import annotations

from dataclasses import dataclass

from stable_nalu.papers import Paper

from .parts import Part


@dataclass(frozen=True)
class Series:
    """One exported file.

    files: paths below the CSV folder without `.csv`; the first that exists is read.
    label: model that all its runs are shown as; None: as their names say.
    expects: models to miss when the file is missing and `label` does not say.
    """

    files: tuple[str, ...]
    label: str | None = None
    expects: tuple[str, ...] = ()

    @property
    def missed(self) -> tuple[str, ...]:
        """What is missing from a figure without this file."""
        return (self.label,) if self.label is not None else self.expects or (self.files[0],)


@dataclass(frozen=True)
class Entry:
    """One lookup key.

    paper: where it was published; None for a user's own files.
    number: the paper's number for it; empty where it is in none.
    shows: one line.
    series: files in the order of the legend.
    folders: where the series may lie below the CSV folder, besides the CSV folder itself.
    published: the key that the original scripts know it by, where two of them share one.
    """

    key: str
    paper: Paper | None
    number: str
    shows: str
    parts: tuple[Part, ...]
    series: tuple[Series, ...] = ()
    folders: tuple[str, ...] = ()
    published: str = ""

    @property
    def kind(self) -> str:
        """Kind of its first part."""
        return self.parts[0].kind
