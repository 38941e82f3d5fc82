"""The single-layer task with one output per slice: the sum or the product of its elements."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .distribution import SampleRange
from .legacy_random import LegacyRandom
from .simple_function import (
    MAX_SIZE,
    Subset,
    SubsetDataset,
    draw_subsets,
)
from .stream import SampleStream

REDUCTIONS = {"add": np.add, "mul": np.multiply}


class ElementTargets:
    """Targets t `(batches, B, O)` of x `(batches, B, I)`: sums or products of each slice.

    The published code folds the (O, B) results of a batch into (B, O) rows without transposing, so
    for O > 1 a row holds targets of other rows. `corrected` transposes instead.
    """

    def __init__(self, operation: str, subset_ranges: Sequence[Subset], corrected: bool):
        if operation not in REDUCTIONS:
            raise ValueError(f"operation {operation!r} is not one of {', '.join(REDUCTIONS)}.")
        self.operation = operation
        self.subset_ranges = tuple(subset_ranges)
        self.corrected = corrected

    @property
    def width(self) -> int:
        """Return the number of targets per sample, one per slice."""
        return len(self.subset_ranges)

    @property
    def key(self) -> tuple:
        """Return what the targets depend on, besides the inputs."""
        return "elements", self.operation, self.subset_ranges, self.corrected

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """Return the targets in float64."""
        reduce = REDUCTIONS[self.operation].reduce
        results = [reduce(x[..., start:end], axis=-1) for start, end in self.subset_ranges]
        by_subset = np.stack(results, axis=1)
        if self.corrected:
            return by_subset.swapaxes(1, 2)
        return by_subset.reshape(*x.shape[:2], self.width)

    def text(self) -> str:
        """Return the targets as text, brackets as published: `mul(v[0:2)), mul(v[2:4))`."""
        return ", ".join(f"{self.operation}(v[{a}:{b}))" for a, b in self.subset_ranges)


class SingleLayerStaticDataset(SubsetDataset):
    """x (B, input_size) and t (B, num_subsets); no published experiment uses it.

    `corrected` gives every sample its own targets; the default keeps the published order.
    """

    def __init__(
        self,
        operation: str,
        input_size: int = 2,
        *,
        subset_ratio: float = 1,
        overlap_ratio: float = 0,
        num_subsets: int = 1,
        simple: bool = False,
        corrected: bool = False,
        seed: int | None = None,
        max_size: int = MAX_SIZE,
    ):
        parent = LegacyRandom(seed)
        input_size, subsets = draw_subsets(
            parent, input_size, subset_ratio, overlap_ratio, num_subsets, simple=simple
        )
        targets = ElementTargets(operation, subsets, corrected)
        super().__init__(parent, input_size, targets, max_size=max_size)

    def get_output_size(self) -> int:
        """Return the number of targets per sample; published code says 1 for the 2 of `simple`."""
        return self._targets.width

    def fork(self, sample_range: Sequence = (1, 2), seed: int | None = None) -> SampleStream:
        """Return a stream of samples; without a seed, the parent draws one at the call."""
        if SampleRange.parse(sample_range).form == "halves":
            raise ValueError(f"This dataset has no halves form of a range, got {sample_range!r}.")
        return self._stream((self.get_input_size(),), sample_range, seed)
