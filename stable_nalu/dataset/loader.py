"""Iterators over batches of stored items."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch

LoadedBatch = tuple[torch.Tensor, ...]
Places = slice | torch.Tensor


def check_batch_size(batch_size: int) -> int:
    """Return the batch size, and refuse one below 1."""
    if batch_size < 1:
        raise ValueError(f"A batch size must be at least 1, got {batch_size}.")
    return batch_size


class IndexLoader:
    """Batches of `count` items, in the order that `torch.utils.data.DataLoader` gives them.

    `take(index)` makes the batch of some items: a slice of them, or a tensor of their numbers.

    Every iterator draws one 64-bit number from torch's global generator when it is created. A
    shuffled one draws a second when its first batch is asked for, and seeds with it the private
    generator of the permutation. The last batch may be smaller, but for one below `smallest`,
    which is part of the batch before it.
    """

    def __init__(
        self,
        count: int,
        batch_size: int,
        shuffle: bool,
        take: Callable[[Places], LoadedBatch],
        smallest: int = 1,
    ):
        self.shuffle = shuffle
        self.count = count
        self._take = take
        starts = list(range(0, count, check_batch_size(batch_size)))
        if len(starts) > 1 and count - starts[-1] < smallest:
            starts.pop()
        self._rows = [slice(a, b) for a, b in zip(starts, [*starts[1:], count], strict=True)]

    def __len__(self) -> int:
        """Return the number of batches, counting a partial one."""
        return len(self._rows)

    def __iter__(self) -> Iterator[LoadedBatch]:
        """Start an epoch."""
        draw_seed()
        return self._epoch()

    def _epoch(self) -> Iterator[LoadedBatch]:
        yield from self.batches(self._order())

    def begin(self) -> torch.Tensor | None:
        """Draw the order of an epoch that `batches` is to iterate over; None is the stored one."""
        draw_seed()
        return self._order()

    def batches(self, order: torch.Tensor | None, first: int = 0) -> Iterator[LoadedBatch]:
        """Yield the batches of an epoch from number `first` on."""
        for rows in self._rows[first:]:
            yield self._take(rows if order is None else order[rows])

    def _order(self) -> torch.Tensor | None:
        return shuffled_order(self.count) if self.shuffle else None


class TensorLoader(IndexLoader):
    """Batches of stored tensors."""

    def __init__(self, tensors: LoadedBatch, batch_size: int, shuffle: bool):
        super().__init__(
            len(tensors[0]),
            batch_size,
            shuffle,
            lambda index: tuple(tensor[index] for tensor in tensors),
        )


def draw_seed() -> int:
    """Draw a 63-bit seed from torch's global generator, as torch's loader and sampler do."""
    return int(torch.empty((), dtype=torch.int64).random_())


def shuffled_order(count: int) -> torch.Tensor:
    """Draw the permutation (count,) of one epoch of torch's random sampler."""
    generator = torch.Generator()
    generator.manual_seed(draw_seed())
    return torch.randperm(count, generator=generator)
