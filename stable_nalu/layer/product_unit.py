"""The product unit of 1989."""

from __future__ import annotations

from typing import Any

import torch

from stable_nalu.functional import linear, sign_phase

from .base import WeightLayer

SMALLEST_INPUT = 1e-7


class ProductUnitLayer(WeightLayer):
    r"""Multiply inputs raised to learned powers: the product unit of Durbin & Rumelhart (1989,
    Neural Computation 1(1)).

        y_o = exp(sum_i W_oi log max(|x_i|, 1e-7)) * cos(sum_i W_oi pi [x_i < 0])

    the real part of prod_i x_i^W_oi. An input of zero counts as positive.

    Shapes: x (*runs, batch, in), W (*runs, out, in), y (*runs, batch, out).

    start: W starts from U(-start, start).

    Departs from the paper: not known in how weights start and what becomes of an input of zero.
    Summing units behind it are layers of their own.
    """

    default_name = "product-unit"

    def __init__(self, in_features: int, out_features: int, *, start: float = 0.5, **options: Any):
        super().__init__(in_features, out_features, **options)
        self.start = start
        self.W = torch.nn.Parameter(torch.empty(out_features, in_features))

    def reset_parameters(self) -> None:
        torch.nn.init.uniform_(self.W, -self.start, self.start)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        magnitude = linear(x.abs().clamp(min=SMALLEST_INPUT).log(), self.W).exp()
        return magnitude * torch.cos(linear(sign_phase(x), self.W))
