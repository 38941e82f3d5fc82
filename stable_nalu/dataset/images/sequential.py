"""Sequences of digit images and, at every step, the sum or product of the labels so far."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch

from stable_nalu.dataset.legacy_random import LegacyRandom
from stable_nalu.dataset.loader import IndexLoader, LoadedBatch, Places

from .sources import ImageCorpus, PixelTable

OPERATIONS: dict[str, Callable[..., np.ndarray]] = {
    "cumsum": np.cumsum,
    "sum": np.cumsum,
    "cumprod": np.cumprod,
    "prod": np.cumprod,
}
"""Operations on int64 labels, whose products wrap around above 2^63 as in published runs."""


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

    family: `mnist`, whose pixels are normalised, or `svhn`.
    positions: places in the subset, (n, length). targets: float32 (n, length, 1).
    What is left at the end of the order, too short for a sequence, is not used.
    """

    def __init__(
        self,
        subset: DigitSubset,
        length: int,
        operation: str,
        seed: int,
        family: str,
    ):
        order = LegacyRandom(seed).permutation(len(subset))
        count = len(order) // length
        self.subset = subset
        self.table = PixelTable.mnist() if family == "mnist" else PixelTable()
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
            if labels is None:
                return self[index]
            return labels[self.positions[index]], self.targets[index]

        return IndexLoader(len(self), batch_size, shuffle, take, smallest)
