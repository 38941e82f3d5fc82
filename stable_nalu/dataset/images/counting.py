"""Sequences of digit images to be counted, or added up, after each of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from stable_nalu.dataset.legacy_random import LegacyRandom

TASKS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "count": lambda labels: torch.nn.functional.one_hot(labels, 10).cumsum(-2),
    "sum": lambda labels: labels.cumsum(-1).unsqueeze(-1),
}
"""Task -> what labels `(..., time)` add up to at each step, `(..., time, outputs)`."""


def training_places(count: int, length: int, seed: int, epoch: int) -> np.ndarray:
    """Return places of `count` images cut into sequences, in another order in each epoch."""
    return _cut(np.random.default_rng((seed, epoch)).permutation(count), length)


def fixed_places(count: int, length: int, seed: int, repeats: int = 1) -> np.ndarray:
    """Return places of `count` images, `repeats` times over in a new order, cut into sequences.

    Orders follow `seed` alone: those of all lengths are cut from the same.
    """
    random = LegacyRandom(seed)
    return _cut(np.concatenate([random.permutation(count) for _ in range(repeats)]), length)


def _cut(order: np.ndarray, length: int) -> np.ndarray:
    """Return as many sequences of a length as an order has, (sequences, length)."""
    count = len(order) // length
    if count == 0:
        raise ValueError(f"{len(order)} images make no sequence of {length}; ask for shorter ones")
    return order[: count * length].reshape(count, length)
