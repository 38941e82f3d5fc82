"""MulMCFC, the mass-conserving fully connected layer in log space."""

from __future__ import annotations

from typing import Any

import torch

from stable_nalu.abstract import Observation
from stable_nalu.papers import HOEDT_2021

from .base import Layer
from .mcfc import MCFullyConnected, text_and_sparsity
from .registry import register


class MulMCFC(Layer):
    r"""Multiply positive inputs (Mistry et al. 2022, arXiv:2101.09530); it is the base of the
    versions that treat signs.

        y_o = exp(bias_o + c_o sum_i J_io log x_i)

    with gate c and junction J of the MCFC.
    Shapes: x (*runs, batch, in), bias (*runs, out), J (*runs, in, out), y (*runs, batch, out).

    A negative input gives NaN, an input of zero gives zero. Tags of the inner MCFC stand beside
    those of this layer, not below them.

    Departs from the published code: no.
    """

    default_name = "MulMCFC"

    def __init__(self, in_features: int, out_features: int, **options: Any):
        super().__init__(in_features, out_features, **options)
        self.mcfc = MCFullyConnected(in_features, out_features)
        self.mcfc.namespace_is_sibling = True
        self.bias = torch.nn.Parameter(torch.empty(out_features))

    def reset_parameters(self) -> None:
        self.mcfc.reset_parameters()
        torch.nn.init.zeros_(self.bias)

    def magnitude(self, x: torch.Tensor, J: torch.Tensor) -> torch.Tensor:
        """Return exp(MCFC(log x) + bias) for positive x, given J."""
        return torch.exp(self.mcfc.redistribute(x.log(), J) + self.bias.unsqueeze(-2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.magnitude(x, self.mcfc.junction())

    def observations(self) -> list[Observation]:
        return text_and_sparsity(
            "mulmcfc_bias", lambda: self.bias, ndim=1, text_always=self.robustness_logging
        )


ENTRY = register(
    key="MulMCFC",
    paper_name="MulMCFC",
    latex=r"\mathrm{MulMCFC}",
    cites=HOEDT_2021,
    layer=MulMCFC,
)
