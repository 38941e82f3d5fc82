"""RealNPU, the Neural Power Unit with real weights."""

from __future__ import annotations

from typing import Any

import torch

from stable_nalu.functional import Regualizer
from stable_nalu.papers import HEIM_2020, MISTRY_2022_DIVISION

from .npu_base import NPUBase
from .registry import Variant, register

_WEIGHT_PENALTIES = {
    "W": Regualizer("npu", "W", "linear"),
    "bias": Regualizer("nac", "bias", "linear"),
}


class RealNPULayer(NPUBase):
    r"""Multiply, divide and raise to powers, with real weights: the RealNPU of Heim et al. (2020,
    arXiv:2006.01681).

        y_o = exp(sum_i W_io log r_i) * cos(sum_i W_io k_i)
        r_i = g'_i (|x_i| + eps) + 1 - g'_i,    k_i = g'_i pi [x_i < 0],    g' = clamp(g, 0, 1)

    with W = W_real and eps = 2^-23.

    Shapes: x (*runs, batch, in), W_real (*runs, in, out), g (*runs, in), y (*runs, batch, out).

    `realnpu_reg_type` is the form of the penalty `W-NPU`: W pulls the weights to -1 and 1, bias to
    -1, 0 and 1. `npu_clip="wig"` clips nothing, as in the published code.

    Departs from the paper: no. Departs from the published code: an unknown option value is an
    error.
    """

    default_name = "real_npu"
    follows_robustness_logging = True
    clipped_by_wig = ()

    def __init__(
        self, in_features: int, out_features: int, *, realnpu_reg_type: str = "W", **options: Any
    ):
        super().__init__(in_features, out_features, **options)
        if realnpu_reg_type not in _WEIGHT_PENALTIES:
            raise ValueError(f"realnpu_reg_type {realnpu_reg_type!r} is not W or bias")
        self.realnpu_reg_type = realnpu_reg_type
        self.W_real = torch.nn.Parameter(torch.empty(in_features, out_features))
        self.g = torch.nn.Parameter(torch.empty(in_features))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        r, k = self.polar(x)
        return (r.log() @ self.W_real).exp() * (k @ self.W_real).cos()

    def weight_penalty(self) -> torch.Tensor:
        return _WEIGHT_PENALTIES[self.realnpu_reg_type](self.W_real)


ENTRY = register(
    key="RealNPU",
    paper_name="RealNPU",
    latex=r"\mathrm{RealNPU}",
    cites=HEIM_2020,
    layer=RealNPULayer,
    variants=(
        Variant(
            "RealNPU (modified)",
            r"\mathrm{RealNPU}_\mathrm{mod}",
            {
                "npu_clip": "wg",
                "npu_Wr_init": "xavier-uniform-constrained",
                "regualizer_npu_w": 1,
                "regualizer_gate": 1,
            },
            MISTRY_2022_DIVISION,
        ),
    ),
)
