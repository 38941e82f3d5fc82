"""Labelled images in memory as bytes, and the numbers that networks see of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

MNIST_MEAN, MNIST_DEVIATION = 0.1307, 0.3081


@dataclass(frozen=True)
class ImageCorpus:
    """Images, uint8 (n, height, width) or (n, height, width, 3), and labels, int64 (n,)."""

    images: np.ndarray
    labels: np.ndarray

    def __len__(self) -> int:
        """Return the number of images."""
        return len(self.labels)

    def part(self, start: int | None, stop: int | None) -> ImageCorpus:
        """Return the images from number `start` up to `stop`, as in a slice."""
        return ImageCorpus(self.images[start:stop], self.labels[start:stop])


class PixelTable:
    """The value of each of the 256 bytes: v / 255, then normalised if a mean is given.

    A look-up gives the same numbers on every device, those of torchvision's transforms.
    """

    def __init__(self, mean: float = 0.0, deviation: float = 1.0):
        values = torch.arange(256, dtype=torch.uint8).to(torch.float32) / 255
        self._values = values.sub(mean).div(deviation)

    @classmethod
    def mnist(cls) -> PixelTable:
        """Return the table that is normalised by mean and deviation of the MNIST images."""
        return cls(MNIST_MEAN, MNIST_DEVIATION)

    def __call__(self, images: torch.Tensor) -> torch.Tensor:
        """Return float32 values of uint8 images, on the device of these."""
        if self._values.device != images.device:
            self._values = self._values.to(images.device)
        return self._values[images.long()]
