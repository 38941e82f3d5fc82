"""What came of kept rows that were trained again: a line for each in `verified.csv`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from stable_nalu.files import locked
from stable_nalu.paper.index import EXPERIMENTS

from .records import read_records, write_records

ALONE = "alone"
"""How a row was trained that was trained without others."""


@dataclass(frozen=True)
class Verified:
    """A kept row that was trained again.

    row: what tells it apart. digest: of its kept cells; those of a row that was replaced differ.
    verify_seed: of the random choice; None for a row that was named.
    trained: alone, or in what stack.
    compared, equal: how many cells, and how many of them came out again.
    ended: the time in UTC.
    """

    key: str
    row: str
    digest: str
    verify_seed: int | None
    trained: str
    compared: int
    equal: int
    ended: str
    versions: str
    git_revision: str


def digest_of(cells: Mapping[str, str]) -> str:
    """Return what a kept row is known by, whatever the order of its columns."""
    text = json.dumps(cells, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def file_of(data: Path) -> Path:
    """Return the file of all that is known of the kept rows of a folder."""
    return data / "verified.csv"


def add_verified(data: Path, found: Iterable[Verified]) -> Path:
    """Add what came of rows, and return the file.

    It replaces what was known of the same digits; what is known of replaced rows stays.
    """
    path = file_of(data)
    with locked(path):
        known = read_records(Verified, path)
        every = {(one.key, one.row, one.digest): one for one in (*known, *found)}
        places = {key: place for place, key in enumerate(EXPERIMENTS)}
        # The sort is stable: rows of an experiment stay in the order in which they came.
        ordered = sorted(every.values(), key=lambda one: places.get(one.key, len(places)))
        write_records(path, ordered)
    return path
