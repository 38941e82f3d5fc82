"""Numbers of a range, to be given back as they are: the data of the scalar autoencoder."""

from __future__ import annotations

import math

import numpy as np
import torch

POINTS = 101
"""Points of the training range at which the error is measured."""


class IdentityDataset:
    """Inputs `(batch, 1)` of one run, which are their own targets."""

    def __init__(
        self, sampling: str, low: float, high: float, batch_size: int = 64, seed: int | None = None
    ):
        self.sampling, self.low, self.high = sampling, low, high
        self.batch_size = batch_size
        self.random = np.random.default_rng(seed)
        self._grid = whole_numbers(low, high).unsqueeze(-1)

    def batch(self) -> torch.Tensor:
        """Return all whole numbers of the range, or as many uniform ones as a batch has."""
        if self.sampling == "grid":
            return self._grid
        return torch.from_numpy(self.random.uniform(self.low, self.high, (self.batch_size, 1)))

    def within(self) -> torch.Tensor:
        """Return points `(points, 1)` from one end of the range to the other."""
        return torch.linspace(self.low, self.high, POINTS, dtype=torch.float64).unsqueeze(-1)


def whole_numbers(low: float, high: float) -> torch.Tensor:
    """Return the whole numbers from `low` to `high`."""
    return torch.arange(math.ceil(low), math.floor(high) + 1, dtype=torch.float64)
