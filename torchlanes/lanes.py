"""Runs of one program in training: their numbers in lanes, iterations, evaluation."""

import ctypes
from collections.abc import Mapping, Sequence

import numpy as np
import torch

from .emit import SAMPLES
from .recorded import Program
from .tiles import (
    Generators,
    Layout,
    Member,
    Rows,
    Samples,
    Tile,
    TileMemory,
    aligned,
    in_lanes,
    library,
    no_library,
    runtime_text,
    source,
)

Schedule = Mapping[str, np.ndarray]
"""Scheduled numbers by their names: `(iterations, 1)` or `(iterations, runs)`."""

EvaluationRows = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
"""x `(sets, rows, in)`, t `(sets, rows, outputs)`, and the sets that each run has of them."""


def not_compiled(program: Program) -> str | None:
    """Return why a program cannot be compiled here, if it cannot."""
    double = program.dtype == torch.float64
    texts = runtime_text(double=double), source(program.text, double=double)
    return next(filter(None, map(no_library, texts)), None)


class Lanes:
    """Runs of one program. shape: samples of a batch, and inputs of a sample."""

    def __init__(self, program: Program, layout: Layout, shape: tuple[int, int]):
        self.program = program
        self.layout = layout
        self.shape = shape
        self.runs = len(layout.place)
        self.dtype = program.numpy_type
        self.library = library(source(program.text, double=self.dtype == np.float64))
        self.workspace = TileMemory(shape, self.dtype)
        self.count, self.lanes = layout.members.shape
        sizes = program.memory.sizes
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
        return any(self.program.sources[part].passes > 1 for part in ("run", "log"))

    def put(self, name: str, values: torch.Tensor | np.ndarray) -> None:
        """Put a tensor `(runs, ...)` into the lanes."""
        place = self.program.places[name]
        flat = np.asarray(values, self.dtype).reshape(self.runs, place.size)
        self.s[:, place.offset : place.offset + place.size] = np.swapaxes(
            flat[self.layout.members], 1, 2
        )

    def get(self, name: str) -> torch.Tensor:
        """Return a tensor `(runs, ...)` that the lanes hold, or that the last iteration told."""
        place = self.program.places[name]
        memory = {"s": self.s, "o": self.o}[place.memory]
        member, lane = self.layout.place.T
        own = memory[member, place.offset : place.offset + place.size, lane]
        return torch.from_numpy(own.reshape(self.runs, *place.shape).copy())

    def members(
        self, schedule: Schedule, noise: np.ndarray | None, iterations: int, part: str
    ) -> Sequence[Member]:
        """Return what C++ needs to iterate, until the next call, for each vector.

        part: `run`, or `log` for one whose results are all told.
        """
        w, w_row, w_step = self._scheduled(schedule, iterations)
        z = None if noise is None else in_lanes(noise, self.layout, self.dtype)
        prepare = self._functions("prepare")[1] if "prepare" in self.program.sources else None
        self._read = [w, *(z or ())]
        found = []
        for number in range(self.count):
            member = self._member(part, number, self.o[number], z)
            member.w, member.w_row = w.ctypes.data + number * w_step, w_row
            member.prepare, member.p = prepare, self.p.ctypes.data
            found.append(member)
        return found

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

        There are those of one iteration only, if all have the same.
        """
        if len(x) > 1 or self._given[0] is not x:
            self._given = x, [in_lanes(values, self.layout, self.dtype) for values in (x, t)]
        tiles = []
        for member, own_x, own_t in zip(members, *self._given[1], strict=True):
            given = {"x_given": own_x.ctypes.data, "t_given": own_t.ctypes.data}
            samples = Samples(**given, outputs=1, same=len(x) == 1)
            tiles.append(Tile(Generators(), ctypes.pointer(samples), ctypes.pointer(member), 1, 1))
        self.workspace.iterate(tiles, iterations, whole=self.whole)

    def observe(self, x: np.ndarray | None, schedule: Schedule) -> None:
        """Let modules tell of x `(runs, batch, in)`, or of ones, and leave all as it is."""
        state = self.s.copy()
        x = np.ones((self.runs, *self.shape)) if x is None else x
        members = self.members(schedule, self._middle_noise(), 1, "log")
        self.iterate(members, x[None], np.zeros((1, *x.shape[:2], 1)), 1)
        self.s[...] = state

    def _middle_noise(self) -> np.ndarray | None:
        """Return noise in the middle of its bounds."""
        draws = self.program.draws
        means = [np.full(int(np.prod(d.shape)), sum(d.bounds) / 2) for d in draws]
        return np.concatenate(means)[None, None].repeat(self.runs, 1) if draws else None

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
        self.workspace.runtime.evaluate(members, self.count, ctypes.byref(of), means.ctypes.data)
        member, lane = self.layout.place.T
        return means[member, :, lane].T
