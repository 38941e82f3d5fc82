"""Vectors of runs of several programs that draw the same doubles, and the samples made of these."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from stable_nalu.dataset.stream import SampleStream

from .build import header, library, source
from .layout import Generators, Layout, Member, Samples, Tile, Work, aligned, arranged
from .samples import LaneGenerators, described, generator_key, kind_key, operands_of

PORTION = 16 << 10
"""Bytes of the samples of a portion, which stay in the nearest cache."""

DRAW = 10
"""Operations on vectors that take as long as a double from each of their generators."""

_libraries: dict[bool, ctypes.CDLL] = {}


def runtime_text(*, double: bool) -> str:
    """Return the C++ of the library that draws samples and calls the functions of models."""
    return source(header("runtime.cpp"), double=double, functions=False)


def runtime(*, double: bool) -> ctypes.CDLL:
    """Return the library that draws samples and calls the functions of models."""
    if double not in _libraries:
        _libraries[double] = found = library(runtime_text(double=double))
        address, number = ctypes.c_void_p, ctypes.c_int64
        found.iterate.argtypes = [address, number, address, number]
        found.evaluate.argtypes = [address, number, address, address]
        found.iterate.restype = found.evaluate.restype = None
    return _libraries[double]


class TileMemory:
    """Memory for the samples of a portion, and calls of the C++ that iterates."""

    def __init__(
        self, shape: tuple[int, int], dtype: np.dtype, operands: int = 0, targets: int = 1
    ):
        self.batch, self.inputs = shape
        self.runtime = runtime(double=dtype == np.float64)
        self.lanes: int = self.runtime.lanes()
        self._dtype = dtype
        self._most = operands, targets
        self._works: dict[int, tuple[Work, list[np.ndarray]]] = {}

    def iterate(self, tiles: Sequence[Tile], iterations: int, *, whole: bool) -> None:
        """Train vectors; `whole` where a program needs all samples of a batch at once."""
        number = self.inputs * (8 + self._dtype.itemsize) + self._dtype.itemsize
        portion = max(4, PORTION // (number * self.lanes) // 4 * 4)
        portion = self.batch if whole or portion >= self.batch else portion
        if portion not in self._works:
            self._works[portion] = self._work(portion)
        work, _ = self._works[portion]
        array = (Tile * len(tiles))(*tiles)
        self.runtime.iterate(array, len(tiles), ctypes.byref(work), iterations)
        for tile, after in zip(tiles, array, strict=True):
            tile.generators.position = after.generators.position

    def _work(self, portion: int) -> tuple[Work, list[np.ndarray]]:
        operands, targets = self._most
        kinds = (np.dtype(np.float64),) * 3 + (self._dtype,) * 2
        rows = (portion * self.inputs, self.inputs, portion * operands)
        rows += (portion * self.inputs, portion * targets)
        memory = [aligned((n, self.lanes), kind) for n, kind in zip(rows, kinds, strict=True)]
        addresses = [values.ctypes.data for values in memory]
        return Work(self.batch, self.inputs, portion, *addresses), memory


@dataclass
class _Generators:
    """Where the generators of a tile's lanes stand, after how many iterations."""

    words: np.ndarray
    position: int = 0
    done: int = 0

    def copy(self) -> _Generators:
        words = aligned(self.words.shape, self.words.dtype)
        words[...] = self.words
        return _Generators(words, self.position, self.done)


@dataclass
class _Vectors:
    """Vectors of programs over the same generators.

    vectors: program, vector of its layout, and number of its samples. samples: those, and a number
    that they have in common with others of equal inputs. behind: the generators of programs that
    have iterations left which others have made.
    """

    generators: LaneGenerators
    at: _Generators
    vectors: list[tuple[int, int, int]]
    samples: list[tuple[Samples, int]]
    behind: dict[int, _Generators] = field(default_factory=dict)

    def chosen(self, members: Mapping[int, Sequence[Member]], at: _Generators) -> Tile:
        """Return the vectors of some programs, with the samples that these need."""
        chosen = [v for v in self.vectors if v[0] in members]
        used = sorted({sample for _, _, sample in chosen})
        array = (Member * len(chosen))(*(members[p][vector] for p, vector, _ in chosen))
        prepared: dict[tuple[int, int], int] = {}
        for member, (_, _, sample) in zip(array, chosen, strict=True):
            member.samples = used.index(sample)
            if member.prepare is not None:
                key = self.samples[sample][1], member.prepare
                if key in prepared:
                    member.prepare, member.p = None, prepared[key]
                else:
                    prepared[key] = member.p
        samples = (Samples * len(used))(*(self.samples[sample][0] for sample in used))
        inputs = [self.samples[sample][1] for sample in used]
        for k, sample in enumerate(samples):
            sample.again = k > 0 and inputs[k] == inputs[k - 1]
        generators = Generators(at.words.ctypes.data, at.position)
        return Tile(generators, samples, array, len(used), len(chosen))


