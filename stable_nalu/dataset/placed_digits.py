"""Digits turned, scaled and placed at random on a larger canvas, a whole batch at a time.

The pixels are those of an 8-bit nearest-neighbour transform in 16.16 fixed point about the centre
of the image, so a digit that is enlarged or turned beyond its own border is cut off there.
"""

from __future__ import annotations

import math

import numpy as np
import torch

from .legacy_random import LegacyRandom

CANVAS = 42
ANGLES = (-45.0, 45.0)
SCALES = (0.7, 1.2)
_ONE = 1 << 16


def draw_angles_and_scales(count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Degrees and factors of `count` digits: two draws each from torch's global generator."""
    unit = torch.empty(count, 2).uniform_()
    (low, high), (smallest, largest) = ANGLES, SCALES
    angles = unit[:, 0] * (high - low) + low
    return angles.double(), (unit[:, 1] * (largest - smallest) + smallest).double()


def draw_offsets(random: LegacyRandom, count: int, size: int) -> np.ndarray:
    """Rows and columns (count, 2) of the upper left corners; the largest one that fits is left out.

    That the upper end never occurs is how the published transform was written.
    """
    return random.integers(0, CANVAS - size, (count, 2))


def turned(images: torch.Tensor, angles: torch.Tensor, scales: torch.Tensor) -> torch.Tensor:
    """Images uint8 (n, size, size), each turned by its angle and scaled by its factor."""
    size = images.shape[-1]
    centre = size / 2
    radians = angles * (math.pi / 180)
    cos, sin = radians.cos() / scales, radians.sin() / scales
    places = torch.arange(size, device=images.device, dtype=torch.int32)

    def source(by_column: torch.Tensor, by_row: torch.Tensor) -> torch.Tensor:
        """Source coordinates (n, size, size): the image of each pixel's centre."""
        start = centre - (by_column + by_row) * centre + (by_column + by_row) * 0.5
        step, down, first = (_fixed(v)[:, None, None] for v in (by_column, by_row, start))
        return (first + step * places + down * places[:, None]) >> 16

    columns, rows = source(cos, sin), source(-sin, cos)
    inside = (columns >= 0) & (columns < size) & (rows >= 0) & (rows < size)
    flat = (rows * size + columns).clamp_(0, size * size - 1).flatten(1).long()
    return images.flatten(1).gather(1, flat).view_as(images) * inside


def _fixed(value: torch.Tensor) -> torch.Tensor:
    return torch.floor(value * _ONE + 0.5).int()


def placed(
    images: torch.Tensor, offsets: torch.Tensor, background: float | torch.Tensor = 0
) -> torch.Tensor:
    """Images (n, size, size) on canvases (n, 42, 42), their corners at `offsets` (n, 2)."""
    count, size = images.shape[0], images.shape[-1]
    canvas = images.new_empty(count, CANVAS, CANVAS)
    canvas[:] = background
    span = torch.arange(size, device=images.device)
    rows = (offsets[:, 0, None] + span)[:, :, None]
    columns = (offsets[:, 1, None] + span)[:, None, :]
    canvas[torch.arange(count, device=images.device)[:, None, None], rows, columns] = images
    return canvas
