"""Which run is trained in which lane, and the memory that C++ reads."""

from __future__ import annotations

import ctypes
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

ALIGNED = 64
Vector = list[int]
"""The runs of the lanes of a vector. Lanes that are left over repeat a run and are never read."""


@dataclass(frozen=True)
class Layout:
    """Tiles of vectors: those of a tile draw from the same generators, one in each lane.

    members: the vectors of all tiles, one after another. first: number of each tile's first vector.
    place: vector and lane of each run.
    """

    members: np.ndarray
    first: list[int]
    place: np.ndarray

    @property
    def tiles(self) -> list[range]:
        """Return the numbers of the vectors of each tile."""
        ends = [*self.first[1:], len(self.members)]
        return [range(a, b) for a, b in zip(self.first, ends, strict=True)]


def arranged(
    generators: Sequence[Hashable], kinds: Sequence[Hashable], lanes: int, work: Sequence[float]
) -> Layout:
    """Put runs into lanes, those of equal generators under each other where that is cheaper.

    The runs of a vector are of one kind. What is chosen changes no number.

    work: how long a vector of a run's kind takes, in times that its generators take.
    """

    def cost(tiles: Sequence[Sequence[Sequence[int | None]]]) -> float:
        return sum(1 + sum(work[_some(vector)] for vector in tile) for tile in tiles)

    choices = []
    for most in {0.0, *work}:
        shared = [run for run in range(len(kinds)) if work[run] <= most]
        apart = [run for run in range(len(kinds)) if work[run] > most]
        choices.append(_stacked(shared, generators, kinds, lanes) + _packed(apart, kinds, lanes))
    members, first, place = [], [], np.zeros((len(kinds), 2), np.int64)
    for tile in min(choices, key=cost):
        first.append(len(members))
        for vector in tile:
            for lane, run in enumerate(vector):
                if run is not None:
                    place[run] = len(members), lane
            filled = [_some(vector) if run is None else run for run in vector]
            members.append(filled + [_some(vector)] * (lanes - len(filled)))
    return Layout(np.array(members), first, place)


def _some(vector: Sequence[int | None]) -> int:
    return next(run for run in vector if run is not None)


def _packed(runs: Sequence[int], kinds: Sequence[Hashable], lanes: int) -> list[list[list]]:
    groups: dict[Hashable, Vector] = {}
    for run in runs:
        groups.setdefault(kinds[run], []).append(run)
    return [[g[k : k + lanes]] for g in groups.values() for k in range(0, len(g), lanes)]


def _stacked(
    runs: Sequence[int], generators: Sequence[Hashable], kinds: Sequence[Hashable], lanes: int
) -> list[list[list]]:
    by_generator: dict[Hashable, dict[Hashable, Vector]] = {}
    for run in runs:
        by_generator.setdefault(generators[run], {}).setdefault(kinds[run], []).append(run)
    columns = sorted(by_generator.values(), key=lambda own: -sum(map(len, own.values())))
    tiles = []
    for k in range(0, len(columns), lanes):
        some = columns[k : k + lanes]
        tile = []
        for kind in dict.fromkeys(kind for own in some for kind in own):
            for row in range(max(len(own.get(kind, ())) for own in some)):
                of_kind = [own.get(kind, []) for own in some]
                tile.append([r[row] if row < len(r) else None for r in of_kind])
        tiles.append(tile)
    return tiles


def aligned(shape: Sequence[int], dtype: Any) -> np.ndarray:
    """Return zeros that begin at a multiple of 64 bytes, as vectors must."""
    count = int(np.prod(shape, dtype=np.int64))
    size = count * np.dtype(dtype).itemsize
    memory = np.zeros(size + ALIGNED, np.uint8)
    start = -memory.ctypes.data % ALIGNED
    return memory[start : start + size].view(dtype).reshape(shape)


_address, _number = ctypes.c_void_p, ctypes.c_int64


class Generators(ctypes.Structure):
    """`Generators` of runtime.cpp."""

    _fields_ = (("key", _address), ("position", _number))


class Samples(ctypes.Structure):
    """`Samples` of runtime.cpp."""

    _fields_ = (
        *((name, _address) for name in ("low", "width", "slices")),
        *((name, _number) for name in ("equal_slices", "single", "operation", "operands")),
        *((name, _number) for name in ("inputs", "again")),
        *((name, _address) for name in ("x_given", "t_given")),
        ("outputs", _number),
    )


class Member(ctypes.Structure):
    """`Member` of runtime.cpp."""

    _fields_ = (
        *((name, _address) for name in ("begin", "block", "update")),
        *((name, _address) for name in ("s", "q", "o", "w", "z")),
        *((name, _number) for name in ("w_row", "z_row", "samples")),
        *((name, _address) for name in ("prepare", "p")),
    )


class Tile(ctypes.Structure):
    """`Tile` of runtime.cpp."""

    _fields_ = (
        ("generators", Generators),
        ("samples", ctypes.POINTER(Samples)),
        ("members", ctypes.POINTER(Member)),
        *((name, _number) for name in ("samples_count", "members_count")),
    )


class Work(ctypes.Structure):
    """`Work` of runtime.cpp."""

    _fields_ = (
        *((name, _number) for name in ("batch", "inputs", "portion")),
        *((name, _address) for name in ("doubles", "scaled", "sums", "x", "t")),
    )


class Rows(ctypes.Structure):
    """`Rows` of runtime.cpp."""

    _fields_ = (
        *((name, _address) for name in ("x", "t", "x_set", "t_set")),
        *((name, _number) for name in ("rows", "inputs", "outputs", "width", "portion", "roots")),
        *((name, _address) for name in ("x_lanes", "t_lanes")),
    )
