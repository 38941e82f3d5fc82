"""PosNAU, an NAU with the weight range of the NMU."""

from __future__ import annotations

import torch

from stable_nalu.functional import linear
from stable_nalu.papers import MADSEN_2020

from .base import recurrent
from .ranged_weight import UnitWeightLayer
from .registry import register


class PosNAULayer(UnitWeightLayer):
    r"""Add those inputs whose weight is 1 (Madsen & Johansen 2020, arXiv:2001.05016).

        y_o = sum_i W'_oi x_i,    W'_oi in [0, 1]

    Shapes: x (*runs, batch, in), W (*runs, out, in), y (*runs, batch, out).

    W' = clamp(W, mnac_epsilon, 1) with `nac_oob="regualized"`; with "clip" it is W itself, clamped
    after every step. Initial values and penalties are those of the NMU. In log space, after an NAU,
    it is the paper's NAC with NMU weights for multiplication.

    Departs from the published code: no.
    """

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.record_input(x)
        return linear(x, self.weights())


PosNAUCell = recurrent(PosNAULayer)

ENTRY = register(
    key="ReRegualizedLinearPosNAC",
    paper_name="PosNAU",
    latex=r"\mathrm{NAC}_{+,\mathrm{NMU}}",
    cites=MADSEN_2020,
    layer=PosNAULayer,
    cell=PosNAUCell,
)
