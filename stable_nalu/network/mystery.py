"""The one layer that faces the mystery arithmetic problem."""

from __future__ import annotations

import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.layer import GeneralizedLayer

from .dense import Dense

VANILLA = "vanilla"
"""The article's name of a dense layer with a ReLU on its output, and nothing before it."""


class MysteryNetwork(ExtendedTorchModule):
    """x `(*runs, batch, inputs)` -> `(*runs, batch, outputs)`, through a single layer.

    The NAC starts Xavier-normal, as the article has it; a NALU does if its options say so, and
    other layers start as they do everywhere.
    """

    def __init__(self, unit_name: str, inputs: int, outputs: int, **layer_options):
        super().__init__("network")
        self.unit_name = unit_name
        name = "layer_1"
        if unit_name == VANILLA:
            self.layer = Dense(inputs, outputs, "ReLU", name)
        else:
            self.layer = GeneralizedLayer(inputs, outputs, unit_name, name=name, **layer_options)

    def reset_parameters(self) -> None:
        super().reset_parameters()
        if self.unit_name == "NAC":
            for weight in self.parameters():
                torch.nn.init.xavier_normal_(weight)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x)
