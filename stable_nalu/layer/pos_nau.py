r"""PosNAU — an NAU with the weight range of the NMU (Madsen & Johansen 2020, arXiv:2001.05016).

    y_o = sum_i W'_oi x_i,    W'_oi in [0, 1]

Shapes: x (*runs, batch, in), W (*runs, out, in), y (*runs, batch, out).

W' = clamp(W, mnac_epsilon, 1) with `nac_oob="regualized"`; with "clip" W itself, clamped after
every step. Initial values and penalties are those of the NMU. In log space, after an NAU, it is
the paper's NAC with NMU weights for multiplication.

Departs from the published code: no.
"""

from __future__ import annotations

import torch

from stable_nalu.functional import RegualizerNMUZ
from stable_nalu.papers import MADSEN_2020

from .nmu import nmu_init_
from .ranged_weight import RangedWeightLayer
from .recurrent_cell import RecurrentCell
from .registry import register


class PosNAULayer(RangedWeightLayer):
    """Addition with weights in {0, 1}."""

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        nac_oob: str = "regualized",
        regualizer_shape: str = "squared",
        regualizer_z: float = 0,
        mnac_epsilon: float = 0,
        name: str | None = None,
    ):
        super().__init__(
            "nac",
            name,
            in_features,
            out_features,
            support="mnac",
            weight_range=(mnac_epsilon, 1.0),
            regualizer_z_class=RegualizerNMUZ,
            nac_oob=nac_oob,
            regualizer_shape=regualizer_shape,
            regualizer_z=regualizer_z,
        )
        self.W = torch.nn.Parameter(torch.empty(out_features, in_features))

    def reset_parameters(self) -> None:
        nmu_init_(self.W)
        self._z.reset()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.record_input(x)
        return x @ self.weights().mT


class PosNAUCell(RecurrentCell):
    """Recurrent PosNAU."""

    Op = PosNAULayer


ENTRY = register(
    key="ReRegualizedLinearPosNAC",
    paper_name="PosNAU",
    latex=r"\mathrm{NAC}_{+,\mathrm{NMU}}",
    cites=MADSEN_2020,
    layer=PosNAULayer,
    cell=PosNAUCell,
)
