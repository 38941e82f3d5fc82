"""Flags of a command as data: a mapping from flag to its values, merged and written as words."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

Flags = Mapping[str, tuple[str, ...]]
"""Flag -> its values, none for a switch: `{"--seed": ("0-24",), "--no-cuda": ()}`."""


def flags(text: str) -> Flags:
    """Read `--a 1 2 --b`, quoted as in a shell; a flag that comes again replaces the former."""
    read: dict[str, tuple[str, ...]] = {}
    name = ""
    for word in shlex.split(text):
        if word.startswith("--"):
            name = word
            read[name] = ()
        elif not name:
            raise ValueError(f"{text!r} does not begin with a flag")
        else:
            read[name] += (word,)
    return read


def merged(*parts: Flags) -> Flags:
    """One mapping of all flags; of a flag that stands in several parts, the last one counts."""
    return {name: values for part in parts for name, values in part.items()}


def words(mapping: Flags) -> list[str]:
    """The words of a command line."""
    return [word for name, values in mapping.items() for word in (name, *values)]


def gathered(points: tuple[Flags, ...]) -> Flags:
    """Flags of one command that plans every point: all values of a flag behind it.

    Ranges are paired in order by the scripts, hence repeated as they stand.
    """
    names = list(points[0]) if points else []
    return {name: tuple(value for point in points for value in point[name]) for name in names}


def seeds_text(seeds: list[int] | range) -> str:
    """Seeds in the shortest form that the scripts read: `0-24`, `0,3,9`, `0-4,7`."""
    ordered = sorted(seeds)
    parts: list[str] = []
    start = 0
    for index, seed in enumerate(ordered):
        if index + 1 < len(ordered) and ordered[index + 1] == seed + 1:
            continue
        first = ordered[start]
        parts.append(str(seed) if first == seed else f"{first}-{seed}")
        start = index + 1
    return ",".join(parts)
