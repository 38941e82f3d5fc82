"""What the arithmetic datasets share: slices of the input vector, and forks that draw samples."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .distribution import check_dist_params, make_distribution
from .legacy_random import LegacyRandom
from .operation import FunctionTargets, Subset, get_operation
from .sample_range import SampleRange
from .sampling import Sampler
from .stream import SampleStream, Targets

MAX_SIZE = 2**32 - 1
SIMPLE_INPUT_SIZE = 4
SIMPLE_SUBSETS = ((0, 4), (0, 2))
"""The fixed slices of the `simple` task; no random offset."""


def subsets_from_ratios(
    input_size: int, subset_ratio: float, overlap_ratio: float, num_subsets: int
) -> list[Subset]:
    """Slices of s = floor(subset_ratio * I) inputs that share floor(overlap_ratio * s) of them.

    The ratios multiply as binary floats: 0.29 of 100 inputs are 28.
    """
    if input_size < 1 or num_subsets < 1:
        raise ValueError(
            "The input size and the number of subsets must be at least 1, "
            f"got {input_size} and {num_subsets}."
        )
    if not (0 < subset_ratio <= 1 and 0 <= overlap_ratio <= 1):
        raise ValueError(
            "The subset ratio must be in (0, 1] and the overlap ratio in [0, 1], "
            f"got {subset_ratio} and {overlap_ratio}."
        )
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


def draw_subsets(
    parent: LegacyRandom,
    input_size: int,
    subset_ratio: float,
    overlap_ratio: float,
    num_subsets: int,
    *,
    simple: bool,
) -> tuple[int, list[Subset]]:
    """Input size and slices of a static task; the fixed task needs no draw."""
    if simple:
        return SIMPLE_INPUT_SIZE, list(SIMPLE_SUBSETS)
    subsets = subsets_from_ratios(input_size, subset_ratio, overlap_ratio, num_subsets)
    return input_size, draw_offset(parent, subsets, input_size)


def draw_offset(parent: LegacyRandom, subsets: Sequence[Subset], input_size: int) -> list[Subset]:
    """Move the slices together to a random position; no word is drawn if there is only one."""
    last = max(end for _, end in subsets)
    offset = int(parent.integers(0, input_size - last + 1))
    return [(start + offset, end + offset) for start, end in subsets]


class SubsetDataset:
    """A vector of inputs, slices of it, and a parent generator that seeds the forks."""

    def __init__(
        self,
        parent: LegacyRandom,
        input_size: int,
        subset_ranges: Sequence[Subset],
        *,
        dist_params: Sequence = ("uniform",),
        max_size: int = MAX_SIZE,
    ):
        if max_size < 0:
            raise ValueError(f"The size of a dataset cannot be {max_size}.")
        self._parent = parent
        self._input_size = input_size
        self._dist_params = check_dist_params(dist_params)
        self._max_size = max_size
        self.subset_ranges = list(subset_ranges)

    def get_input_size(self) -> int:
        """Length of the input vector."""
        return self._input_size

    def _stream(
        self,
        targets: Targets,
        sample_shape: tuple[int, ...],
        sample_range: Sequence,
        seed: int | None,
        use_extrapolation: bool = False,
    ) -> SampleStream:
        """A stream; without a seed it takes one from the parent, one word in order of the calls."""
        distribution = make_distribution(self._dist_params, use_extrapolation)
        sampler = Sampler(distribution, SampleRange.parse(sample_range), sample_shape)
        if seed is None:
            seed = int(self._parent.integers(0, 2**32 - 1))
        return SampleStream(seed, sampler, targets, self._max_size)


class SimpleFunctionDataset(SubsetDataset):
    """An arithmetic operation on the sums over slices of the input."""

    def __init__(
        self,
        operation: str,
        parent: LegacyRandom,
        input_size: int,
        subset_ranges: Sequence[Subset],
        *,
        dist_params: Sequence = ("uniform",),
        max_size: int = MAX_SIZE,
    ):
        super().__init__(
            parent, input_size, subset_ranges, dist_params=dist_params, max_size=max_size
        )
        self._operation = get_operation(operation)
        self._operation.check(len(self.subset_ranges))
        self._targets = FunctionTargets(self._operation, self.subset_ranges)

    def print_operation(self) -> str:
        """The target as text, such as `sum(v[0:25]) + sum(v[13:38])`."""
        operands = self.subset_ranges[: self._operation.operands]
        return self._operation.text(*(f"sum(v[{start}:{end}])" for start, end in operands))
