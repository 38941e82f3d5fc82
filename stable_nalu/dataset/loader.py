"""Batches of stored items, in the order that `torch.utils.data.DataLoader` gives them."""

from collections.abc import Callable, Iterator

import torch

LoadedBatch = tuple[torch.Tensor, ...]
Places = slice | torch.Tensor


class IndexLoader:
    """Batches of `count` items; `take(index)` makes one of a slice, or of a tensor of numbers.

    Every epoch draws a 64-bit number from torch's global generator, and a shuffled one a second,
    with which it seeds the private generator of the permutation. The last batch may be smaller, but
    for one below `smallest`, which is part of the batch before it.
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
        starts = list(range(0, count, batch_size))
        if len(starts) > 1 and count - starts[-1] < smallest:
            starts.pop()
        self._rows = [slice(a, b) for a, b in zip(starts, [*starts[1:], count], strict=True)]

    def __len__(self) -> int:
        """Return the number of batches, counting a partial one."""
        return len(self._rows)

    def __iter__(self) -> Iterator[LoadedBatch]:
        """Start an epoch."""
        return self.batches(self.begin())

    def begin(self) -> torch.Tensor | None:
        """Draw the order of an epoch that `batches` is to iterate over; None is the stored one."""
        draw_seed()
        return shuffled_order(self.count) if self.shuffle else None

    def batches(self, order: torch.Tensor | None, first: int = 0) -> Iterator[LoadedBatch]:
        """Yield the batches of an epoch from number `first` on."""
        for rows in self._rows[first:]:
            yield self._take(rows if order is None else order[rows])


def draw_seed() -> int:
    """Draw a 63-bit seed from torch's global generator, as torch's loader and sampler do."""
    return int(torch.empty((), dtype=torch.int64).random_())


def shuffled_order(count: int) -> torch.Tensor:
    """Draw the permutation (count,) of one epoch of torch's random sampler."""
    generator = torch.Generator()
    generator.manual_seed(draw_seed())
    return torch.randperm(count, generator=generator)
