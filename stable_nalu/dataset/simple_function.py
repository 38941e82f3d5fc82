"""The arithmetic task on a vector, and on a sequence of vectors.

A target is an operation on sums over slices of the input, and over time. Forks of a dataset draw
the samples; some tests want those alone that exceed what training shows, in an operand or in the
target.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from .distribution import LegacyRandom, SampleRange, make_distribution
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


TRAINING_SAMPLES = 100_000
"""Samples that the largest training values are estimated from."""

TRAINING_SEED = 20180801
MOST_DRAWS = 100
"""Samples that are drawn for each one that is asked for, before giving up."""

BLOCK = 10_000


class ExceedingStream:
    """The samples from a range in which an operand or the target is above its largest in training.

    The largest values of training are estimated once, on samples from the range `training`. A value
    that is not a number exceeds nothing.
    """

    def __init__(
        self,
        dataset: SimpleFunctionStaticDataset,
        training: Sequence[Any],
        test: Sequence[Any],
        seed: int,
    ):
        self._stream = dataset.fork(test, seed=seed)
        self._largest = _largest(dataset.fork(training, seed=TRAINING_SEED))

    def __getitem__(self, rows: slice) -> tuple[torch.Tensor, torch.Tensor]:
        """Draw a batch x (B, in), t (B, 1) for a slice; raise ValueError where too few exceed."""
        size = rows.stop - rows.start
        kept_x, kept_t, count = [], [], 0
        for _ in range(-(-MOST_DRAWS * size // BLOCK)):
            block = self._stream.sampler.sample(self._stream.random, 1, BLOCK)
            exceeds = np.any(_values(self._stream, block)[0] > self._largest, axis=-1)
            x, t = torch.empty(1, BLOCK, *block.shape[2:]), torch.empty(1, BLOCK, 1)
            self._stream.write(block, x.numpy(), t.numpy())
            kept_x.append(x[0, exceeds])
            kept_t.append(t[0, exceeds])
            count += len(kept_x[-1])
            if count >= size:
                return torch.cat(kept_x)[:size], torch.cat(kept_t)[:size]
        raise ValueError(
            f"of {MOST_DRAWS * size:,} samples from the extrapolation range, {count:,} have an "
            "operand or a target above all of training"
        )

    def inputs_key(self) -> tuple:
        """Return what is equal for streams whose next draws of equal size have identical inputs.

        Which inputs are kept depends on the targets.
        """
        return self.targets_key()

    def targets_key(self) -> tuple:
        """Return what is equal for streams whose next draws have identical targets, too."""
        return self._stream.targets_key(), *self._largest.tolist()


def _values(stream: SampleStream, block: np.ndarray) -> np.ndarray:
    """Return operands and target of inputs (batches, B, in): (batches, B, operands + 1)."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        sums = [block[..., start:end].sum(-1) for start, end in stream.targets.operands]
        return np.stack([*sums, stream.targets(block)[..., 0]], -1)


def _largest(stream: SampleStream) -> np.ndarray:
    """Return the largest value of each operand and of the target, over training samples."""
    blocks = range(TRAINING_SAMPLES // BLOCK)
    drawn = (stream.sampler.sample(stream.random, 1, BLOCK) for _ in blocks)
    return np.fmax.reduce([np.fmax.reduce(_values(stream, block)[0]) for block in drawn])
