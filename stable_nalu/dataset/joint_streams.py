"""Many streams that are drawn together.

The generator of a data set depends on its seed alone, so one seed on nine ranges draws the same
doubles nine times, and drawing is most of what a small model costs. Streams of one generator are
therefore joined, and where compiled code gives the same numbers, it draws all of them in one call.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence

import numpy as np

from stable_nalu import native

from .distribution import Uniform
from .simple_function import FunctionTargets
from .stream import SampleStream

OPERATIONS = ("add", "sub", "mul", "div")
"""The operations that compiled code knows, in the order in which native.cpp numbers them."""


class JointStreams:
    """Streams of equal `doubles_key`, of which only the first one's generator moves.

    places: the numbers of their runs in a block of samples.
    """

    def __init__(self, streams: Sequence[SampleStream], places: Sequence[int]):
        self.streams = list(streams)
        self.places = list(places)

    def draw_into(self, x: np.ndarray, t: np.ndarray) -> None:
        """Fill x (batches, runs, B, *sample) and t (batches, runs, B, width) at their places."""
        first, *others = self.streams
        if not others:
            first.draw_into(x[:, self.places[0]], t[:, self.places[0]])
            return
        batches, _, batch_size = x.shape[:3]
        for part in first.parts(batches, batch_size):
            shape = (part.stop - part.start, batch_size, *first.sampler.sample_shape)
            doubles = first.random.doubles(shape)
            for stream, place in zip(self.streams, self.places, strict=True):
                stream.write(stream.sampler.scaled(doubles), x[part, place], t[part, place])

    def skip(self, batches: int, batch_size: int) -> None:
        """Advance as if that many batches had been drawn."""
        self.streams[0].skip(batches, batch_size)


def join(streams: Sequence[SampleStream]) -> list[JointStreams]:
    """Join those streams that can be drawn together; return all."""
    members: dict[object, list[int]] = {}
    for k, stream in enumerate(streams):
        key = stream.doubles_key()
        members.setdefault(("alone", k) if key is None else key, []).append(k)
    return [JointStreams([streams[k] for k in group], group) for group in members.values()]


class NativeStreams:
    """Groups of streams of one operation that compiled code draws; see `by_compiled_code`."""

    def __init__(self, groups: Sequence[JointStreams]):
        self.groups = list(groups)
        streams = [stream for group in groups for stream in group.streams]
        targets = [_targets(stream) for stream in streams]
        intervals = [stream.sampler.range.intervals[0] for stream in streams]
        self._steps = _steps(streams[0])
        self._operation = OPERATIONS.index(targets[0].operation.name)
        self._operands = len(targets[0].operands)
        self._first_run = np.cumsum([0, *(len(group.streams) for group in groups)])
        self._places = np.array([place for group in groups for place in group.places])
        self._intervals = np.array([(low, float(high) - float(low)) for low, high in intervals])
        self._slices = np.array([t.operands for t in targets])
        self._generators = np.array(
            [group.streams[0].random.address() for group in groups], np.uint64
        )
        self._scratch = np.empty(0)

    def draw_into(self, x: np.ndarray, t: np.ndarray) -> None:
        """Fill x (batches, runs, B, *sample) and t (batches, runs, B, 1) at the streams' places.

        The samples of a run are contiguous in memory, or the transpose of vectors is.
        """
        batches, _, samples, *sample = x.shape
        inputs = math.prod(sample)
        x_strides, t_strides = ([s // 4 for s in array.strides] for array in (x, t))
        self._scratch.resize(2 * samples * (inputs + 1), refcheck=False)
        library = native.library()
        assert library is not None
        library.draw_samples(
            native.SampleBlock(
                group_count=len(self.groups),
                batches=batches,
                samples=samples,
                inputs=inputs,
                steps=self._steps,
                operation=self._operation,
                operands=self._operands,
                samples_adjoin=x_strides[2] == 1,
                x_batch=x_strides[0],
                x_run=x_strides[1],
                t_batch=t_strides[0],
                t_run=t_strides[1],
                generators=native.pointer(self._generators),
                first_run=native.pointer(self._first_run),
                place=native.pointer(self._places),
                intervals=native.pointer(self._intervals),
                slices=native.pointer(self._slices),
                scratch=native.pointer(self._scratch),
                x=native.pointer(x),
                t=native.pointer(t),
            )
        )

    def skip(self, batches: int, batch_size: int) -> None:
        """Advance as if that many batches had been drawn."""
        for group in self.groups:
            group.skip(batches, batch_size)


def by_compiled_code(
    groups: Sequence[JointStreams], x: np.ndarray, t: np.ndarray
) -> Sequence[JointStreams | NativeStreams]:
    """Let compiled code draw the streams where it fills buffers like x and t as NumPy does.

    x and t are overwritten.
    """
    if native.library() is None or x.dtype != np.float32:
        return groups
    kinds = [{_kind(stream) for stream in group.streams} for group in groups]
    first = next((kind for kind in kinds if len(kind) == 1 and None not in kind), None)
    suitable = [group for group, kind in zip(groups, kinds, strict=True) if kind == first]
    if not suitable or not _agree(suitable, x[:1], t[:1]):
        return groups
    return [NativeStreams(suitable), *(group for group in groups if group not in suitable)]


def _agree(groups: Sequence[JointStreams], x: np.ndarray, t: np.ndarray) -> bool:
    """Return whether copies of the streams give the same batch both ways."""
    x[...] = t[...] = 0
    for group in copy.deepcopy(groups):
        group.draw_into(x, t)
    expected = x.tobytes(), t.tobytes()
    x[...] = t[...] = 0
    NativeStreams(copy.deepcopy(groups)).draw_into(x, t)
    return (x.tobytes(), t.tobytes()) == expected


def _kind(stream: SampleStream) -> tuple[str, int] | None:
    """Return operation and number of operands; None for a stream that compiled code cannot draw."""
    sampler, targets = stream.sampler, stream.targets
    suits = (
        sampler.scales_doubles
        and isinstance(sampler.distribution, Uniform)
        and len(sampler.sample_shape) < 3
        and isinstance(targets, FunctionTargets)
        and targets.operation.name in OPERATIONS
        and all(
            0 < (end - start) * _steps(stream) <= native.LONGEST_SUM
            for start, end in targets.operands
        )
    )
    return (_targets(stream).operation.name, len(_targets(stream).operands)) if suits else None


def _steps(stream: SampleStream) -> int:
    """Return of how many vectors a sample is a sequence."""
    *steps, _ = stream.sampler.sample_shape
    return math.prod(steps)


def _targets(stream: SampleStream) -> FunctionTargets:
    assert isinstance(stream.targets, FunctionTargets)
    return stream.targets
