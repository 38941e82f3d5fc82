"""PosNAC, a NAC with weights in (0, 1)."""

from __future__ import annotations

import math
from typing import Any

import torch

from stable_nalu.abstract import Observation
from stable_nalu.abstract.observation import weight_observations
from stable_nalu.functional import linear
from stable_nalu.papers import MADSEN_2020

from .base import Layer, recurrent
from .registry import register


class PosNACLayer(Layer):
    r"""Add inputs with weights in (0, 1) (Madsen & Johansen 2020, arXiv:2001.05016).

        y_o = sum_i W_oi x_i,    W = sigmoid(W_hat)

    Shapes: x (*runs, batch, in), W_hat (*runs, out, in), y (*runs, batch, out).

    In log space, after a NAC, it is the paper's NAC with sigmoid weights for multiplication.

    Departs from the published code: no.
    """

    def __init__(self, in_features: int, out_features: int, **options: Any):
        super().__init__(in_features, out_features, **options)
        self.W_hat = torch.nn.Parameter(torch.empty(out_features, in_features))

    def reset_parameters(self) -> None:
        deviation = math.sqrt(2.0 / (self.in_features + self.out_features))
        torch.nn.init.normal_(self.W_hat, 0.0, deviation)

    def weights(self) -> torch.Tensor:
        """Return the effective weight W."""
        return torch.sigmoid(self.W_hat)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return linear(x, self.weights())

    def observations(self) -> list[Observation]:
        return weight_observations("W", self.weights)


PosNACCell = recurrent(PosNACLayer)

ENTRY = register(
    key="PosNAC",
    paper_name="PosNAC",
    latex=r"\mathrm{NAC}_{+,\sigma}",
    cites=MADSEN_2020,
    layer=PosNACLayer,
    cell=PosNACCell,
)
