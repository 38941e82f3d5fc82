"""A random source of many runs: a generator per run."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from stable_nalu.abstract.random_source import Fill, RandomSource


class PerRunRandomSource(RandomSource):
    """A source that draws for every run what that run alone would draw from torch's generator."""

    def __init__(self, generators: Sequence[torch.Generator]):
        self.generators = list(generators)

    def fill(self, shape: tuple[int, ...], like: torch.Tensor, draw: Fill) -> torch.Tensor:
        buffer = torch.empty((len(self.generators), *shape), dtype=like.dtype)
        for run, generator in enumerate(self.generators):
            draw(buffer[run], generator, run)
        return buffer.to(like.device)
