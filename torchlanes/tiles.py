"""Compiled C++, which run is trained in which lane of its vectors, and the samples of all lanes.

Runs of several programs that draw the same doubles share them: their vectors make a tile.
"""

import ctypes
import os
import re
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import cache
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import torch

from .emit import COSTS, SAMPLES
from .kept import SETTINGS, CompileError, library_of
from .recorded import Program

HERE = Path(__file__).parent
FLAGS = (
    *("-std=c++17", "-O3", "-march=native", "-ffp-contract=off", "-fno-math-errno", "-w"),
    # Else GCC 12 lets the stack grow in loops that call functions of vectors and compare these.
    *("-shared", "-fPIC", "-fno-defer-pop"),
)
CALLS = re.compile(rf"\b({'|'.join(op for op, cost in COSTS.items() if cost >= 30)})_\(")
MOST_INLINED = 200
"""Elementary functions in a text; those of a longer one are called, and it compiles in a fifth."""


@cache
def header(name: str) -> str:
    return (HERE / name).read_text()


def source(text: str, *headers: str, double: bool) -> str:
    """Return the whole text of a library, by default with the headers for a CPU."""
    kinds = ["#define DOUBLE"] if double else []
    if not headers:
        headers = "prelude.h", "functions.h"
        kinds += ["#define CALLED"] if len(CALLS.findall(text)) > MOST_INLINED else []
    return "\n".join([*kinds, *map(header, headers), text])


def library(text: str) -> ctypes.CDLL:
    return _library(text, os.environ.get(SETTINGS.extra_flags, ""))


@cache
def _library(text: str, extra: str) -> ctypes.CDLL:
    del extra  # The compiler's command has it.
    return loaded(library_of(text, FLAGS, extended=True))


def loaded(path: Path) -> ctypes.CDLL:
    """Return a library that is compiled, or raise CompileError."""
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        remedy = "let XDG_CACHE_HOME name a folder whose files may be executed"
        raise CompileError("compiled code cannot be loaded", f"{error}; {remedy}") from None


@dataclass(frozen=True)
class Layout:
    """Which run is in which lane of which vector.

    members: the runs of each vector; lanes that are left over repeat a run and are never read.
    place: vector and lane of each run. tiles: the vectors that draw from the same generators, one
    in each lane.
    """

    members: np.ndarray
    place: np.ndarray
    tiles: Sequence[range] = ()


def arranged(
    generators: Sequence[Hashable], kinds: Sequence[Hashable], lanes: int, work: Sequence[float]
) -> Layout:
    """Put runs into lanes; runs with equal generators share a lane and a tile if that is cheaper.

    The runs of a vector are of one kind. The choice changes no number.

    work: how long a vector of a run's kind takes, in times that its generators take.
    """

    def cost(tiles: Sequence[Sequence[Sequence[int | None]]]) -> float:
        return sum(1 + sum(work[_some(vector)] for vector in tile) for tile in tiles)

    choices = []
    for most in {0.0, *work}:
        shared = [run for run in range(len(kinds)) if work[run] <= most]
        apart = [run for run in range(len(kinds)) if work[run] > most]
        packed = _packed(apart, generators, kinds, lanes)
        choices.append(_stacked(shared, generators, kinds, lanes) + packed)
    members, tiles, place = [], [], np.zeros((len(kinds), 2), np.int64)
    for tile in min(choices, key=cost):
        tiles.append(range(len(members), len(members) + len(tile)))
        for vector in tile:
            for lane, run in enumerate(vector):
                if run is not None:
                    place[run] = len(members), lane
            filled = [_some(vector) if run is None else run for run in vector]
            members.append(filled + [_some(vector)] * (lanes - len(filled)))
    return Layout(np.array(members), place, tiles)


