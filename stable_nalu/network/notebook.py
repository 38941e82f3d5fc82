"""The two layers of the notebook's addition."""

from __future__ import annotations

import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.layer import GeneralizedLayer


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
