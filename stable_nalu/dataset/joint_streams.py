"""Many streams that are drawn together.

The generator of a data set depends on its seed alone, so one seed on nine ranges draws the same
doubles nine times, and drawing is most of what a small model costs. Streams of one generator are
therefore joined, and where compiled code gives the same numbers, it draws all of them in one call.
Streams that differ in their targets alone share their inputs, too.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Sequence

import numpy as np

from stable_nalu import native

from .distribution import Uniform
from .simple_function import FunctionTargets
from .stream import SampleStream

OPERATIONS = ("add", "sub", "mul", "div", "squared", "root", "reciprocal")
"""The operations that compiled code knows, in the order in which draws.cpp numbers them."""


class JointStreams:
    """Streams of equal `doubles_key`, of which only the first one's generator moves.

    places: the numbers of their runs in a block of samples.
    others: more such lists of streams, which differ from `streams` in their targets alone.
    """

    def __init__(
        self,
        streams: Sequence[SampleStream],
        places: Sequence[int],
        others: Sequence[Sequence[SampleStream]] = (),
    ):
        self.streams = list(streams)
        self.places = list(places)
        self.others = [list(more) for more in others]

    def draw_into(self, x: np.ndarray, *ts: np.ndarray) -> None:
        """Fill x (batches, runs, B, *sample) and each t (batches, runs, B, width) at their places.

        The first t is of `streams`; there is one more for each list of other streams.
        """
        first = self.streams[0]
        batches, _, batch_size = x.shape[:3]
        for part in first.parts(batches, batch_size):
            blocks = self._blocks(part.stop - part.start, batch_size)
            for k, (block, place) in enumerate(zip(blocks, self.places, strict=True)):
                t, *more = (values[part, place] for values in ts)
                self.streams[k].write(block, x[part, place], t)
                for streams, values in zip(self.others, more, strict=True):
                    streams[k].write_targets(block, values)

    def _blocks(self, batches: int, batch_size: int) -> Iterator[np.ndarray]:
        """Draw inputs, and yield those of each stream."""
        first, *others = self.streams
        if not others:
            yield first.sampler.sample(first.random, batches, batch_size)
            return
        doubles = first.random.doubles((batches, batch_size, *first.sampler.sample_shape))
        for stream in self.streams:
            yield stream.sampler.scaled(doubles)

    def skip(self, batches: int, batch_size: int) -> None:
        """Advance as if that many batches had been drawn."""
        self.streams[0].skip(batches, batch_size)

    def beside(self, others: Sequence[Sequence[SampleStream]]) -> JointStreams:
        """Return the streams with others of all runs beside them, to go on where these stand.

        They cannot be joined anew: of streams that were drawn or skipped, only the first one tells
        where all stand.
        """
        own = [[more[place] for place in self.places] for more in others]
        return JointStreams(self.streams, self.places, own)


def join(streams: Sequence[SampleStream]) -> list[JointStreams]:
    """Join those streams that can be drawn together; return all."""
    members: dict[object, list[int]] = {}
    for k, stream in enumerate(streams):
        key = stream.doubles_key()
        members.setdefault(("alone", k) if key is None else key, []).append(k)
    return [JointStreams([streams[k] for k in group], group) for group in members.values()]


class NativeStreams:
    """Groups of streams of equal kinds that compiled code draws; see `by_compiled_code`."""

    def __init__(self, groups: Sequence[JointStreams]):
        self.groups = list(groups)
        streams = [stream for group in groups for stream in group.streams]
        intervals = [stream.sampler.range.intervals[0] for stream in streams]
        self._steps = _steps(streams[0])
        first = groups[0]
        self._kinds = [_kind(more[0]) for more in (first.streams, *first.others)]
        self._operands = max(operands for _, operands in filter(None, self._kinds))
        self._first_run = np.cumsum([0, *(len(group.streams) for group in groups)])
        self._places = np.array([place for group in groups for place in group.places])
        self._intervals = np.array([(low, float(high) - float(low)) for low, high in intervals])
        self._slices = np.array(
            [_targets(stream).subset_ranges[: self._operands] for stream in streams]
        )
        self._generators = np.array(
            [group.streams[0].random.address() for group in groups], np.uint64
        )
        self._scratch = np.empty(0)

    def draw_into(self, x: np.ndarray, *ts: np.ndarray) -> None:
        """Fill x (batches, runs, B, *sample) and each t (batches, runs, B, 1) at their places.

        The samples of a run are contiguous in memory, or the transpose of vectors is. All t are
        laid alike.
        """
        batches, _, samples, *sample = x.shape
        inputs = math.prod(sample)
        x_strides, t_strides = ([s // 4 for s in array.strides] for array in (x, ts[0]))
        self._scratch.resize(samples * (2 * inputs + self._operands + 1), refcheck=False)
        kinds = [
            native.Targets(OPERATIONS.index(operation), operands, native.pointer(t))
            for (operation, operands), t in zip(filter(None, self._kinds), ts, strict=True)
        ]
        library = native.library()
        assert library is not None
        library.draw_samples(
            native.SampleBlock(
                group_count=len(self.groups),
                batches=batches,
                samples=samples,
                inputs=inputs,
                steps=self._steps,
                operands=self._operands,
                kinds=len(kinds),
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
                targets=(native.Targets * len(kinds))(*kinds),
            )
        )

    def skip(self, batches: int, batch_size: int) -> None:
        """Advance as if that many batches had been drawn."""
        for group in self.groups:
            group.skip(batches, batch_size)


def by_compiled_code(
    groups: Sequence[JointStreams], x: np.ndarray, *ts: np.ndarray
) -> Sequence[JointStreams | NativeStreams]:
    """Let compiled code draw the streams where it fills buffers like x and ts as NumPy does.

    x and ts are overwritten.
    """
    if native.library() is None or x.dtype != np.float32:
        return groups
    kinds = [_kinds(group) for group in groups]
    first = next((kind for kind in kinds if kind is not None), None)
    suitable = [group for group, kind in zip(groups, kinds, strict=True) if kind == first]
    if first is None or not _agree(suitable, [x[:1], *(t[:1] for t in ts)]):
        return groups
    return [NativeStreams(suitable), *(group for group in groups if group not in suitable)]


def _agree(groups: Sequence[JointStreams], arrays: Sequence[np.ndarray]) -> bool:
    """Return whether copies of the streams give the same batch both ways."""
    found = []
    for drawn in (copy.deepcopy(groups), [NativeStreams(copy.deepcopy(groups))]):
        for array in arrays:
            array[...] = 0
        for group in drawn:
            group.draw_into(*arrays)
        found.append([array.tobytes() for array in arrays])
    return found[0] == found[1]


def _kinds(group: JointStreams) -> list[tuple[str, int]] | None:
    """Return the kind of each list of streams; None for streams that compiled code cannot draw."""
    every = (group.streams, *group.others)
    kinds = [{_kind(stream) for stream in streams} for streams in every]
    if any(len(kind) > 1 or None in kind for kind in kinds):
        return None
    # All kinds of targets are made of the same sums.
    slices = [[_targets(stream).subset_ranges for stream in streams] for streams in every]
    found = [kind for (kind,) in kinds if kind is not None]
    return found if all(one == slices[0] for one in slices) else None


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
