"""SoftmaxNAC, a NAC whose weight is the mean of a choice between 1, -1 and 0."""

from __future__ import annotations

import math
from typing import Any

import torch

from stable_nalu.abstract import Observation
from stable_nalu.abstract.observation import weight_observations
from stable_nalu.functional.initialization import xavier_bound
from stable_nalu.functional.nac_weight import expected_sign
from stable_nalu.papers import MADSEN_2020

from .base import Layer, recurrent
from .registry import register


class SoftmaxNACLayer(Layer):
    r"""Add and subtract inputs with expected weights in (-1, 1) (Madsen & Johansen 2020, published
    code).

        y_o = sum_i W_oi x_i,    W = p_+ - p_-,    (p_+, p_-, p_0) = softmax([W_hat, 0])

    Shapes: x (*runs, batch, in), W_hat (*runs, out, in, 2), y (*runs, batch, out).

    Departs from the paper: it is not in the paper. Departs from the published code: it works in
    float64.
    """

    def __init__(self, in_features: int, out_features: int, **options: Any):
        super().__init__(in_features, out_features, **options)
        self.W_hat = torch.nn.Parameter(torch.empty(out_features, in_features, 2))
        # The logit of weight 0 is fixed, as a softmax has one degree of freedom less than logits.
        self.register_buffer("W_hat_k", torch.zeros(out_features, in_features, 1))

    def reset_parameters(self) -> None:
        # Xavier fans of a tensor (out, in, 2) count the last dimension on both sides.
        fans = 2 * self.in_features, 2 * self.out_features
        bound = xavier_bound(*fans, gain=math.sqrt(0.5))
        torch.nn.init.uniform_(self.W_hat, -bound, bound)

    def probabilities(self) -> torch.Tensor:
        """Return probabilities of the weights 1, -1 and 0: `(*runs, out, in, 3)`."""
        return torch.softmax(torch.cat((self.W_hat, self.W_hat_k), dim=-1), dim=-1)

    def weights(self) -> torch.Tensor:
        """Return the effective weight W."""
        return expected_sign(self.probabilities())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x @ self.weights().mT

    def observations(self) -> list[Observation]:
        return weight_observations("W", self.weights)


SoftmaxNACCell = recurrent(SoftmaxNACLayer)

ENTRY = register(
    key="SoftmaxNAC",
    paper_name="Softmax NAC",
    latex=r"\mathrm{NAC}_\mathrm{softmax}",
    cites=MADSEN_2020,
    layer=SoftmaxNACLayer,
    cell=SoftmaxNACCell,
    tier="extra",
)
