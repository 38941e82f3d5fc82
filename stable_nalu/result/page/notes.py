"""Texts written by hand: explanations of differences, and reasons why something was not run."""

from __future__ import annotations

import csv
import re
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Protocol

from stable_nalu.errors import UsageError
from stable_nalu.paper.experiment import Experiment
from stable_nalu.script import duration

from ..listing import seconds_here

NOTES, REASONS = "notes.md", "not_run.csv"
CORES = 2
"""The number of cores that estimates are made for."""


class Place(Protocol):
    """A model at a point."""

    @property
    def model(self) -> str:
        """Return the key of the model."""
        ...

    @property
    def point(self) -> str:
        """Return the text of the point."""
        ...


def place(key: str, row: Place) -> str:
    """Return the heading of a note about a point: `nips-sltr-in2 / nru / U[-2,2]`."""
    return " / ".join((key, row.model, row.point))


def read_notes(folder: Path) -> dict[str, str]:
    """Read heading -> text from `notes.md`; a heading is `## key`, or has a model and a point."""
    path = folder / NOTES
    if not path.exists():
        return {}
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not text in UTF-8") from None
    parts = re.split(r"^## +(.+)$", text, flags=re.MULTILINE)
    texts = zip(parts[1::2], parts[2::2], strict=True)
    return {_plain(heading): " ".join(text.split()) for heading, text in texts if text.strip()}


def note(notes: dict[str, str], key: str, row: Place) -> str:
    """Return the note about a point, or else its model, or else its figure, or else nothing."""
    full = place(key, row)
    names = (full, f"{key} / {row.model}", key)
    return next((notes[_plain(name)] for name in names if _plain(name) in notes), "")


def _plain(heading: str) -> str:
    return re.sub(r"\s+", "", heading)


def read_reasons(folder: Path) -> list[tuple[str, str]]:
    """Read patterns of keys (as of file names) and reasons from `not_run.csv`."""
    path = folder / REASONS
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file)
        if rows.fieldnames != ["key", "reason"]:
            raise UsageError(f"{path}: its columns are not key, reason")
        return [(row["key"], row["reason"]) for row in rows]


def reason(reasons: list[tuple[str, str]], experiment: Experiment) -> str:
    """Return why an experiment was not run in full: the first pattern that fits, or its cost."""
    for pattern, text in reasons:
        if fnmatchcase(experiment.key, pattern):
            return text
    if not experiment.models:
        return experiment.note
    seconds = seconds_here(experiment, CORES)
    if seconds is None:
        return "not run so far"
    return f"not run so far; all of it takes about {duration(seconds)} on {CORES} cores"
