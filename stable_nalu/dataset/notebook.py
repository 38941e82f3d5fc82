"""Rows of ten numbers and the sum of two sums: the data of the notebook's addition."""

from __future__ import annotations

import numpy as np
import torch

INPUTS = 10
SPLIT = 4
"""The first sum takes so many inputs, the second one the others."""
TRAIN_HIGH, TEST_HIGH = 10.0, 100.0


class NotebookDataset:
    """Training rows from U[0, 10) and as many test rows from U[0, 100), drawn once from a seed."""

    def __init__(self, rows: int, seed: int | None = None):
        random = np.random.default_rng(seed)
        self.train = _rows(random, rows, TRAIN_HIGH)
        self.test = _rows(random, rows, TEST_HIGH)


def _rows(random: np.random.Generator, rows: int, high: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Return inputs `(rows, 10)` and targets `(rows, 1)`."""
    x = random.random((rows, INPUTS)) * high
    a, b = x[:, :SPLIT].sum(1, keepdims=True), x[:, SPLIT:].sum(1, keepdims=True)
    return torch.from_numpy(x), torch.from_numpy(a + b)