def in_order(runs: int, lanes: int) -> Layout:
    """Return a layout of runs of which none has the generator of another one."""
    members = np.arange(-(-runs // lanes) * lanes).reshape(-1, lanes)
    members = np.where(members < runs, members, members[:, :1])
    return Layout(members, np.stack(np.divmod(np.arange(runs), lanes), 1))


def _some(vector: Sequence[int | None]) -> int:
    return next(run for run in vector if run is not None)


def _packed(
    runs: Sequence[int], generators: Sequence[Hashable], kinds: Sequence[Hashable], lanes: int
) -> list[list[list]]:
    groups, tiles = defaultdict(list), defaultdict(list)
    for run in runs:
        groups[kinds[run]].append(run)
    for own in groups.values():
        for vector in (own[k : k + lanes] for k in range(0, len(own), lanes)):
            tiles[tuple(generators[run] for run in vector)].append(vector)
    return list(tiles.values())


def _stacked(
    runs: Sequence[int], generators: Sequence[Hashable], kinds: Sequence[Hashable], lanes: int
) -> list[list[list]]:
    by_generator = defaultdict(lambda: defaultdict(list))
    for run in runs:
        by_generator[generators[run]][kinds[run]].append(run)
    columns = sorted(by_generator.values(), key=lambda own: -sum(map(len, own.values())))
    tiles = []
    for some in (columns[k : k + lanes] for k in range(0, len(columns), lanes)):
        kinds_here = dict.fromkeys(kind for own in some for kind in own)
        rows = (zip_longest(*(own.get(kind, ()) for own in some)) for kind in kinds_here)
        tiles.append([list(vector) for of_kind in rows for vector in of_kind])
    return tiles


def aligned(shape: Sequence[int], dtype: Any) -> np.ndarray:
    """Return zeros that begin at a multiple of 64 bytes, as vectors must."""
    size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
    memory = np.zeros(size + 64, np.uint8)
    start = -memory.ctypes.data % 64
    return memory[start : start + size].view(dtype).reshape(shape)


def copied(values: np.ndarray, dtype: Any) -> np.ndarray:
    """Return numbers that begin where vectors do."""
    laid = aligned(values.shape, dtype)
    laid[...] = values
    return laid


ADDRESS, NUMBER = ctypes.c_void_p, ctypes.c_int64


def structure(file: str, name: str, **kinds: type) -> type[ctypes.Structure]:
    """Return a `struct` of C++: pointers are addresses, all else are numbers of 64 bits.

    kinds: structures that it holds, by their names in C++.
    """
    _, _, body = header(file).partition(f"\nstruct {name} {{\n")
    lines = re.findall(r"^  (?:const )?(\w+\*?) ([\w*, ]+);", body.split("\n}")[0], re.M)
    fields = []
    for kind, names in lines:
        for one in names.split(", "):
            of_field = ADDRESS if kind.endswith("*") or one[0] == "*" else kinds.get(kind, NUMBER)
            fields.append((one.lstrip("*"), of_field))
    return type(name, (ctypes.Structure,), {"_fields_": fields})


Generators, Samples, Member, Work, Rows = (
    structure("runtime.cpp", name) for name in ("Generators", "Samples", "Member", "Work", "Rows")
)
Tile = structure("runtime.cpp", "Tile", Generators=Generators)


def tile_of(generators: Generators, samples: ctypes.Array, members: ctypes.Array) -> Tile:
    """Return a tile, which keeps what it names."""
    addresses = ctypes.addressof(samples), ctypes.addressof(members)
    tile = Tile(generators, *addresses, len(samples), len(members))
    tile.kept = samples, members
    return tile


FUNCTIONS = np.add, np.subtract, np.multiply, np.divide, np.square, np.sqrt, np.reciprocal
"""Functions of NumPy that make targets of operands: of two in turn, or of one; see samples.h."""


STATE_WORDS = 624
"""Words of 32 bits in the state of a generator of NumPy's `MT19937`."""


SampleSource = Any
"""What the samples of a run are made of.

random: the generator: its `state`, words and the position among them, and a hashable `position()`,
which is equal where generators continue alike. range: its `intervals`. sample_shape. key: equal for
equal inputs, but for generators. targets: the `function` of their `operation`, see `FUNCTIONS`, and
its `operands`, each from one input to another.
"""


class LaneGenerators:
    """The generators of a tile after `done` iterations.

    words: word k of each lane in row k. position: of the next word.
    """

    def __init__(self, streams: Sequence[SampleSource]):
        self.position = self.done = 0
        lanes = len(streams)
        # The first half of the lanes has the first two of four places each.
        self._places = np.arange(lanes).reshape(-1, 2, 2).swapaxes(0, 1).ravel()
        self.words = aligned((STATE_WORDS, lanes), np.uint32)
        for place, stream in zip(self._places, streams, strict=True):
            state = stream.random.state
            self.words[:, place] = next_words(state[:-1], int(state[-1]))

    def copy(self) -> "LaneGenerators":
        other = copy(self)
        other.words = copied(self.words, np.uint32)
        return other

    def store(self, stream: SampleSource, lane: int) -> None:
        """Put a stream where the generator of its lane has come to."""
        state = stream.random.state
        state[:-1], state[-1] = np.roll(self.words[:, self._places[lane]], -self.position), 0


@cache
def _twister() -> np.random.MT19937:
    """Return a generator whose state others are put into, as making one takes long."""
    return np.random.MT19937(0)


def next_words(key: np.ndarray, position: int) -> np.ndarray:
    """Return the 624 words that a generator takes next, not yet tempered."""
    if not position:
        return key
    bits = _twister()
    bits.state = {"bit_generator": "MT19937", "state": {"key": key, "pos": STATE_WORDS}}
    bits.random_raw(1, output=False)
    after = bits.state["state"]["key"]
    return np.concatenate([key[position:], after[:position]])


def lows_and_widths(streams: Iterable[SampleSource]) -> tuple[np.ndarray, np.ndarray]:
    bounds = np.array([[float(end) for end in s.range.intervals[0]] for s in streams])
    return bounds[:, 0], bounds[:, 1] - bounds[:, 0]


def described(streams: Sequence[SampleSource], of_slices: dict[object, np.ndarray]) -> Samples:
    """Return what C++ makes of doubles, for the stream of each lane.

    of_slices: where the slices of samples lie, which equal operands have in common.
    """
    low, width = (copied(values, np.float64) for values in lows_and_widths(streams))
    operands = [stream.targets.operands for stream in streams]
    laid = np.ascontiguousarray(np.swapaxes(np.array(operands, np.int64), 0, 1))
    slices = of_slices.setdefault(tuple(operands), laid)
    samples = Samples(
        low=low.ctypes.data,
        width=width.ctypes.data,
        slices=slices.ctypes.data,
        equal_slices=all(o == operands[0] for o in operands),
        single=all(b - a == 1 for own in operands for a, b in own),
        taken=sum(lengths(streams[0])),
        function=function_of(streams[0]),
        operands=len(operands[0]),
        inputs=streams[0].sample_shape[0],
        outputs=1,
    )
    samples.kept = low, width
    return samples


def function_of(stream: SampleSource) -> int:
    return FUNCTIONS.index(stream.targets.operation.function)


def lengths(stream: SampleSource) -> tuple[int, ...]:
    return tuple(end - start for start, end in stream.targets.operands)


def in_lanes(values: np.ndarray, layout: Layout, dtype: np.dtype) -> list[np.ndarray]:
    """Return values `(iterations, runs, ...)` of each vector: `(iterations, ..., lanes)`."""
    return [copied(np.moveaxis(values[:, runs], 1, -1), dtype) for runs in layout.members]


PORTION = 16 << 10
"""Bytes of the samples of a portion, which stay in the nearest cache."""

DRAW = 10
"""Operations on vectors that take as long as a double from each of their generators."""


@cache
def runtime_text(*, double: bool) -> str:
    """Return the C++ of the library that draws samples and calls the functions of models."""
    return source(header("samples.h") + header("runtime.cpp"), double=double)


def runtime(*, double: bool) -> ctypes.CDLL:
    compiled = library(runtime_text(double=double))
    compiled.iterate.argtypes = [ADDRESS, NUMBER, ADDRESS, NUMBER]
    compiled.evaluate.argtypes = [ADDRESS, NUMBER, ADDRESS, ADDRESS]
    compiled.iterate.restype = compiled.evaluate.restype = None
    return compiled


@dataclass(frozen=True)
class Batches:
    """Batches of `shape`, samples and inputs of each, and the most that is made of one of them.

    operands: of a sample. targets: of samples of equal inputs. taken: inputs of all operands.
    """

    shape: tuple[int, int]
    dtype: np.dtype
    operands: int = 0
    targets: int = 1
    taken: int = 0

    def iterate(self, tiles: Sequence[Tile], iterations: int, *, whole: bool) -> None:
        """Train vectors; `whole` where a program needs all samples of a batch at once."""
        cpp = runtime(double=self.dtype == np.float64)
        (batch, inputs), lanes = self.shape, cpp.lanes()
        number = inputs * (8 + self.dtype.itemsize) + self.dtype.itemsize
        portion = max(4, PORTION // (number * lanes) // 4 * 4)
        portion = batch if whole or portion >= batch else portion
        doubles = portion * inputs, inputs, portion * self.operands
        numbers = portion * inputs, portion * self.targets
        memory = [
            *(aligned((count, lanes), np.float64) for count in doubles),
            *(aligned((count, lanes), self.dtype) for count in numbers),
            aligned((portion * self.taken, lanes), np.float64),
        ]
        work = Work(batch, inputs, portion, *(values.ctypes.data for values in memory))
        array = (Tile * len(tiles))(*tiles)
        cpp.iterate(array, len(tiles), ctypes.byref(work), iterations)
        for tile, after in zip(tiles, array, strict=True):
            tile.generators.position = after.generators.position


@dataclass
class _Vectors:
    """Vectors of programs over the same generators.

    vectors: program, vector of its layout, and number of its samples. samples: those, and a number
    that they have in common with others of equal inputs. behind: the generators of programs that
    have iterations left which others have made.
    """

    at: LaneGenerators
    vectors: list[tuple[int, int, int]]
    samples: list[tuple[Samples, int]]
    behind: dict[int, LaneGenerators] = field(default_factory=dict)

    def chosen(self, members: Mapping[int, Sequence[Member]], at: LaneGenerators) -> Tile:
        """Return the vectors of some programs, with the samples that these need."""
        chosen = [v for v in self.vectors if v[0] in members]
        used = sorted({sample for *_, sample in chosen})
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
        return tile_of(generators, samples, array)


class Tiles:
    """Vectors of runs, with one of `layouts` for each program, in the order of `streams`.

    Programs may iterate together, in one call, or one after another: then each begins where it has
    ended. Which runs share samples changes no number.

    work: about how many operations a sample takes in each program.
    """

    def __init__(
        self,
        streams: Sequence[Sequence[SampleSource]],
        work: Sequence[int],
        shape: tuple[int, int],
        dtype: np.dtype,
    ):
        lanes = runtime(double=dtype == np.float64).lanes()
        every = [(p, run) for p, own in enumerate(streams) for run in range(len(own))]
        flat = [stream for own in streams for stream in own]
        kinds = [(p, function_of(s), lengths(s)) for (p, _), s in zip(every, flat, strict=True)]
        works = [work[p] / (DRAW * shape[1]) for p, _ in every]
        layout = arranged([stream.random.position() for stream in flat], kinds, lanes, works)
        self._streams = streams
        owners = [every[runs[0]][0] for runs in layout.members]
        # The number of each vector among those of its program.
        number = [owners[:v].count(owner) for v, owner in enumerate(owners)]
        self.layouts: list[Layout] = []
        first = 0
        for p, own in enumerate(streams):
            vectors = [v for v, owner in enumerate(owners) if owner == p]
            place = [(number[v], lane) for v, lane in layout.place[first : first + len(own)]]
            self.layouts.append(Layout(layout.members[vectors] - first, np.array(place)))
            first += len(own)
        self._slices: dict[object, np.ndarray] = {}
        self._tiles = [
            self._tile([(owners[v], number[v]) for v in vectors], lanes) for vectors in layout.tiles
        ]
        most = max(len(stream.targets.operands) for stream in flat)
        targets = max(len(tile.samples) for tile in self._tiles)
        taken = max(sum(lengths(stream)) for stream in flat)
        self._batches = Batches(shape, dtype, most, targets, taken)

    def _tile(self, vectors: Sequence[tuple[int, int]], lanes: int) -> _Vectors:
        of_lanes: list[Any] = [None] * lanes
        inputs: dict[object, int] = {}
        numbers: dict[tuple[int, str], int] = {}
        every = []
        for program, vector in vectors:
            layout, own = self.layouts[program], self._streams[program]
            streams = [own[run] for run in layout.members[vector]]
            for lane, run in enumerate(layout.members[vector]):
                if of_lanes[lane] is None or (layout.place[run] == (vector, lane)).all():
                    of_lanes[lane] = own[run]
            key = tuple((s.key, s.targets.operands) for s in streams)
            same = inputs.setdefault(key, len(inputs))
            every.append((same, function_of(streams[0]), program, vector, streams))
        every.sort(key=lambda one: one[:4])
        samples: list[tuple[Samples, int]] = []
        numbered = []
        for same, kind, program, vector, streams in every:
            if (same, kind) not in numbers:
                numbers[same, kind] = len(samples)
                samples.append((described(streams, self._slices), same))
            numbered.append((program, vector, numbers[same, kind]))
        return _Vectors(LaneGenerators(of_lanes), numbered, samples)

    def iterate(
        self, members: Mapping[int, Sequence[Member]], iterations: int, *, whole: bool
    ) -> None:
        """Train the vectors of some programs, whose members are given by their numbers."""
        calls: list[tuple[_Vectors, Mapping[int, Sequence[Member]], LaneGenerators]] = []
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
        self._batches.iterate(tiles, iterations, whole=whole)
        for called, (tile, some, at) in zip(tiles, calls, strict=True):
            at.position = called.generators.position
            at.done += iterations
            for program in some.keys() & tile.behind.keys():
                if at is not tile.at and at.done == tile.at.done:
                    del tile.behind[program]

    def store(self, program: int) -> None:
        """Put the streams of all runs of a program where its iterations have left them."""
        for tile in self._tiles:
            own = {vector for p, vector, _ in tile.vectors if p == program}
            at = tile.behind.get(program, tile.at)
            for run, (vector, lane) in enumerate(self.layouts[program].place):
                if vector in own:
                    at.store(self._streams[program][run], lane)


Schedule = Mapping[str, np.ndarray]
"""Scheduled numbers by their names: `(iterations, 1)` or `(iterations, runs)`."""

EvaluationRows = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
"""x `(sets, rows, in)`, t `(sets, rows, outputs)`, and the sets that each run has of them."""


@cache
def not_compiled(program: Program) -> str | None:
    double = program.dtype == torch.float64
    try:
        for text in (runtime_text(double=double), source(program.text, double=double)):
            library(text)
    except CompileError as error:
        return str(error)
    return None


class Lanes:
    """Runs of one program. shape: samples of a batch, and inputs of a sample."""

    def __init__(self, program: Program, layout: Layout, shape: tuple[int, int]):
        self.program, self.layout = program, layout
        self.shape = self.batch, self.inputs = shape
        self.runs = len(layout.place)
        self.dtype = program.numpy_type
        self.count, self.lanes = layout.members.shape
        self._allocate(program, program.memory.sizes)

    def _allocate(self, program: Program, sizes: Mapping[str, int]) -> None:
        self.library = library(source(program.text, double=self.dtype == np.float64))
        self.s = self._memory(sizes["s"])
        self.o = self._memory(sizes["o"])
        self.q = self._memory(max(part.scratch for part in program.sources.values()))
        self.p = aligned((max(1, sizes.get("p", 0)), self.lanes), self.dtype)
        self._read: list[np.ndarray | None] = []
        self._given: tuple[np.ndarray | None, list[list[np.ndarray]]] = None, []

    def _memory(self, size: int) -> np.ndarray:
        return aligned((self.count, max(1, size), self.lanes), self.dtype)

    @property
    def whole(self) -> bool:
        """Return whether an iteration needs all samples of its batch at once."""
        return any(s.passes > 1 for p, s in self.program.sources.items() if p in ("run", "log"))

    def put(self, name: str, values: torch.Tensor | np.ndarray) -> None:
        place = self.program.places[name]
        flat = np.asarray(values, self.dtype).reshape(self.runs, place.size)
        self.s[:, place.offset : place.offset + place.size] = np.swapaxes(
            flat[self.layout.members], 1, 2
        )

    def get(self, name: str) -> torch.Tensor:
        """Return a tensor `(runs, ...)` that the lanes hold, or that the last iteration put out."""
        place = self.program.places[name]
        memory = {"s": self.s, "o": self.o}[place.memory]
        vector, lane = self.layout.place.T
        own = memory[vector, place.offset : place.offset + place.size, lane]
        return torch.from_numpy(own.reshape(self.runs, *place.shape).copy())

    def members(
        self, schedule: Schedule, noise: np.ndarray | None, iterations: int, part: str
    ) -> Sequence[Member]:
        """Return what C++ needs to iterate, until the next call, for each vector.

        part: `run`, or `log` for one with all results.
        """
        w, w_row, w_step = self._scheduled(schedule, iterations)
        z = None if noise is None else in_lanes(noise, self.layout, self.dtype)
        prepare = self._functions("prepare")[1] if "prepare" in self.program.sources else None
        self._read = [w, *(z or ())]
        members = []
        for number in range(self.count):
            member = self._member(part, number, self.o[number], z)
            member.w, member.w_row = w.ctypes.data + number * w_step, w_row
            member.prepare, member.p = prepare, self.p.ctypes.data
            members.append(member)
        return members

    def _member(
        self, part: str, number: int, o: np.ndarray, z: Sequence[np.ndarray] | None
    ) -> Member:
        memory = [values.ctypes.data for values in (self.s[number], self.q[number], o)]
        member = Member(*self._functions(part), *memory)
        if z is not None:
            member.z, member.z_row = z[number].ctypes.data, z[number][0].size // self.lanes
        return member

    def _functions(self, part: str) -> list[ctypes.c_void_p]:
        names = [f"{part}_{name}" for name in ("begin", "block", "update")]
        return [ctypes.cast(getattr(self.library, name), ctypes.c_void_p) for name in names]

    def iterate(
        self, members: Sequence[Member], x: np.ndarray, t: np.ndarray, iterations: int
    ) -> None:
        """Train on given samples x `(iterations, runs, batch, in)` and t.

        If all iterations have the same samples, they are given once.
        """
        if len(x) > 1 or self._given[0] is not x:
            self._given = x, [in_lanes(values, self.layout, self.dtype) for values in (x, t)]
        tiles = []
        for member, own_x, own_t in zip(members, *self._given[1], strict=True):
            given = {"x_given": own_x.ctypes.data, "t_given": own_t.ctypes.data}
            samples = Samples(**given, outputs=t.shape[-1], same=len(x) == 1)
            tiles.append(tile_of(Generators(), (Samples * 1)(samples), (Member * 1)(member)))
        Batches(self.shape, self.dtype).iterate(tiles, iterations, whole=self.whole)

    def observe(self, x: np.ndarray | None, schedule: Schedule) -> None:
        """Let modules tell of x `(runs, batch, in)`, or of ones, and leave all as it is."""
        state = self.s.copy()
        x = np.ones((self.runs, *self.shape)) if x is None else x
        draws = self.program.draws
        means = [np.full(int(np.prod(d.shape)), sum(d.bounds) / 2) for d in draws]
        noise = np.concatenate(means)[None, None].repeat(self.runs, 1) if draws else None
        members = self.members(schedule, noise, 1, "log")
        self.iterate(members, x[None], np.zeros((1, *x.shape[:2], 1)), 1)
        self.s[...] = state

    def _scheduled(self, schedule: Schedule, iterations: int) -> tuple[np.ndarray, int, int]:
        """Return scheduled numbers in lanes, and the steps from row to row, vector to vector."""
        places = {n: p for n, p in self.program.places.items() if p.memory == "w"}
        size = max(1, self.program.memory.sizes.get("w", 0))
        differ = any(schedule[name].shape[1] > 1 for name in places)
        vectors = self.count if differ else 1
        w = aligned((iterations, vectors, size, self.lanes), self.dtype)
        for name, place in places.items():
            values = schedule[name]
            if values.shape[1] > 1:
                laid = values[:, self.layout.members]
            else:
                laid = np.broadcast_to(values[:, :, None], (iterations, vectors, self.lanes))
            w[:, :, place.offset] = laid
        step = size * self.lanes * self.dtype.itemsize
        return w, vectors * size, step if differ else 0

    def evaluate(
        self, rows: EvaluationRows, noise: np.ndarray | None, schedule: Schedule, *, roots: bool
    ) -> np.ndarray:
        """Return mean squared errors `(1, runs)` on rows, in float64.

        noise `(1, runs, numbers)`. roots: return mean absolute errors, too, `(2, runs)`.
        """
        if (count := rows[0].shape[1]) % SAMPLES:
            raise ValueError(f"{count} rows: the engine evaluates a multiple of {SAMPLES}")
        return self._errors(rows, noise, schedule, roots=roots)[: 1 + roots]

    def _errors(
        self, rows: EvaluationRows, noise: np.ndarray | None, schedule: Schedule, *, roots: bool
    ) -> np.ndarray:
        x, t, *sets = rows
        inputs, outputs = x.shape[2], t.shape[2]
        (_, width), portion = self.program.places["squares"].shape, 128
        lanes = [(portion * size, self.lanes) for size in (inputs, outputs, width)]
        x_lanes, t_lanes, squares = (aligned(shape, self.dtype) for shape in lanes)
        w, *_ = self._scheduled(schedule, 1)
        means = np.zeros((self.count, 2, self.lanes))
        sets = [np.ascontiguousarray(of[self.layout.members], np.int64) for of in sets]
        held = [np.ascontiguousarray(x), np.ascontiguousarray(t), *sets]
        z = None if noise is None else in_lanes(noise, self.layout, self.dtype)
        own = [self._member("eval", number, squares, z) for number in range(self.count)]
        for member in own:
            member.w = w.ctypes.data
        members = (Member * self.count)(*own)
        of = Rows(
            *(array.ctypes.data for array in held),
            *(x.shape[1], inputs, outputs, width, portion, roots),
            *(array.ctypes.data for array in (x_lanes, t_lanes)),
        )
        cpp = runtime(double=self.dtype == np.float64)
        cpp.evaluate(members, self.count, ctypes.byref(of), means.ctypes.data)
        vector, lane = self.layout.place.T
        return means[vector, :, lane].T
