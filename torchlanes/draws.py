"""Samples of runs on a GPU, drawn from the generators of a processor; see draws.h."""

import ctypes
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from . import gpu
from .tiles import OPERATIONS, STATE_WORDS, SampleSource, next_words
from .warps import padded

SAMPLE_BYTES = 1 << 30
"""Bytes of the samples that lie on the device for iterations to come, and what they are made of."""
MADE_AT_ONCE = 13 << 10
"""Bytes of the doubles of which a block makes samples: what runs leave free."""

_address, _number = ctypes.c_void_p, ctypes.c_int64


class DeviceDraws(ctypes.Structure):
    """`Draws` of draws.h."""

    _fields_ = (
        *((name, _address) for name in ("words", "low", "width", "of_generator", "of_set")),
        *((name, _address) for name in ("slices", "operations", "operands", "doubles", "x", "t")),
        *((name, _number) for name in ("generators", "sets", "targets", "batch", "inputs")),
        *((name, _number) for name in ("portion_bits", "most_operands")),
    )


class Queues:
    """Queues of the GPU: one that draws, one for each program."""

    def __init__(self):
        self._streams: dict[Any, Any] = {}

    def of(self, key: Any) -> Any:
        """Return the queue of a key, None where there are none."""
        if gpu.device().type != "cuda":
            return None
        if key not in self._streams:
            self._streams[key] = torch.cuda.Stream()
        return self._streams[key]

    @contextmanager
    def after(self, key: Any, events: list[Any]) -> Iterator[Any]:
        """Let a queue wait for events, and hand on its address."""
        stream = self.of(key)
        if stream is None:
            yield None
            return
        for event in events:
            stream.wait_event(event)
        with torch.cuda.stream(stream):
            yield stream.cuda_stream


@dataclass
class _Words:
    """Generators of all sets of samples, after how many iterations."""

    words: torch.Tensor
    done: int = 0


@dataclass
class _Buffers:
    """Samples of some iterations to come, and the events after which they are not needed."""

    x: torch.Tensor
    t: torch.Tensor
    free: list[Any] = field(default_factory=list, init=False)


def _kind(stream: SampleSource) -> tuple[str, tuple[tuple[int, int], ...]]:
    """Return what targets are made by."""
    operands = tuple((int(a), int(b)) for a, b in stream.targets.operands)
    return stream.targets.operation.name, operands


def _slices(operands: Sequence[Sequence[tuple[int, int]]]) -> np.ndarray:
    """Return from, to of operands `(targets, most operands, 2)`."""
    found = np.zeros((len(operands), max(map(len, operands)), 2), np.int32)
    for own, slices in zip(found, operands, strict=True):
        own[: len(slices)] = slices
    return found


