"""Leading run dimensions, models that have them, and numbers to test with."""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from stable_nalu.abstract import stack_models


def indices(runs: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Index tuples of all runs; the empty tuple for a single run."""
    return itertools.product(*(range(size) for size in runs))


def normal(*shape: int, seed: int = 0) -> torch.Tensor:
    """Standard normal numbers, float64, from a generator of their own."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, dtype=torch.float64, generator=generator)


def in_runs(runs: tuple[int, ...], models: Sequence[Any]) -> Any:
    """One model that is all of these in order."""
    for width in reversed(runs):
        models = [stack_models(models[i : i + width]) for i in range(0, len(models), width)]
    return models[0]
