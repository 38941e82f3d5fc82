"""The arithmetic task on a sequence of vectors: slices are summed over time and features.

Departs from the published code: its dataset cannot be constructed, so this is what it intended,
and there are no published numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

from .legacy_random import LegacyRandom
from .simple_function import (
    MAX_SIZE,
    FunctionTargets,
    Subset,
    SubsetDataset,
    draw_offset,
    draw_subsets,
    get_operation,
)
from .stream import SampleStream


class SimpleFunctionRecurrentDataset(SubsetDataset):
    """x (B, T, vector_size) and t (B, 1) = operation(sum of slice 0, sum of slice 1).

    The overlap and the two slice lengths are drawn from their closed intervals, then the position.
    The overlap is at most the shorter slice. With `subset_ratio`, both slices and their overlap
    have the lengths of the static task, and the position alone is drawn. `simple` fixes four inputs
    and the slices [0:4] and [0:2], without any draw.
    """

    def __init__(
        self,
        operation: str,
        vector_size: int = 10,
        *,
        min_subset_length: int = 1,
        max_subset_length: int = 5,
        min_subset_overlap: int = 1,
        max_subset_overlap: int = 2,
        subset_ratio: float | None = None,
        overlap_ratio: float = 0.5,
        simple: bool = False,
        seed: int | None = None,
        max_size: int = MAX_SIZE,
    ):
        parent = LegacyRandom(seed)
        if simple or subset_ratio is not None:
            ratios = subset_ratio or 1, overlap_ratio
            vector_size, subsets = draw_subsets(parent, vector_size, *ratios, 2, simple=simple)
        else:
            subsets = _draw_subsets(
                parent,
                vector_size,
                (min_subset_length, max_subset_length),
                (min_subset_overlap, max_subset_overlap),
            )
        targets = FunctionTargets(get_operation(operation), subsets)
        super().__init__(parent, vector_size, targets, max_size=max_size)

    def fork(
        self,
        seq_length: int = 10,
        sample_range: Sequence = (1, 2),
        seed: int | None = None,
    ) -> SampleStream:
        """Return a stream of sequences; without a seed, the parent draws one at the call."""
        if seq_length < 1:
            raise ValueError(f"A sequence needs at least one step, got {seq_length}.")
        shape = (seq_length, self.get_input_size())
        return self._stream(shape, sample_range, seed)


def _draw_subsets(
    parent: LegacyRandom, input_size: int, lengths: tuple[int, int], overlaps: tuple[int, int]
) -> list[Subset]:
    """Draw in this order: overlap, length of slice 0, length of slice 1, position."""
    if not (1 <= lengths[0] <= lengths[1] and 0 <= overlaps[0] <= overlaps[1]):
        raise ValueError(
            "Subset lengths and overlaps are given as minimum and maximum, with lengths of at "
            f"least 1, got {lengths} and {overlaps}."
        )
    # The largest span that can be drawn: two longest slices that overlap least.
    largest = 2 * lengths[1] - min(overlaps[0], lengths[1])
    if largest > input_size:
        raise ValueError(
            f"Two subsets of up to {lengths[1]} elements with an overlap of {overlaps[0]} can "
            f"take {largest} inputs, but there are {input_size}."
        )
    overlap = int(parent.integers(overlaps[0], overlaps[1] + 1))
    first = int(parent.integers(lengths[0], lengths[1] + 1))
    second = int(parent.integers(lengths[0], lengths[1] + 1))
    start = first - min(overlap, first, second)
    return draw_offset(parent, [(0, first), (start, start + second)], input_size)
