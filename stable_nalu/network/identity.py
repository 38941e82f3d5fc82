"""The scalar autoencoder of the NALU paper's first figure."""

from __future__ import annotations

import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.layer import GeneralizedLayer

from .dense import ACTIVATIONS, Dense


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
        layers: list[torch.nn.Module] = []
        for place, (size, width) in enumerate(zip(sizes, sizes[1:], strict=False), start=1):
            name = f"layer_{place}"
            if unit_name in ACTIVATIONS:
                activation = unit_name if place <= hidden_layers else "linear"
                layers.append(Dense(size, width, activation, name))
            else:
                unit = GeneralizedLayer(size, width, unit_name, name=name, **layer_options)
                layers.append(unit)
        self.layers = torch.nn.Sequential(*layers)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)
