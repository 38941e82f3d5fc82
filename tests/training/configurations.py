"""Configurations, models and streams for tests of the training room."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.options import Config
from stable_nalu.task import SCRIPTS


def configurations(script: str, *words: str) -> list[Config]:
    """The configurations of a command line."""
    return SCRIPTS[script].plan(words).configs


def configuration(script: str, *words: str) -> Config:
    """The one configuration of a command line."""
    (config,) = configurations(script, *words)
    return config


class Penalised(ExtendedTorchModule):
    """A model with given penalties: y = x W, and per key the sum of W times a number.

    `asked` counts how often each penalty was computed; a number of None switches its term off.
    """

    def __init__(self, penalties: dict[str, float | None], runs: Sequence[float] = ()):
        super().__init__("network")
        self.penalties = penalties
        self.asked = dict.fromkeys(penalties, 0)
        start = torch.tensor([[1.0], [2.0]])
        if runs:
            start = torch.stack([start * factor for factor in runs])
        self.W = torch.nn.Parameter(start)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x @ self.W

    def regualizer_terms(self):
        return {
            key: None if number is None else self._term(key, number)
            for key, number in self.penalties.items()
        }

    def _term(self, key: str, number: float):
        def term() -> torch.Tensor:
            self.asked[key] += 1
            return number * self.W.sum((-2, -1))

        return term
