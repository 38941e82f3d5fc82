r"""PosNAC — a NAC with weights in (0, 1) (Madsen & Johansen 2020, arXiv:2001.05016).

    y_o = sum_i W_oi x_i,    W = sigmoid(W_hat)

Shapes: x (*runs, batch, in), W_hat (*runs, out, in), y (*runs, batch, out).

In log space, after a NAC, it is the paper's NAC with sigmoid weights for multiplication.

Departs from the published code: no.
"""

from __future__ import annotations

import math

import torch

from stable_nalu.abstract import ExtendedTorchModule, Observation
from stable_nalu.abstract.observation import weight_observations
from stable_nalu.papers import MADSEN_2020

from .recurrent_cell import RecurrentCell
from .registry import register


class PosNACLayer(ExtendedTorchModule):
    """Addition with weights in (0, 1)."""

    def __init__(self, in_features: int, out_features: int, *, name: str | None = None):
        super().__init__("nac", name)
        self.in_features = in_features
        self.out_features = out_features
        self.W_hat = torch.nn.Parameter(torch.empty(out_features, in_features))

    def reset_parameters(self) -> None:
        deviation = math.sqrt(2.0 / (self.in_features + self.out_features))
        torch.nn.init.normal_(self.W_hat, 0.0, deviation)

    def weights(self) -> torch.Tensor:
        """Return the effective weight W."""
        return torch.sigmoid(self.W_hat)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x @ self.weights().mT

    def observations(self) -> list[Observation]:
        return weight_observations("W", self.weights)


class PosNACCell(RecurrentCell):
    """Recurrent PosNAC."""

    Op = PosNACLayer


ENTRY = register(
    key="PosNAC",
    paper_name="PosNAC",
    latex=r"\mathrm{NAC}_{+,\sigma}",
    cites=MADSEN_2020,
    layer=PosNACLayer,
    cell=PosNACCell,
)
