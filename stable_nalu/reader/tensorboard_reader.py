"""The runs below a folder: one folder each, with one event file each."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from .event_file import EventFileReader


class RunFiles(NamedTuple):
    """A run and its event file, or the reason why it has none that could be read."""

    name: str
    path: Path | None
    problem: str | None


class TensorboardReader:
    """Iterates over `(run name, event file path, reader of its events or None)` by run name.

    Hidden entries are no runs, and hidden files in a run are not counted. There is no recursion:
    `dirpath` is the direct parent of the run folders. A run without exactly one file raises
    ValueError; `runs()` reports it instead.
    """

    def __init__(self, dirpath: str | Path, auto_open: bool = True):
        self.dirpath = Path(dirpath)
        self.auto_open = auto_open
        self._names = [entry.name for entry in _visible(self.dirpath)]

    def __len__(self) -> int:
        return len(self._names)

    def __iter__(self) -> Iterator[tuple[str, str, EventFileReader | None]]:
        for run in self.runs():
            if run.path is None:
                raise ValueError(f"wrong number of logfile was found in {run.name}: {run.problem}")
            yield run.name, str(run.path), EventFileReader(run.path) if self.auto_open else None

    def runs(self) -> Iterator[RunFiles]:
        """Every run with its file or its problem."""
        for name in self._names:
            folder = self.dirpath / name
            try:
                files = _visible(folder)
            except OSError as error:
                reason = "not a folder" if isinstance(error, NotADirectoryError) else str(error)
                yield RunFiles(name, None, reason)
                continue
            problem = _problem(files)
            yield RunFiles(name, None if problem else Path(files[0].path), problem)


def _visible(folder: Path) -> list[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        shown = [entry for entry in entries if not entry.name.startswith(".")]
    return sorted(shown, key=lambda entry: entry.name)


def _problem(files: list[os.DirEntry[str]]) -> str | None:
    if not files:
        return "no event file"
    if any(file.is_dir() for file in files):
        return "holds folders instead of one event file"
    if len(files) > 1:
        names = ", ".join(file.name for file in files)
        return f"{len(files)} files instead of one event file ({names})"
    return None
