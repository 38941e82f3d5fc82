"""Configurations, models and streams for tests of the training room."""

from typing import Any

import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.options import Config
from stable_nalu.task.table import SCRIPTS, TASKS


def configurations(script: str, *words: str) -> list[Config]:
    """The configurations of a command line."""
    return SCRIPTS[script].plan(words).configs


def configuration(script: str, *words: str) -> Config:
    """The one configuration of a command line."""
    (config,) = configurations(script, *words)
    return config


def built(script: str, words: str = "") -> Any:
    """What the one run of a command line trains on."""
    config = configuration(script, *words.split())
    return TASKS[script](config, torch.device("cpu"))


class Penalised(ExtendedTorchModule):
    """A model with given penalties: y = x W, and per key the sum of W times a number, or None."""

    is_as_published = False

    def __init__(self, penalties: dict[str, float | None]):
        super().__init__("network")
        self.penalties = penalties
        self.W = torch.nn.Parameter(torch.tensor([[1.0], [2.0]]))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x @ self.W

    def regualizer_terms(self):
        return {
            key: None if number is None else lambda number=number: number * self.W.sum()
            for key, number in self.penalties.items()
        }
