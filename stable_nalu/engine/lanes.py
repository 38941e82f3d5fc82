"""Runs of one program in training: their numbers in lanes, iterations, evaluation."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np
import torch

from stable_nalu.dataset import SampleStream

from .build import header, library, no_compiler, source
from .emit import SAMPLES
from .layout import Generators, Layout, Member, Rows, Samples, Tile, Work, aligned, arranged
from .program import Program
from .samples import (
    Draw,
    LaneGenerators,
    described,
    generator_key,
    in_lanes,
    kind_key,
)

PORTION = 16 << 10
"""Bytes of the samples of a portion, which stay in the nearest cache."""

DRAW = 10
"""Operations on vectors that take as long as a double from each of their generators."""

Schedule = Mapping[str, np.ndarray]
"""Scheduled numbers by their names: `(iterations, 1)` or `(iterations, runs)`."""


def not_compiled(program: Program) -> str | None:
    """Return why a program cannot be compiled here, if it cannot."""
    double = program.dtype == torch.float64
    texts = _runtime_text(double=double), source(program.text, double=double)
    return next(filter(None, map(no_compiler, texts)), None)


def _runtime_text(*, double: bool) -> str:
    return source(header("runtime.cpp"), double=double, functions=False)


@cache
def runtime(*, double: bool) -> ctypes.CDLL:
    """Return the library that draws samples and calls the functions of models."""
    found = library(_runtime_text(double=double))
    address, number = ctypes.c_void_p, ctypes.c_int64
    found.iterate.argtypes = [address, number, address, number]
    found.evaluate.argtypes = [address, number, address, address]
    found.iterate.restype = found.evaluate.restype = None
    return found


class Lanes:
    """Runs of one program. `state` are the tensors `(runs, ...)` that it reads by name."""

    def __init__(
        self,
        program: Program,
        streams: Sequence[SampleStream],
        shape: tuple[int, int],
        draw: Draw | None,
    ):
        self.program = program
        self.streams = list(streams)
        self.batch, self.inputs = shape
        self.dtype = np.dtype(str(program.dtype).removeprefix("torch."))
        double = self.dtype == np.float64
        self.runtime = runtime(double=double)
        self.library = library(source(program.text, double=double))
        self._draw = draw
        self.native = draw is None
        lanes = self.runtime.lanes()
        keys = [generator_key(s) for s in streams] if self.native else list(range(len(streams)))
        kinds = [kind_key(s) for s in streams] if self.native else [0] * len(streams)
        self.layout: Layout = arranged(keys, kinds, lanes, program.work / (DRAW * self.inputs))
        self.count, self.lanes = self.layout.members.shape
        sizes = program.memory.sizes
        self.s = self._memory(sizes["s"])
        self.o = self._memory(sizes["o"])
        scratch = max(part.scratch for part in program.sources.values())
        self.q = self._memory(scratch)
        self._prepare()

    def _memory(self, size: int) -> np.ndarray:
        return aligned((self.count, max(1, size), self.lanes), self.dtype)

    def _prepare(self) -> None:
        program = self.program
        whole = program.sources["run"].passes > 1
        bytes_of_sample = (
            self.inputs * (8 + self.dtype.itemsize) + self.dtype.itemsize
        ) * self.lanes
        portion = max(4, min(self.batch, PORTION // bytes_of_sample) // 4 * 4)
        self.portion = self.batch if whole or portion >= self.batch else portion
        self._doubles = aligned((self.portion * self.inputs, self.lanes), np.float64)
        self._scaled = aligned((self.inputs, self.lanes), np.float64)
        most = max(len(s.targets.operands) for s in self.streams) if self.native else 0
        self._sums = aligned((self.portion * most, self.lanes), np.float64)
        self._x = aligned((self.portion * self.inputs, self.lanes), self.dtype)
        self._t = aligned((self.portion, self.lanes), self.dtype)
        self._work = Work(
            batch=self.batch,
            inputs=self.inputs,
            portion=self.portion,
            doubles=self._doubles.ctypes.data,
            scaled=self._scaled.ctypes.data,
            sums=self._sums.ctypes.data,
            x=self._x.ctypes.data,
            t=self._t.ctypes.data,
        )
        self._keep: list[np.ndarray] = []
        self._generators: list[LaneGenerators | None] = []
        self._tiles = (Tile * len(self.layout.tiles))()
        self._members: list = []
        for tile, numbers in zip(self._tiles, self.layout.tiles, strict=True):
            self._prepare_tile(tile, numbers)

    def _prepare_tile(self, tile: Tile, numbers: range) -> None:
        members = (Member * len(numbers))()
        samples: list[Samples] = []
        known: dict[object, int] = {}
        self._generators.append(None)
        if self.native:
            streams = [[self.streams[run] for run in self.layout.members[m]] for m in numbers]
            self._generators[-1] = own = LaneGenerators(self._of_lanes(numbers))
            tile.generators = Generators(own.key.ctypes.data, 0)
        for place, (number, member) in enumerate(zip(numbers, members, strict=True)):
            if self.native:
                key = tuple((s.sampler.key, s.targets.key) for s in streams[place])
                if key not in known:
                    known[key] = len(samples)
                    samples.append(described(streams[place], self._keep))
                member.samples = known[key]
            else:
                member.samples = len(samples)
                samples.append(Samples(outputs=1))
            member.s, member.q, member.o = (
                memory[number].ctypes.data for memory in (self.s, self.q, self.o)
            )
        order = sorted(range(len(numbers)), key=lambda k: members[k].samples)
        sorted_members = (Member * len(numbers))(*(members[k] for k in order))
        tile.samples = (Samples * len(samples))(*samples)
        tile.members = sorted_members
        tile.samples_count, tile.members_count = len(samples), len(numbers)
        self._members += [(sorted_members, k, numbers[p]) for k, p in enumerate(order)]

    def _of_lanes(self, numbers: range) -> list[SampleStream]:
        """Return a stream for each lane of a tile, whose generator is that of the lane's runs."""
        first = self.streams[self.layout.members[numbers[0]][0]]
        found = [first] * self.lanes
        for run, (member, lane) in enumerate(self.layout.place):
            if member in numbers:
                found[lane] = self.streams[run]
        return found

    def put(self, name: str, values: torch.Tensor | np.ndarray) -> None:
        """Put a tensor `(runs, ...)` into the lanes."""
        place = self.program.places[name]
        flat = np.asarray(values, self.dtype).reshape(len(self.streams), place.size)
        self.s[:, place.offset : place.offset + place.size] = np.swapaxes(
            flat[self.layout.members], 1, 2
        )

    def get(self, name: str) -> torch.Tensor:
        """Return a tensor `(runs, ...)` that the lanes hold, or that the last iteration told."""
        place = self.program.places[name]
        memory = {"s": self.s, "o": self.o}[place.memory]
        member, lane = self.layout.place.T
        own = memory[member, place.offset : place.offset + place.size, lane]
        return torch.from_numpy(own.reshape(len(self.streams), *place.shape).copy())

    def store_generators(self) -> None:
        """Put the streams of all runs where the iterations have left them."""
        for tile, own, numbers in zip(
            self._tiles, self._generators, self.layout.tiles, strict=True
        ):
            if own is None:
                continue
            runs = [r for r, (m, _) in enumerate(self.layout.place) if m in numbers]
            lanes = [int(self.layout.place[r][1]) for r in runs]
            own.store([self.streams[r] for r in runs], lanes, tile.generators.position)

    def iterate(
        self, schedule: Schedule, noise: np.ndarray | None, iterations: int, part: str
    ) -> None:
        """Train iterations; `part` is `run`, or `log` for one whose results are all told."""
        functions = self._functions(part)
        w, w_row, w_step = self._scheduled(schedule, iterations)
        z = self._noise(noise)
        given = self._given(iterations)
        for members, place, number in self._members:
            member = members[place]
            member.begin, member.block, member.update = functions
            member.w, member.w_row = w.ctypes.data + number * w_step, w_row
            member.z = None if z is None else z[number].ctypes.data
            member.z_row = 0 if z is None else z[number][0].size // self.lanes
        for tile, numbers in zip(self._tiles, self.layout.tiles, strict=True):
            for place in range(tile.samples_count if given else 0):
                x, t = (values[numbers[place]] for values in given or ())
                tile.samples[place].x_given = x.ctypes.data
                tile.samples[place].t_given = t.ctypes.data
        work = ctypes.byref(self._work)
        self.runtime.iterate(self._tiles, len(self._tiles), work, iterations)

    def observe(self, x: np.ndarray | None) -> None:
        """Let modules tell of x `(runs, batch, in)`, or of ones, and leave all as it is."""
        state, runs = self.s.copy(), len(self.streams)
        if x is None:
            x = np.ones((runs, self.batch, self.inputs))
        draws = self.program.draws
        means = [np.full(int(np.prod(d.shape)), sum(d.bounds) / 2) for d in draws]
        noise = np.concatenate(means)[None, None].repeat(runs, 1) if draws else None
        ones = {n: np.ones((1, 1)) for n, p in self.program.places.items() if p.memory == "w"}
        before = self.native, self._draw, [tile.generators.key for tile in self._tiles]
        self.native, self._draw = False, lambda count: (x[None], np.zeros((1, *x.shape[:2], 1)))
        for tile in self._tiles:
            tile.generators.key = None
        self.iterate(ones, noise, 1, "log")
        self.native, self._draw, keys = before
        for tile, key in zip(self._tiles, keys, strict=True):
            tile.generators.key = key
            for k in range(tile.samples_count):
                tile.samples[k].x_given = tile.samples[k].t_given = None
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

    def _noise(self, noise: np.ndarray | None) -> list[np.ndarray] | None:
        return None if noise is None else in_lanes(noise, self.layout, self.dtype)

    def _given(self, iterations: int) -> tuple[list[np.ndarray], list[np.ndarray]] | None:
        if self.native:
            return None
        assert self._draw is not None
        x, t = self._draw(iterations)
        return in_lanes(x, self.layout, self.dtype), in_lanes(t, self.layout, self.dtype)

    def evaluate(
        self, x: np.ndarray, t: np.ndarray, x_of: np.ndarray, t_of: np.ndarray, *, roots: bool
    ) -> np.ndarray:
        """Return mean squared errors `(1, runs)` on rows of x and t, in float64.

        x `(sets, rows, in)`, t `(sets, rows, outputs)`; x_of, t_of: the sets of each run.
        roots: return mean absolute errors, too, `(2, runs)`.
        """
        rows, inputs = x.shape[1:]
        if rows % SAMPLES:
            raise ValueError(f"{rows} rows: the engine evaluates a multiple of {SAMPLES}")
        outputs, (_, width) = t.shape[2], self.program.places["squares"].shape
        portion = rows if self.program.sources["eval"].passes > 1 else 128
        lanes = [(portion * size, self.lanes) for size in (inputs, outputs, width)]
        x_lanes, t_lanes, squares = (aligned(shape, self.dtype) for shape in lanes)
        w = aligned((max(1, self.program.memory.sizes.get("w", 0)), self.lanes), self.dtype)
        means = np.zeros((self.count, 2, self.lanes))
        sets = [np.ascontiguousarray(of[self.layout.members], np.int64) for of in (x_of, t_of)]
        held = [np.ascontiguousarray(x), np.ascontiguousarray(t), *sets]
        functions = self._functions("eval")
        members = (Member * self.count)(
            *(
                Member(
                    *functions,
                    s=self.s[number].ctypes.data,
                    q=self.q[number].ctypes.data,
                    o=squares.ctypes.data,
                    w=w.ctypes.data,
                )
                for number in range(self.count)
            )
        )
        of = Rows(
            *(array.ctypes.data for array in held),
            *(rows, inputs, outputs, width, portion, roots),
            *(array.ctypes.data for array in (x_lanes, t_lanes)),
        )
        self.runtime.evaluate(members, self.count, ctypes.byref(of), means.ctypes.data)
        member, lane = self.layout.place.T
        return means[member, : 1 + roots, lane].T

    def _functions(self, part: str) -> list[ctypes.c_void_p]:
        names = [f"{part}_{name}" for name in ("begin", "block", "update")]
        return [ctypes.cast(getattr(self.library, name), ctypes.c_void_p) for name in names]
