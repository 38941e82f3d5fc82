"""What came of kept rows that were trained again: a line for each in `verified.csv`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from stable_nalu.files import locked
from stable_nalu.paper.index import EXPERIMENTS

from .records import cells_of, read_records, write_records
from .stored import path_of

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


def verified_of(key: str, data: Path) -> list[Verified]:
    """Return what is known of the rows of an experiment that are still kept as they were then."""
    found = [one for one in read_records(Verified, file_of(data)) if one.key == key]
    kept = _digests(key, data) if found else set()
    return [one for one in found if one.digest in kept]


def replaced(data: Path) -> list[Verified]:
    """Return what is known of rows that did not come out again, and are not kept any more."""
    wrong = [one for one in read_records(Verified, file_of(data)) if one.equal < one.compared]
    kept = {key: _digests(key, data) for key in {one.key for one in wrong}}
    return [one for one in wrong if one.digest not in kept[one.key]]


def _digests(key: str, data: Path) -> set[str]:
    kept = key in EXPERIMENTS and path_of(key, data).exists()
    return {digest_of(cells) for cells in cells_of(path_of(key, data))} if kept else set()


def sentence(found: Sequence[Verified]) -> str:
    """Say of rows of an experiment when they were trained again, and how many were equal."""
    if not found:
        return ""
    drawn = sum(one.verify_seed is not None for one in found)
    how = {len(found): ", chosen at random,", 0: ""}.get(drawn, f", {drawn} chosen at random,")
    days = sorted({one.ended[:10] for one in found})
    when = " and ".join(dict.fromkeys((days[0], days[-1])))
    same = sum(one.equal == one.compared for one in found)
    result = "all equal" if same == len(found) else f"{same} equal, {len(found) - same} not"
    alone = sum(one.trained == ALONE for one in found)
    company = {len(found): "all alone", 0: "all in stacks"}.get(alone, f"{alone} of them alone")
    rows = "1 row was" if len(found) == 1 else f"{len(found)} rows{how} were"
    return f"{rows} trained again on {when} ({company}): {result} in every kept digit."
