"""Labelled images in memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class ImageCorpus:
    """Images, uint8 (n, height, width) or (n, height, width, 3), and labels, int64 (n,)."""

    images: np.ndarray
    labels: np.ndarray

    def __len__(self) -> int:
        """Number of images."""
        return len(self.labels)

    def part(self, start: int | None, stop: int | None) -> ImageCorpus:
        """The images from number `start` up to `stop`, as in a slice."""
        return ImageCorpus(self.images[start:stop], self.labels[start:stop])
