"""Batches of images of two digits: side by side as they are, or scattered over a canvas."""

from __future__ import annotations

from collections.abc import Callable

import torch

from .digit_pairs import PairSet
from .images import ImageCorpus, PixelTable
from .legacy_random import LegacyRandom
from .loader import Index, IndexLoader
from .placed_digits import draw_angles_and_scales, draw_offsets, placed, turned

Arrange = Callable[[torch.Tensor], torch.Tensor]
"""From bytes (batch, 2, height, width) to the numbers that a network sees."""


class SideBySide:
    """One image (1, height, 2 width): the left digit, then the right one."""

    def __init__(self):
        self._pixels = PixelTable.mnist()

    def __call__(self, digits: torch.Tensor) -> torch.Tensor:
        """Join the digits."""
        return self._pixels(_joined(digits))


class Scattered:
    """Each digit turned, scaled and placed at random, anew whenever it is looked at.

    concat_dim: `colour` makes (2, 42, 42), a channel a digit; `width` makes (1, 42, 84).
    """

    def __init__(self, random: LegacyRandom, concat_dim: str):
        self.random = random
        self._concat_dim = concat_dim
        self._pixels = PixelTable.mnist()

    def __call__(self, digits: torch.Tensor) -> torch.Tensor:
        """Scatter the digits, each by draws of its own."""
        images = digits.flatten(0, 1)
        angles, scales = (v.to(images.device) for v in draw_angles_and_scales(len(images)))
        offsets = torch.from_numpy(draw_offsets(self.random, len(images), images.shape[-1]))
        values = self._pixels(turned(images, angles, scales))
        black = self._pixels(images.new_zeros(()))
        shown = placed(values, offsets.to(images.device), black).unflatten(0, digits.shape[:2])
        return _joined(shown) if self._concat_dim == "width" else shown


def _joined(digits: torch.Tensor) -> torch.Tensor:
    return torch.cat(digits.unbind(1), dim=-1).unsqueeze(1)


def pair_loader(
    corpus: ImageCorpus,
    pairs: PairSet,
    arrange: Arrange,
    batch_size: int,
    *,
    shuffle: bool,
    device: torch.device,
) -> IndexLoader:
    """Batches (images, answers (batch, 1), digits (batch, 2)) on a device."""
    images = torch.from_numpy(corpus.images).to(device)
    positions = torch.from_numpy(pairs.images).to(device)
    answers = torch.from_numpy(pairs.answers).to(device).unsqueeze(-1)
    digits = torch.from_numpy(pairs.digits).to(device)

    def take(index: Index) -> tuple[torch.Tensor, ...]:
        rows = index if isinstance(index, slice) else index.to(device)
        return arrange(images[positions[rows]]), answers[rows], digits[rows]

    return IndexLoader(len(pairs), batch_size, shuffle, take)
