"""A recurrent cell made of any layer: h_t = layer([x_t, h_{t-1}])."""

from __future__ import annotations

from typing import Any, ClassVar

import torch

from stable_nalu.abstract import ExtendedTorchModule


class RecurrentCell(ExtendedTorchModule):
    """Subclasses name their `Op`, a layer class; options are those of the layer."""

    Op: ClassVar[type[Any]]

    def __init__(self, input_size: int, hidden_size: int, name: str | None = None, **options):
        super().__init__("recurrent", name)
        self.input_size = input_size
        self.hidden_size = hidden_size
        # The name is handed on to the layer: tags of published runs repeat it at each level.
        self.op: ExtendedTorchModule = self.Op(
            input_size + hidden_size, hidden_size, name=name, **options
        )

    def forward(self, x_t: torch.Tensor, h_tm1: torch.Tensor) -> torch.Tensor:
        return self.op(torch.cat((x_t, h_tm1), dim=-1))
