"""The arithmetic task on one vector, large (100 inputs) or small (the single-layer task)."""

from __future__ import annotations

from collections.abc import Sequence

from .legacy_random import LegacyRandom
from .simple_function import (
    MAX_SIZE,
    SimpleFunctionDataset,
    draw_subsets,
)
from .stream import SampleStream


class SimpleFunctionStaticDataset(SimpleFunctionDataset):
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
        super().__init__(
            operation, parent, input_size, subsets, dist_params=dist_params, max_size=max_size
        )

    def fork(
        self,
        sample_range: Sequence = (1, 2),
        seed: int | None = None,
        use_extrapolation: bool = False,
    ) -> SampleStream:
        """A stream of samples from a range.

        Without a seed, the parent draws one at the call; with one, the parent does not move.
        `use_extrapolation` selects the second mean and deviation of a truncated normal.
        """
        shape = (self.get_input_size(),)
        return self._stream(self._targets, shape, sample_range, seed, use_extrapolation)
