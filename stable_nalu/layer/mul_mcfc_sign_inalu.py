"""MulMCFCSignINALU, the MulMCFC of magnitudes with the sign of the iNALU."""

from __future__ import annotations

import torch

from stable_nalu.functional import mnac
from stable_nalu.papers import HOEDT_2021

from .mul_mcfc import MulMCFC
from .registry import register


class MulMCFCSignINALU(MulMCFC):
    r"""Multiply signed inputs, with the sign by a product of mixed signs (Mistry et al. 2022,
    arXiv:2101.09530).

        y_o = exp(bias_o + c_o sum_i J_io log |x_i|) * prod_i (J_io sign(x_i) + 1 - J_io)

    with gate c and junction J of the MCFC.
    Shapes: x (*runs, batch, in), bias (*runs, out), J (*runs, in, out), y (*runs, batch, out).

    Departs from the published code: no.
    """

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        J = self.mcfc.junction()
        return self.magnitude(x.abs(), J) * mnac(torch.sign(x), J.mT)


ENTRY = register(
    key="MulMCFCSignINALU",
    paper_name="MulMCFC (sign: iNALU)",
    latex=r"\mathrm{MulMCFC}_\mathrm{iNALU}",
    cites=HOEDT_2021,
    layer=MulMCFCSignINALU,
)
