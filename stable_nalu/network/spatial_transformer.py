"""Spatial transformers: a small network decides where to sample the image that it sees."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional

from stable_nalu.functional.thin_plate_spline import control_points, pixel_places, warp_matrix

SPAN = 0.9
SIDE = 4
IMAGE_SIZE = 42


def pooled(x: torch.Tensor) -> torch.Tensor:
    """Return images of half the size, by means of 2x2 pixels."""
    return functional.avg_pool2d(x, 2)


class Transform(nn.Module):
    """A localiser and the sampling it controls; the output has the shape of the input."""

    def __init__(self, channels: int, flat: int, numbers: int):
        super().__init__()
        self.localiser = nn.Sequential(
            nn.AvgPool2d(2, 2),
            nn.Conv2d(channels, 20, 5),
            nn.ReLU(),
            nn.MaxPool2d(2, 2),
            nn.Conv2d(20, 20, 5),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(flat, 32),
            nn.ReLU(),
        )
        self.last = nn.Linear(32, numbers)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        grid = self.grid(self.last(self.localiser(x)), x)
        # Sampled with the corners half a pixel outside, whatever the grid was made with.
        return functional.grid_sample(x, grid, align_corners=False)

    def grid(self, numbers: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        """Return where to sample: (batch, height, width, 2) as (x, y)."""
        raise NotImplementedError

    def identity(self) -> torch.Tensor:
        """Return the numbers of the grid that shows the input as it is."""
        raise NotImplementedError

    def start_at_identity(self) -> None:
        """Make the localiser answer with the identity for every image."""
        with torch.no_grad():
            self.last.weight.zero_()
            self.last.bias.copy_(self.identity())


class AffineTransform(Transform):
    """A transform of six numbers, a 2x3 matrix."""

    def __init__(self, channels: int, flat: int):
        super().__init__(channels, flat, 6)

    def grid(self, numbers: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        matrix = numbers.unflatten(-1, (2, 3))
        return functional.affine_grid(matrix, list(x.shape), align_corners=False)

    def identity(self) -> torch.Tensor:
        return torch.tensor([1.0, 0.0, 0.0, 0.0, 1.0, 0.0])


class SplineTransform(Transform):
    """A thin-plate spline with 4x4 control points over an image of 42x42 pixels.

    The localiser gives the sources of the points; tanh keeps them in the image, unless unbounded.
    """

    warp: torch.Tensor

    def __init__(self, channels: int, flat: int, *, unbounded: bool = False):
        super().__init__(channels, flat, 2 * SIDE * SIDE)
        self.unbounded = unbounded
        self._points = control_points(SPAN, SIDE)
        warp = warp_matrix(pixel_places(IMAGE_SIZE, IMAGE_SIZE), self._points)
        self.register_buffer("warp", warp.to(torch.get_default_dtype()), persistent=False)

    def sources(self, numbers: torch.Tensor) -> torch.Tensor:
        """Return the sources (batch, 16, 2) of the control points, in the order of the points."""
        return (numbers if self.unbounded else numbers.tanh()).unflatten(-1, (-1, 2))

    def grid(self, numbers: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return (self.warp @ self.sources(numbers)).unflatten(1, (IMAGE_SIZE, IMAGE_SIZE))

    def identity(self) -> torch.Tensor:
        points = self._points.flatten()
        return points if self.unbounded else points.atanh()
