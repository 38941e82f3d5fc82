"""MNAC, a multiplying NAC with sigmoid weights."""

from __future__ import annotations

from typing import Any

import torch

from stable_nalu.abstract import Observation
from stable_nalu.abstract.observation import weight_observations
from stable_nalu.functional import mnac
from stable_nalu.functional.initialization import MNAC_BOUND
from stable_nalu.papers import MADSEN_2020

from .base import Layer, recurrent
from .registry import register


class MNACLayer(Layer):
    r"""Multiply inputs with weights in (0, 1) (Madsen & Johansen 2020, published code).

        y_o = prod_i (W_oi x_i + 1 - W_oi),    W = sigmoid(W_hat)

    Shapes: x (*runs, batch, in), W_hat (*runs, out, in), y (*runs, batch, out).

    The single-module network gives the name `MNAC` another meaning: the NAC in log space.

    Departs from the published code: no.
    """

    def __init__(self, in_features: int, out_features: int, **options: Any):
        super().__init__(in_features, out_features, **options)
        self.W_hat = torch.nn.Parameter(torch.empty(out_features, in_features))

    def reset_parameters(self) -> None:
        torch.nn.init.uniform_(self.W_hat, -MNAC_BOUND, MNAC_BOUND)

    def weights(self) -> torch.Tensor:
        """Return the effective weight W."""
        return torch.sigmoid(self.W_hat)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return mnac(x, self.weights())

    def observations(self) -> list[Observation]:
        return weight_observations("W", self.weights)


MNACCell = recurrent(MNACLayer)

ENTRY = register(
    key="MNAC",
    paper_name="MNAC",
    latex=r"\mathrm{MNAC}",
    cites=MADSEN_2020,
    layer=MNACLayer,
    cell=MNACCell,
)
