"""Iterators over batches: of a stream that is drawn as it goes, and of stored tensors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from .stream import SampleStream

Batch = tuple[torch.Tensor, ...]


def check_batch_size(batch_size: int) -> int:
    """The batch size, when it is at least one."""
    if batch_size < 1:
        raise ValueError(f"A batch size must be at least 1, got {batch_size}.")
    return batch_size


class StreamLoader:
    """Successive batches of a stream; a new iterator continues where the last one stopped."""

    def __init__(self, stream: SampleStream, batch_size: int):
        self.stream = stream
        self.batch_size = check_batch_size(batch_size)

    def __len__(self) -> int:
        """Whole batches only: a trailing partial batch is never drawn."""
        return len(self.stream) // self.batch_size

    def __iter__(self) -> Iterator[Batch]:
        """Draw one batch a step."""
        for i in range(len(self)):
            yield self.stream[i * self.batch_size : (i + 1) * self.batch_size]


class TensorLoader:
    """Batches of stored tensors, in the order that `torch.utils.data.DataLoader` gives them.

    Every iterator draws one 64-bit number from torch's global generator when it is created. A
    shuffled one draws a second when its first batch is asked for, and seeds with it the private
    generator of the permutation. The last batch may be smaller.
    """

    def __init__(self, tensors: Batch, batch_size: int, shuffle: bool):
        self.tensors = tensors
        self.batch_size = check_batch_size(batch_size)
        self.shuffle = shuffle

    def __len__(self) -> int:
        """Batches, counting the partial one."""
        return -(-len(self.tensors[0]) // self.batch_size)

    def __iter__(self) -> Iterator[Batch]:
        """Start an epoch."""
        draw_seed()
        return self._batches()

    def _batches(self) -> Iterator[Batch]:
        order = shuffled_order(len(self.tensors[0])) if self.shuffle else None
        for i in range(len(self)):
            rows = slice(i * self.batch_size, (i + 1) * self.batch_size)
            index = rows if order is None else order[rows]
            yield tuple(tensor[index] for tensor in self.tensors)


def draw_seed() -> int:
    """A 63-bit seed from torch's global generator, drawn as torch's loader and sampler do."""
    return int(torch.empty((), dtype=torch.int64).random_())


def shuffled_order(count: int) -> torch.Tensor:
    """The permutation (count,) of one epoch of torch's random sampler."""
    generator = torch.Generator()
    generator.manual_seed(draw_seed())
    return torch.randperm(count, generator=generator)
