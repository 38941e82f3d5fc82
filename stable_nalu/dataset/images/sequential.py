"""Sequences of digit images and, at every step, the sum or product of the labels so far."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch

from stable_nalu.dataset.legacy_random import LegacyRandom
from stable_nalu.dataset.loader import IndexLoader, LoadedBatch, Places

from .corpus import ImageCorpus, PixelTable
from .sources import load_subset

OPERATIONS: dict[str, Callable[..., np.ndarray]] = {
    "cumsum": np.cumsum,
    "sum": np.cumsum,
    "cumprod": np.cumprod,
    "prod": np.cumprod,
}
"""Operations on int64 labels, whose products wrap around above 2^63 as in published runs."""

ALL_DIGITS = tuple(range(10))


class DigitSubset:
    """The images that have one of some labels.

    kept: their places in the corpus. images: uint8 (n, channels, height, width).
    labels: int64 (n,).
    """

    def __init__(self, corpus: ImageCorpus, digits: Sequence[int], device: torch.device):
        self.kept = np.flatnonzero(np.isin(corpus.labels, digits))
        self.labels = corpus.labels[self.kept]
        images = torch.from_numpy(corpus.images[self.kept])
        channels_first = images.unsqueeze(1) if images.ndim == 3 else images.permute(0, 3, 1, 2)
        self.images = channels_first.contiguous().to(device)

    def __len__(self) -> int:
        """Return the number of images."""
        return len(self.labels)


class DigitSequences:
    """A subset cut into sequences of one length, in an order drawn once from `seed`.

    positions: places in the subset, (n, length). targets: float32 (n, length, 1).
    What is left at the end of the order, too short for a sequence, is not used.
    """

    def __init__(
        self,
        subset: DigitSubset,
        length: int,
        operation: str,
        seed: int,
        table: PixelTable,
    ):
        order = LegacyRandom(seed).permutation(len(subset))
        count = len(order) // length
        if count == 0:
            raise ValueError(
                f"{len(subset)} images of these digits make no sequence of {length}; ask for "
                "shorter sequences or more digits"
            )
        self.subset = subset
        self.table = table
        places = order[: count * length].reshape(count, length)
        targets = OPERATIONS[operation](subset.labels[places], axis=-1).astype(np.float32)
        device = subset.images.device
        self.positions = torch.from_numpy(places).to(device)
        self.targets = torch.from_numpy(targets).unsqueeze(-1).to(device)

    @property
    def mapping(self) -> np.ndarray:
        """Return the places of the images in the corpus, sequence by sequence."""
        return self.subset.kept[self.positions.cpu().numpy()]

    def __len__(self) -> int:
        """Return the number of sequences."""
        return len(self.positions)

    def __getitem__(self, index: Places) -> LoadedBatch:
        """Return images, float32 (batch, length, channels, height, width), and targets."""
        return self.table(self.subset.images[self.positions[index]]), self.targets[index]

    def dataloader(
        self,
        batch_size: int = 64,
        shuffle: bool = True,
        smallest: int = 1,
        labels: torch.Tensor | None = None,
    ) -> IndexLoader:
        """Return batches in torch's order; a last one below `smallest` joins the one before.

        labels: what stands for each image of the subset, instead of the image itself.
        """

        def take(index: Places) -> LoadedBatch:
            return (
                self[index]
                if labels is None
                else (labels[self.positions[index]], self.targets[index])
            )

        return IndexLoader(len(self), batch_size, shuffle, take, smallest)


class SequentialDigitDataset:
    """Sequences of one family of images; `seed` decides those of forks without a seed of theirs.

    family: `mnist` (normalised grey images of 28 rows) or `svhn` (colour, 32 rows).
    source: the family, or `digits`.
    """

    def __init__(
        self,
        family: str,
        operation: str,
        digits: Sequence[int] = ALL_DIGITS,
        seed: int | None = None,
        source: str | None = None,
        folder: Path | None = None,
        device: torch.device | None = None,
    ):
        if operation not in OPERATIONS:
            raise ValueError(f"operation {operation!r} is not one of {', '.join(OPERATIONS)}")
        self.operation = operation
        self._family = family
        self._digits = tuple(digits)
        self._parent = LegacyRandom(seed)
        self._source = source or family
        self._folder = folder
        self._device = device or torch.device("cpu")
        self._table = PixelTable.mnist() if family == "mnist" else PixelTable()
        self._subsets: dict[str, DigitSubset] = {}

    def fork(
        self, seq_length: int = 10, subset: str = "train", seed: int | None = None
    ) -> DigitSequences:
        """Return sequences of a subset, `train`, `valid` or `test`."""
        if seed is None:
            seed = int(self._parent.integers(0, 2**32 - 1))
        return DigitSequences(self._subset(subset), seq_length, self.operation, seed, self._table)

    def _subset(self, name: str) -> DigitSubset:
        if name not in self._subsets:
            corpus = load_subset(self._family, self._source, name, self._folder)
            self._subsets[name] = DigitSubset(corpus, self._digits, self._device)
        return self._subsets[name]
