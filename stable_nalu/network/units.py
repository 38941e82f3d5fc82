"""Small networks of one kind of unit, each of one experiment."""

from __future__ import annotations

from typing import Any

import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.layer.generalized import GeneralizedLayer

from .dense import ACTIVATIONS, Dense


def _through(unit_name: str, sizes: list[int], layer_options: dict[str, Any]) -> torch.nn.Module:
    """Return layers between widths: of a unit, or with an activation behind all but the last."""
    layers: list[torch.nn.Module] = []
    for place, (size, width) in enumerate(zip(sizes, sizes[1:], strict=False), start=1):
        name = f"layer_{place}"
        if unit_name in ACTIVATIONS:
            activation = unit_name if place < len(sizes) - 1 else "linear"
            layers.append(Dense(size, width, activation, name))
        else:
            layers.append(GeneralizedLayer(size, width, unit_name, name=name, **layer_options))
    return torch.nn.Sequential(*layers)


class IdentityNetwork(ExtendedTorchModule):
    """x `(*runs, batch, 1)` -> `(*runs, batch, 1)`, through hidden layers of one size.

    An activation stands behind every hidden layer and not behind the last one. A unit of the zoo
    takes the place of all layers, the last one too; it has no bias.
    """

    def __init__(
        self, unit_name: str, hidden_size: int = 8, hidden_layers: int = 3, **layer_options
    ):
        super().__init__("network")
        self.unit_name = unit_name
        sizes = [1, *[hidden_size] * hidden_layers, 1]
        self.layers = _through(unit_name, sizes, layer_options)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)


class NotebookNetwork(ExtendedTorchModule):
    """x `(*runs, batch, input_size)` -> `(*runs, batch, 1)`: two layers of one unit."""

    def __init__(self, unit_name: str, input_size: int = 10, hidden_size: int = 2, **layer_options):
        super().__init__("network")
        self.unit_name = unit_name
        self.layer_1 = GeneralizedLayer(
            input_size, hidden_size, unit_name, name="layer_1", **layer_options
        )
        self.layer_2 = GeneralizedLayer(hidden_size, 1, unit_name, name="layer_2", **layer_options)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer_2(self.layer_1(x))


class ComparisonNetwork(ExtendedTorchModule):
    """x `(*runs, batch, 2)` -> a probability, `(*runs, batch, 1)`.

    An NSR gives one itself. Others are two layers, of a unit or dense ones with an activation
    between them, and a sigmoid.
    """

    def __init__(self, unit_name: str, hidden_size: int = 10, **layer_options):
        super().__init__("network")
        self.unit_name = unit_name
        self.squashes = unit_name != "NSR"
        sizes = [2, hidden_size, 1] if self.squashes else [2, 1]
        self.layers = _through(unit_name, sizes, layer_options)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.layers(x)
        return torch.sigmoid(y) if self.squashes else y


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