class Tiles:
    """Vectors of runs: `layouts` are those of each program, in the order of `streams`.

    Programs may iterate together, in one call, or one after another: then each begins where it has
    ended. What shares its samples with whom changes no number.

    work: about how many operations a sample takes in each program.
    """

    def __init__(
        self,
        streams: Sequence[Sequence[SampleStream]],
        work: Sequence[int],
        shape: tuple[int, int],
        dtype: np.dtype,
    ):
        lanes = runtime(double=dtype == np.float64).lanes()
        every = [(p, run) for p, own in enumerate(streams) for run in range(len(own))]
        flat = [stream for own in streams for stream in own]
        kinds = [
            (p, kind_key(s), len(operands_of(s))) for (p, _), s in zip(every, flat, strict=True)
        ]
        works = [work[p] / (DRAW * shape[1]) for p, _ in every]
        layout = arranged(list(map(generator_key, flat)), kinds, lanes, works)
        self._streams = streams
        owners = [every[runs[0]][0] for runs in layout.members]
        # The number of each vector among those of its program.
        number = [owners[:v].count(owner) for v, owner in enumerate(owners)]
        self.layouts: list[Layout] = []
        first = 0
        for p, own in enumerate(streams):
            vectors = [v for v, owner in enumerate(owners) if owner == p]
            place = layout.place[first : first + len(own)].copy()
            place[:, 0] = [number[vector] for vector in place[:, 0]]
            self.layouts.append(Layout(layout.members[vectors] - first, [], place))
            first += len(own)
        self._keep: list[np.ndarray] = []
        self._tiles = [
            self._tile([(owners[v], number[v]) for v in vectors], lanes) for vectors in layout.tiles
        ]
        most = max(len(operands_of(stream)) for stream in flat)
        targets = max(len(tile.samples) for tile in self._tiles)
        self._workspace = TileMemory(shape, dtype, most, targets)

    def _tile(self, vectors: Sequence[tuple[int, int]], lanes: int) -> _Vectors:
        of_lanes: list[SampleStream | None] = [None] * lanes
        inputs: dict[object, int] = {}
        found: dict[tuple[int, str], int] = {}
        every = []
        for program, vector in vectors:
            layout, own = self.layouts[program], self._streams[program]
            streams = [own[run] for run in layout.members[vector]]
            for run, (place, lane) in enumerate(layout.place.tolist()):
                if place == vector:
                    of_lanes[lane] = own[run]
            same = inputs.setdefault(
                tuple((s.sampler.key, operands_of(s)) for s in streams), len(inputs)
            )
            every.append((same, kind_key(streams[0]), program, vector, streams))
        every.sort(key=lambda one: one[:4])
        samples: list[tuple[Samples, int]] = []
        numbered = []
        for same, kind, program, vector, streams in every:
            if (same, kind) not in found:
                found[same, kind] = len(samples)
                samples.append((described(streams, self._keep), same))
            numbered.append((program, vector, found[same, kind]))
        some = next(stream for stream in of_lanes if stream is not None)
        generators = LaneGenerators([some if s is None else s for s in of_lanes])
        return _Vectors(generators, _Generators(generators.key), numbered, samples)

    def iterate(
        self, members: Mapping[int, Sequence[Member]], iterations: int, *, whole: bool
    ) -> None:
        """Train the vectors of some programs, whose members are given by their numbers."""
        calls: list[tuple[_Vectors, Mapping[int, Sequence[Member]], _Generators]] = []
        for tile in self._tiles:
            here = {program for program, _, _ in tile.vectors}
            asked = here & members.keys()
            fresh = {p: members[p] for p in asked if p not in tile.behind}
            calls += [(tile, {p: members[p]}, tile.behind[p]) for p in asked & tile.behind.keys()]
            if fresh:
                for program in here - asked - tile.behind.keys():
                    tile.behind[program] = tile.at.copy()
                calls.append((tile, fresh, tile.at))
        tiles = [tile.chosen(some, at) for tile, some, at in calls]
        self._workspace.iterate(tiles, iterations, whole=whole)
        for called, (tile, some, at) in zip(tiles, calls, strict=True):
            at.position = called.generators.position
            at.done += iterations
            for program in some.keys() & tile.behind.keys():
                if at is not tile.at and at.done == tile.at.done:
                    del tile.behind[program]

    def store(self, program: int) -> None:
        """Put the streams of all runs of a program where its iterations have left them."""
        place, streams = self.layouts[program].place, self._streams[program]
        for tile in self._tiles:
            own = {vector for p, vector, _ in tile.vectors if p == program}
            runs = [run for run, (vector, _) in enumerate(place) if vector in own]
            at = tile.behind.get(program, tile.at)
            lanes = [int(place[run][1]) for run in runs]
            tile.generators.store(at.words, at.position, [streams[r] for r in runs], lanes)
