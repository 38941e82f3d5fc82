"""NPU, the Neural Power Unit."""

from __future__ import annotations

from typing import Any

import torch

from stable_nalu.abstract import Observation
from stable_nalu.abstract.observation import weight_observations
from stable_nalu.functional import Regualizer
from stable_nalu.functional.reductions import trailing
from stable_nalu.papers import HEIM_2020

from .npu_base import NPUBase
from .registry import register

_weight_penalty = Regualizer("npu", "W", "linear")


class NPULayer(NPUBase):
    r"""Multiply, divide and raise to powers, with complex weights: the NPU of Heim et al. (2020,
    arXiv:2006.01681).

        y_o = exp(sum_i Wr_io log r_i - Wi_io k_i) * cos(sum_i Wr_io k_i + Wi_io log r_i)
        r_i = g'_i (|x_i| + eps) + 1 - g'_i,    k_i = g'_i pi [x_i < 0],    g' = clamp(g, 0, 1)

    with Wr = W_real, Wi = W_im and eps = 2^-23: the real part of prod_i x_i^(Wr + j Wi), each input
    switched by its gate.

    Shapes: x (*runs, batch, in), W_real and W_im (*runs, in, out), g (*runs, in),
    y (*runs, batch, out). An input of zero counts as positive.

    `npu_clip="wig"` clamps W_im as well, and adds sum |W_im| to the penalty `W-NPU`.

    Departs from the paper: no. Departs from the published code: an unknown `npu_Wr_init` or
    `npu_clip` is an error.
    """

    default_name = "npu"
    clipped_by_wig = ("W_real", "W_im", "g")

    def __init__(self, in_features: int, out_features: int, **options: Any):
        super().__init__(in_features, out_features, **options)
        self.W_im = torch.nn.Parameter(torch.empty(in_features, out_features))
        self.W_real = torch.nn.Parameter(torch.empty(in_features, out_features))
        self.g = torch.nn.Parameter(torch.empty(in_features))

    def reset_parameters(self) -> None:
        torch.nn.init.zeros_(self.W_im)
        super().reset_parameters()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        r, k = self.polar(x)
        # Two logarithms: the order in which gradients of r are summed is part of the figures.
        log_magnitude = r.log() @ self.W_real - k @ self.W_im
        phase = k @ self.W_real + r.log() @ self.W_im
        return log_magnitude.exp() * phase.cos()

    def weight_penalty(self) -> torch.Tensor:
        penalty = _weight_penalty(self.W_real)
        if self.npu_clip != "wig":
            return penalty
        return penalty + self.W_im.abs().sum(trailing(2))

    def observations(self) -> list[Observation]:
        return super().observations() + weight_observations("W_im", lambda: self.W_im)


ENTRY = register(
    key="NPU",
    paper_name="NPU",
    latex=r"\mathrm{NPU}",
    cites=HEIM_2020,
    layer=NPULayer,
)
