"""Samples of many runs: drawn by C++ in each lane, or by NumPy and laid out for the lanes."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cache

import numpy as np

from stable_nalu.dataset.distribution import Uniform
from stable_nalu.dataset.legacy_random import STATE_WORDS
from stable_nalu.dataset.stream import SampleStream

from .layout import Layout, Samples, aligned

OPERATIONS = ("add", "sub", "mul", "div", "squared", "root", "reciprocal")
"""The operations that runtime.cpp knows, in its order."""


def drawn_by_cpp(stream: object) -> bool:
    """Return whether runtime.cpp draws the samples of a stream."""
    return (
        isinstance(stream, SampleStream)
        and stream.sampler.scales_doubles
        and isinstance(stream.sampler.distribution, Uniform)
        and len(stream.sampler.sample_shape) == 1
        and stream.targets.operation.name in OPERATIONS
        and all(end > start for start, end in stream.targets.operands)
    )


def generator_key(stream: SampleStream) -> Hashable:
    """Return what is equal for streams that draw the same doubles."""
    return stream.random.position()


def kind_key(stream: SampleStream) -> str:
    """Return what the runs of a vector must have in common."""
    return stream.targets.operation.name


def operands_of(stream: SampleStream) -> Sequence[tuple[int, int]]:
    """Return the slices of inputs whose sums are the operands."""
    return stream.targets.operands


class LaneGenerators:
    """The generators of a tile: `key[k]` holds word k of each lane, `position` the next one."""

    def __init__(self, streams: Sequence[SampleStream]):
        lanes = len(streams)
        # The first half of the lanes has the first two of four places each.
        self._places = np.arange(lanes).reshape(-1, 2, 2).swapaxes(0, 1).ravel()
        self.key = aligned((STATE_WORDS, lanes), np.uint32)
        for place, stream in zip(self._places, streams, strict=True):
            state = stream.random.state
            self.key[:, place] = _next_words(state[:-1], int(state[-1]))

    def store(
        self,
        words: np.ndarray,
        position: int,
        streams: Sequence[SampleStream],
        lanes: Sequence[int],
    ) -> None:
        """Put streams where generators have come to in their lanes."""
        for stream, lane in zip(streams, lanes, strict=True):
            state = stream.random.state
            state[:-1], state[-1] = np.roll(words[:, self._places[lane]], -position), 0


@cache
def _twister() -> np.random.MT19937:
    """Return a generator whose state others are put into, as making one takes long."""
    return np.random.MT19937(0)


def _next_words(key: np.ndarray, position: int) -> np.ndarray:
    """Return the 624 words that a generator takes next, not yet tempered."""
    if not position:
        return key
    bits = _twister()
    bits.state = {"bit_generator": "MT19937", "state": {"key": key, "pos": STATE_WORDS}}
    bits.random_raw(1, output=False)
    after = bits.state["state"]["key"]
    return np.concatenate([key[position:], after[:position]])


def described(streams: Sequence[SampleStream], keep: list[np.ndarray]) -> Samples:
    """Return what C++ makes of doubles, for the stream of each lane; `keep` holds its memory."""
    intervals = [stream.sampler.range.intervals[0] for stream in streams]
    low = aligned((len(streams),), np.float64)
    width = aligned((len(streams),), np.float64)
    low[:] = [a for a, _ in intervals]
    width[:] = [float(b) - float(a) for a, b in intervals]
    operands = list(map(operands_of, streams))
    slices = np.ascontiguousarray(np.swapaxes(np.array(operands, np.int64), 0, 1))
    keep += [low, width, slices]
    return Samples(
        low=low.ctypes.data,
        width=width.ctypes.data,
        slices=slices.ctypes.data,
        equal_slices=all(o == operands[0] for o in operands),
        single=all(b - a == 1 for own in operands for a, b in own),
        operation=OPERATIONS.index(kind_key(streams[0])),
        operands=len(operands[0]),
        inputs=streams[0].sampler.sample_shape[0],
        again=False,
        x_given=None,
        t_given=None,
        outputs=1,
    )


def in_lanes(values: np.ndarray, layout: Layout, dtype: np.dtype) -> list[np.ndarray]:
    """Return values `(iterations, runs, ...)` of each vector: `(iterations, ..., lanes)`."""
    found = []
    for runs in layout.members:
        own = np.moveaxis(values[:, runs], 1, -1)
        laid = aligned(own.shape, dtype)
        laid[...] = own
        found.append(laid)
    return found
