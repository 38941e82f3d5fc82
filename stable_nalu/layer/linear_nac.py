"""LinearNAC, a bare linear map."""

from __future__ import annotations

from typing import Any

import torch

from stable_nalu.abstract import Observation
from stable_nalu.abstract.observation import weight_observations
from stable_nalu.functional.initialization import xavier_bound
from stable_nalu.papers import MADSEN_2020

from .base import Layer, recurrent
from .registry import register


class LinearNACLayer(Layer):
    r"""Map inputs linearly, without bias, range or penalty: the unconstrained baseline of the NAC
    (Madsen & Johansen 2020, published code).

        y_o = sum_i W_oi x_i

    Shapes: x (*runs, batch, in), W (*runs, out, in), y (*runs, batch, out).

    Departs from the paper: it is not in the paper. Departs from the published code: no.
    """

    def __init__(self, in_features: int, out_features: int, **options: Any):
        super().__init__(in_features, out_features, **options)
        self.W = torch.nn.Parameter(torch.empty(out_features, in_features))

    def reset_parameters(self) -> None:
        bound = xavier_bound(self.in_features, self.out_features)
        torch.nn.init.uniform_(self.W, -bound, bound)

    def weights(self) -> torch.Tensor:
        """Return the effective weight W."""
        return self.W

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x @ self.W.mT

    def observations(self) -> list[Observation]:
        return weight_observations("W", self.weights, text_always=True, sparsity=False)


LinearNACCell = recurrent(LinearNACLayer)

ENTRY = register(
    key="LinearNAC",
    paper_name="Linear NAC",
    latex=r"\mathrm{NAC}_\mathrm{linear}",
    cites=MADSEN_2020,
    layer=LinearNACLayer,
    tier="extra",
)
