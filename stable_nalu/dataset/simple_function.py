"""The arithmetic task on a vector, and on a sequence of vectors.

A target is an operation on sums over slices of the input, and over time. Forks of a dataset draw
the samples.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from .distribution import SampleRange, make_distribution
from .legacy_random import LegacyRandom
from .stream import FunctionTargets, Sampler, SampleStream, Subset, get_operation

SIMPLE_INPUT_SIZE = 4
SIMPLE_SUBSETS = ((0, 4), (0, 2))
"""The fixed slices of the `simple` task, which are not moved to a random position."""


def subsets_from_ratios(
    input_size: int, subset_ratio: float, overlap_ratio: float, num_subsets: int
) -> list[Subset]:
    """Return slices of s = floor(subset_ratio * I) inputs that share floor(overlap_ratio * s).

    The ratios multiply as binary floats: 0.29 of 100 inputs are 28.
    """
    size = math.floor(subset_ratio * input_size)
    stride = size - math.floor(overlap_ratio * size)
    total = size + (num_subsets - 1) * stride
    if size == 0:
        raise ValueError(
            f"A subset ratio of {subset_ratio} leaves no element of {input_size} inputs in a "
            "subset, so every target would be 0 or NaN."
        )
    if total > input_size:
        raise ValueError(
            f"{num_subsets} subsets of ratio {subset_ratio} and overlap {overlap_ratio} take "
            f"{total} inputs, but there are {input_size}."
        )
    return [(i * stride, i * stride + size) for i in range(num_subsets)]


def _draw_subsets(
    parent: LegacyRandom,
    input_size: int,
    subset_ratio: float,
    overlap_ratio: float,
    num_subsets: int,
    *,
    simple: bool,
) -> tuple[int, list[Subset]]:
    """Return input size and slices of a static task, which are drawn unless it is `simple`."""
    if simple:
        return SIMPLE_INPUT_SIZE, list(SIMPLE_SUBSETS)
    subsets = subsets_from_ratios(input_size, subset_ratio, overlap_ratio, num_subsets)
    return input_size, _draw_offset(parent, subsets, input_size)


def _draw_offset(parent: LegacyRandom, subsets: Sequence[Subset], input_size: int) -> list[Subset]:
    """Move the slices together to a random position; no word is drawn if there is only one."""
    last = max(end for _, end in subsets)
    offset = int(parent.integers(0, input_size - last + 1))
    return [(start + offset, end + offset) for start, end in subsets]


class SubsetDataset:
    """A vector of inputs, targets of slices of it, and a parent generator that seeds the forks."""

    def __init__(
        self,
        parent: LegacyRandom,
        input_size: int,
        operation: str,
        subsets: Sequence[Subset],
        dist_params: Sequence = ("uniform",),
    ):
        self._parent = parent
        self._input_size = input_size
        self._targets = FunctionTargets(get_operation(operation), subsets)
        self._dist_params = dist_params
        self.subset_ranges = list(subsets)

    def get_input_size(self) -> int:
        """Return the length of the input vector."""
        return self._input_size

    def print_operation(self) -> str:
        """Return the targets as text, such as `sum(v[0:25]) + sum(v[13:38])`."""
        names = (f"sum(v[{start}:{end}])" for start, end in self._targets.operands)
        return self._targets.operation.text(*names)

    def _stream(
        self,
        sample_shape: tuple[int, ...],
        sample_range: Sequence,
        seed: int | None,
        use_extrapolation: bool = False,
    ) -> SampleStream:
        """Return a stream; without a seed, the parent draws one of one word at the call."""
        distribution = make_distribution(self._dist_params, use_extrapolation)
        sampler = Sampler(distribution, SampleRange.parse(sample_range), sample_shape)
        if seed is None:
            seed = int(self._parent.integers(0, 2**32 - 1))
        return SampleStream(seed, sampler, self._targets)


class SimpleFunctionStaticDataset(SubsetDataset):
    """x (B, input_size) and t (B, 1) = operation(sum of slice 0, sum of slice 1, …).

    `overlap_ratio` is a fraction of the subset, not of the input. `simple` fixes four inputs and
    the slices [0:4] and [0:2], and ignores the sizes and ratios.
    """

    def __init__(
        self,
        operation: str,
        input_size: int = 100,
        *,
        dist_params: Sequence = ("uniform",),
        subset_ratio: float = 0.25,
        overlap_ratio: float = 0.5,
        num_subsets: int = 2,
        simple: bool = False,
        seed: int | None = None,
    ):
        parent = LegacyRandom(seed)
        input_size, subsets = _draw_subsets(
            parent, input_size, subset_ratio, overlap_ratio, num_subsets, simple=simple
        )
        super().__init__(parent, input_size, operation, subsets, dist_params)

    def fork(
        self,
        sample_range: Sequence = (1, 2),
        seed: int | None = None,
        use_extrapolation: bool = False,
    ) -> SampleStream:
        """Return a stream of samples from a range.

        Without a seed, the parent draws one at the call; with one, the parent does not move.
        `use_extrapolation` selects the second mean and deviation of a truncated normal.
        """
        return self._stream((self._input_size,), sample_range, seed, use_extrapolation)


LENGTHS, OVERLAPS = (1, 5), (1, 2)
"""Closed intervals that the slices of sequences are drawn from."""


class SimpleFunctionRecurrentDataset(SubsetDataset):
    """x (B, T, vector_size) and t (B, 1) = operation(sum of slice 0, sum of slice 1).

    The overlap and the two slice lengths are drawn, then the position. The overlap is at most the
    shorter slice. With `subset_ratio`, both slices and their overlap have the lengths of the static
    task, and the position alone is drawn. `simple` fixes four inputs and the slices [0:4] and
    [0:2], without any draw.

    Departs from the published code: its dataset cannot be constructed, so this is what it intended,
    and there are no published numbers.
    """

    def __init__(
        self,
        operation: str,
        vector_size: int = 10,
        *,
        subset_ratio: float | None = None,
        overlap_ratio: float = 0.5,
        simple: bool = False,
        seed: int | None = None,
    ):
        parent = LegacyRandom(seed)
        if simple or subset_ratio is not None:
            ratios = subset_ratio or 1, overlap_ratio
            vector_size, subsets = _draw_subsets(parent, vector_size, *ratios, 2, simple=simple)
        else:
            subsets = _draw_lengths(parent, vector_size)
        super().__init__(parent, vector_size, operation, subsets)

    def fork(
        self, seq_length: int = 10, sample_range: Sequence = (1, 2), seed: int | None = None
    ) -> SampleStream:
        """Return a stream of sequences; without a seed, the parent draws one at the call."""
        return self._stream((seq_length, self._input_size), sample_range, seed)


def _draw_lengths(parent: LegacyRandom, input_size: int) -> list[Subset]:
    """Draw in this order: overlap, length of slice 0, length of slice 1, position."""
    # The largest span that can be drawn: two longest slices that overlap least.
    largest = 2 * LENGTHS[1] - OVERLAPS[0]
    if largest > input_size:
        raise ValueError(
            f"Two subsets of up to {LENGTHS[1]} elements with an overlap of {OVERLAPS[0]} can "
            f"take {largest} inputs, but there are {input_size}."
        )
    overlap, first, second = (
        int(parent.integers(low, high + 1)) for low, high in (OVERLAPS, LENGTHS, LENGTHS)
    )
    start = first - min(overlap, first, second)
    return _draw_offset(parent, [(0, first), (start, start + second)], input_size)
