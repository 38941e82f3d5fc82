"""Uniform samples of many runs in one call of compiled code: doubles, inputs and targets.

What `joint_streams` does a run and an array operation at a time is done here a batch and a run at a
time, while the numbers are in the core's first cache. The first batch of every set of streams is
drawn both ways, and left to NumPy should a bit differ.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence

import numpy as np

from stable_nalu import native

from .distribution import Uniform
from .joint_streams import JointStreams
from .operation import FunctionTargets
from .stream import SampleStream

OPERATIONS = ("add", "sub", "mul", "div")
"""In the order in which native.cpp numbers them."""


class NativeStreams:
    """Takes over groups of streams that `by_compiled_code` finds suitable, all of one operation."""

    def __init__(self, groups: Sequence[JointStreams]):
        self.groups = list(groups)
        streams = [stream for group in groups for stream in group.streams]
        targets = [_targets(stream) for stream in streams]
        intervals = [stream.sampler.range.intervals[0] for stream in streams]
        self._operation = OPERATIONS.index(targets[0].operation.name)
        self._operands = len(targets[0].operands)
        self._first_run = np.cumsum([0, *(len(group.streams) for group in groups)])
        self._places = np.array([place for group in groups for place in group.places])
        self._intervals = np.array([(low, float(high) - float(low)) for low, high in intervals])
        self._slices = np.array([t.operands for t in targets])
        self._generators = np.array(
            [group.streams[0].generator_address() for group in groups], np.uint64
        )
        self._scratch = np.empty(0)

    def draw_into(self, x: np.ndarray, t: np.ndarray) -> None:
        """Fill x (batches, runs, B, inputs) and t (batches, runs, B, 1) at the streams' places.

        The samples of a run are contiguous in memory, or their transpose is.
        """
        batches, _, samples, inputs = x.shape
        x_strides, t_strides = ([s // 4 for s in array.strides] for array in (x, t))
        self._scratch.resize(2 * samples * (inputs + 1), refcheck=False)
        block = np.array(
            [len(self.groups), batches, samples, inputs, self._operation, self._operands]
            + [x_strides[2] == 1, *x_strides[:2], *t_strides[:2]]
        )
        arrays = (
            *(block, self._generators, self._first_run, self._places),
            *(self._intervals, self._slices, self._scratch, x, t),
        )
        library = native.library()
        assert library is not None
        library.draw_samples(*(array.ctypes.data for array in arrays))

    def skip(self, batches: int, batch_size: int) -> None:
        """Advance as if that many batches had been drawn."""
        for group in self.groups:
            group.skip(batches, batch_size)


def by_compiled_code(
    groups: Sequence[JointStreams], x: np.ndarray, t: np.ndarray
) -> Sequence[JointStreams | NativeStreams]:
    """The same streams, drawn by compiled code where it fills buffers like x and t as NumPy does.

    x and t are overwritten.
    """
    if native.library() is None or x.dtype != np.float32:
        return groups
    suitable = [group for group in groups if all(map(_suits, group.streams))]
    kinds = [_kind(group.streams[0]) for group in suitable]
    suitable = [g for g in suitable if all(_kind(s) == kinds[0] for s in g.streams)]
    if not suitable or not _agree(suitable, x[:1], t[:1]):
        return groups
    return [NativeStreams(suitable), *(group for group in groups if group not in suitable)]


def _agree(groups: Sequence[JointStreams], x: np.ndarray, t: np.ndarray) -> bool:
    """Whether copies of the streams give the same batch both ways."""
    x[...] = t[...] = 0
    for group in copy.deepcopy(groups):
        group.draw_into(x, t)
    expected = x.tobytes(), t.tobytes()
    x[...] = t[...] = 0
    NativeStreams(copy.deepcopy(groups)).draw_into(x, t)
    return (x.tobytes(), t.tobytes()) == expected


def _suits(stream: SampleStream) -> bool:
    sampler, targets = stream.sampler, stream.targets
    return (
        sampler.scales_doubles
        and isinstance(sampler.distribution, Uniform)
        and len(sampler.sample_shape) == 1
        and isinstance(targets, FunctionTargets)
        and targets.operation.name in OPERATIONS
        and all(0 < end - start <= native.LONGEST_SUM for start, end in targets.operands)
    )


def _targets(stream: SampleStream) -> FunctionTargets:
    assert isinstance(stream.targets, FunctionTargets)
    return stream.targets


def _kind(stream: SampleStream) -> tuple[str, int]:
    targets = _targets(stream)
    return targets.operation.name, len(targets.operands)
