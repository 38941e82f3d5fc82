"""Leading run dimensions to test with, models that have them, and what is asked of functions."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from stable_nalu.abstract import stack_models

RUNS = ((), (3,), (2, 3))


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


def assert_runs_are_independent(
    function: Callable[..., torch.Tensor], runs: tuple[int, ...], *arguments: torch.Tensor
) -> None:
    """`function` on all runs at once equals, bit for bit, `function` on each run alone."""
    together = function(*arguments)
    assert together.shape[: len(runs)] == runs
    for index in indices(runs):
        alone = function(*(argument[index] for argument in arguments))
        assert torch.equal(together[index], alone)