class DeviceTiles:
    """Samples of runs that are drawn on the GPU; see `Tiles`."""

    def __init__(
        self,
        streams: Sequence[Sequence[SampleSource]],
        work: Sequence[int],
        shape: tuple[int, int],
        dtype: np.dtype,
    ):
        self._streams = streams
        self.layouts = [gpu.singles(len(own)) for own in streams]
        self.batch, self.inputs = shape
        self._dtype = dtype
        self._library = gpu.draws_library(double=dtype == np.float64)
        self._x_size, self._t_size = padded(self.batch) * self.inputs, padded(self.batch)
        # A generator has sets of samples, and each of these sets of targets.
        trees: dict[Any, dict[Any, dict[Any, None]]] = {}
        some: dict[Any, SampleSource] = {}
        keys = []
        for stream in (stream for own in streams for stream in own):
            place, kind = stream.random.position(), _kind(stream)
            some.setdefault((place, stream.sampler.key), stream)
            trees.setdefault(place, {}).setdefault(stream.sampler.key, {})[kind] = None
            keys.append((place, stream.sampler.key, kind))
        sets = [(place, key) for place, own in trees.items() for key in own]
        targets = [(*pair, kind) for pair in sets for kind in trees[pair[0]][pair[1]]]
        numbers = {pair: k for k, pair in enumerate(sets)}
        of_targets = {one: k for k, one in enumerate(targets)}
        places = {place: k for k, place in enumerate(trees)}
        ends = np.cumsum([len(own) for own in streams])[:-1]
        self._place_of = np.split(np.array([places[key[0]] for key in keys]), ends)
        set_of = np.split(np.array([numbers[key[:2]] for key in keys]), ends)
        target_of = np.split(np.array([of_targets[key] for key in keys]), ends)
        self._x_of = [gpu.on_device(own * self._x_size) for own in set_of]
        self._t_of = [gpu.on_device(own * self._t_size) for own in target_of]
        intervals = [some[pair].sampler.range.intervals[0] for pair in sets]
        slices = _slices([operands for *_, (_, operands) in targets])
        held = {
            "low": np.array([float(a) for a, _ in intervals]),
            "width": np.array([float(b) - float(a) for a, b in intervals]),
            "of_generator": np.cumsum([0, *(len(own) for own in trees.values())], dtype=np.int32),
            "of_set": np.cumsum([0, *(len(trees[a][b]) for a, b in sets)], dtype=np.int32),
            "slices": slices,
            "operations": np.array([OPERATIONS.index(k[0]) for *_, k in targets], np.int32),
            "operands": np.array([len(k[1]) for *_, k in targets], np.int32),
        }
        self._held = {name: gpu.on_device(values) for name, values in held.items()}
        words = np.empty((len(trees), STATE_WORDS), np.uint32)
        for place, key in sets:
            state = some[place, key].random.state
            words[places[place]] = next_words(state[:-1], int(state[-1]))
        first = _Words(gpu.on_device(words.view(np.int32)))
        self._at = dict.fromkeys(range(len(streams)), first)
        self._generators = len(trees)
        self._counts = len(sets), len(targets), slices.shape[1]
        self._queues = Queues()
        self._buffers: list[_Buffers] = []
        self._doubles = torch.empty(0, dtype=torch.float64, device=gpu.device())
        portion = max(1, MADE_AT_ONCE // (8 * (self.inputs | 1)))
        self._portion_bits = min((self.batch - 1).bit_length(), portion.bit_length() - 1)

    @property
    def _at_once(self) -> int:
        sets, targets, _ = self._counts
        size = (sets * self._x_size + targets * self._t_size) * self._dtype.itemsize
        return max(1, SAMPLE_BYTES // (size + 8 * self._generators * self.batch * self.inputs))

    def iterate(
        self, members: Mapping[int, gpu.DeviceMembers], iterations: int, *, whole: bool
    ) -> None:
        """Train the runs of some programs, which are given by their numbers."""
        states = {id(self._at[program]): self._at[program] for program in members}
        for state in states.values():
            own = {p: m for p, m in members.items() if self._at[p] is state}
            if any(at is state and p not in own for p, at in self._at.items()):
                state = _Words(state.words.clone(), state.done)
                self._at |= dict.fromkeys(own, state)
            self._iterate(own, state, iterations)
        for program, state in self._at.items():  # Those that stand equally far go on together.
            others = (at for at in self._at.values() if at.done == state.done)
            self._at[program] = next(others)
        gpu.synchronize()

    def _iterate(
        self, members: Mapping[int, gpu.DeviceMembers], state: _Words, iterations: int
    ) -> None:
        sets, targets, _ = self._counts
        at_once = min(self._at_once, iterations)
        if not self._buffers or len(self._buffers[0].x) < at_once:
            kind = torch.float64 if self._dtype == np.float64 else torch.float32
            shapes = (at_once, sets, self._x_size), (at_once, targets, self._t_size)
            self._buffers = [
                _Buffers(*(torch.zeros(s, dtype=kind, device=gpu.device()) for s in shapes))
                for _ in range(2)
            ]
            count = at_once * self._generators * self.batch * self.inputs
            self._doubles = torch.empty(count, dtype=torch.float64, device=gpu.device())
        gpu.synchronize()
        for k, first in enumerate(range(0, iterations, at_once)):
            buffers = self._buffers[k % 2]
            some = min(at_once, iterations - first)
            with self._queues.after("draw", buffers.free) as queue:
                self._draw(state, buffers, some, queue)
                drawn = [torch.cuda.Event()] if queue is not None else []
                for event in drawn:
                    event.record()
            buffers.free = []
            for program, own in members.items():
                with self._queues.after(program, drawn) as queue:
                    x_of, t_of = self._x_of[program], self._t_of[program]
                    rows = {"x_row": sets * self._x_size, "t_row": targets * self._t_size}
                    given = gpu.Given(buffers.x, buffers.t, x_of, t_of, **rows)
                    own.lanes.train(own, given, first, some, queue)
                    if queue is not None:
                        buffers.free.append(torch.cuda.Event())
                        buffers.free[-1].record()
        state.done += iterations

    def _draw(self, state: _Words, buffers: _Buffers, iterations: int, queue: Any) -> None:
        sets, targets, most = self._counts
        draws = DeviceDraws(
            words=state.words.data_ptr(),
            **{name: values.data_ptr() for name, values in self._held.items()},
            doubles=self._doubles.data_ptr(),
            x=buffers.x.data_ptr(),
            t=buffers.t.data_ptr(),
            generators=self._generators,
            sets=sets,
            targets=targets,
            batch=self.batch,
            inputs=self.inputs,
            portion_bits=self._portion_bits,
            most_operands=most,
        )
        gpu.checked(self._library.draw(ctypes.byref(draws), _number(iterations), _address(queue)))

    def store(self, program: int) -> None:
        """Put the streams of all runs of a program where its iterations have left them."""
        state = self._at[program]
        words = state.words.cpu().numpy().view(np.uint32)
        for number, stream in zip(self._place_of[program], self._streams[program], strict=True):
            held = stream.random.state
            held[:-1], held[-1] = words[number], 0
