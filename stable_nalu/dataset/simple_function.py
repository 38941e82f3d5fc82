"""The arithmetic task on one vector, and what all arithmetic tasks share.

A target is an operation on sums over slices of the input. Forks of a dataset draw the samples.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from .distribution import SampleRange, check_dist_params, make_distribution
from .legacy_random import LegacyRandom
from .sampling import Sampler
from .stream import SampleStream, Targets

Subset = tuple[int, int]
MAX_SIZE = 2**32 - 1
SIMPLE_INPUT_SIZE = 4
SIMPLE_SUBSETS = ((0, 4), (0, 2))
"""The fixed slices of the `simple` task, which are not moved to a random position."""


@dataclass(frozen=True)
class Operation:
    """A function of subset sums: of the first `operands` subsets, or of all for None."""

    name: str
    operands: int | None
    combine: Callable[..., np.ndarray]
    text: Callable[..., str]

    def check(self, num_subsets: int) -> None:
        """Refuse fewer subsets than there are operands."""
        if num_subsets < (self.operands or 1):
            raise ValueError(
                f"operation {self.name} needs {self.operands} subsets, got {num_subsets}."
            )

    def __reduce__(self):
        # Its functions cannot be pickled, so a copied stream finds them in the table again.
        return get_operation, (self.name,)


def _all(ufunc: np.ufunc) -> Callable[..., np.ndarray]:
    return lambda *sums: functools.reduce(ufunc, sums)


OPERATIONS = {
    operation.name: operation
    for operation in (
        Operation("add", None, _all(np.add), lambda *v: " + ".join(v)),
        Operation("sub", 2, np.subtract, lambda a, b: f"{a} - {b}"),
        Operation("mul", None, _all(np.multiply), lambda *v: " * ".join(v)),
        Operation("div", 2, np.true_divide, lambda a, b: f"{a} / {b}"),
        Operation("squared", 1, lambda a: a * a, lambda a: f"{a}**2"),
        Operation("root", 1, np.sqrt, lambda a: f"sqrt({a})"),
        Operation("reciprocal", 1, lambda a: 1 / a, lambda a: f"1/({a})"),
    )
}


def get_operation(name: str) -> Operation:
    """Return the operation of that name."""
    if name not in OPERATIONS:
        raise ValueError(f"operation {name!r} is not one of {', '.join(OPERATIONS)}.")
    return OPERATIONS[name]


class FunctionTargets:
    """Targets of an operation: x `(batches, batch, *sample)` -> t `(batches, batch, 1)`.

    Each operand is the sum over a slice of the last axis and over all other axes of a sample.
    There is no guard: a root of a negative number is NaN, a division by zero infinite.
    """

    width = 1

    def __init__(self, operation: Operation, subset_ranges: Sequence[Subset]):
        operation.check(len(subset_ranges))
        self.operation = operation
        self.subset_ranges = tuple(subset_ranges)
        self.operands = self.subset_ranges[: operation.operands]

    @property
    def key(self) -> tuple:
        """Return what the targets depend on, besides the inputs."""
        return self.operation.name, self.operands

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """Return the targets in the precision of the inputs."""
        sums = (_subset_sum(x, start, end) for start, end in self.operands)
        return self.operation.combine(*sums)[..., None]

    def text(self) -> str:
        """Return the target as text, such as `sum(v[0:25]) + sum(v[13:38])`."""
        return self.operation.text(*(f"sum(v[{start}:{end}])" for start, end in self.operands))


def _subset_sum(x: np.ndarray, start: int, end: int) -> np.ndarray:
    if x.ndim == 3 and end - start == 1:
        return x[..., start]
    return x[..., start:end].sum(axis=tuple(range(2, x.ndim)))


def subsets_from_ratios(
    input_size: int, subset_ratio: float, overlap_ratio: float, num_subsets: int
) -> list[Subset]:
    """Return slices of s = floor(subset_ratio * I) inputs that share floor(overlap_ratio * s).

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
    """Return input size and slices of a static task, which are drawn unless it is `simple`."""
    if simple:
        return SIMPLE_INPUT_SIZE, list(SIMPLE_SUBSETS)
    subsets = subsets_from_ratios(input_size, subset_ratio, overlap_ratio, num_subsets)
    return input_size, draw_offset(parent, subsets, input_size)


def draw_offset(parent: LegacyRandom, subsets: Sequence[Subset], input_size: int) -> list[Subset]:
    """Move the slices together to a random position; no word is drawn if there is only one."""
    last = max(end for _, end in subsets)
    offset = int(parent.integers(0, input_size - last + 1))
    return [(start + offset, end + offset) for start, end in subsets]


class SubsetTargets(Targets, Protocol):
    """Targets that are made of slices of the inputs."""

    subset_ranges: tuple[Subset, ...]

    def text(self) -> str:
        """Return what they are, in words."""
        ...


class SubsetDataset:
    """A vector of inputs, targets of slices of it, and a parent generator that seeds the forks."""

    def __init__(
        self,
        parent: LegacyRandom,
        input_size: int,
        targets: SubsetTargets,
        *,
        dist_params: Sequence = ("uniform",),
        max_size: int = MAX_SIZE,
    ):
        if max_size < 0:
            raise ValueError(f"The size of a dataset cannot be {max_size}.")
        self._parent = parent
        self._input_size = input_size
        self._targets = targets
        self._dist_params = check_dist_params(dist_params)
        self._max_size = max_size
        self.subset_ranges = list(targets.subset_ranges)

    def get_input_size(self) -> int:
        """Return the length of the input vector."""
        return self._input_size

    def print_operation(self) -> str:
        """Return the targets as text."""
        return self._targets.text()

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
        return SampleStream(seed, sampler, self._targets, self._max_size)


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
        max_size: int = MAX_SIZE,
    ):
        parent = LegacyRandom(seed)
        input_size, subsets = draw_subsets(
            parent, input_size, subset_ratio, overlap_ratio, num_subsets, simple=simple
        )
        targets = FunctionTargets(get_operation(operation), subsets)
        super().__init__(parent, input_size, targets, dist_params=dist_params, max_size=max_size)

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
        shape = (self.get_input_size(),)
        return self._stream(shape, sample_range, seed, use_extrapolation)
