"""GatedSignNMRU, the NMRU with sign retrieval and a gate per input."""

from __future__ import annotations

from typing import Any

import torch

from stable_nalu.abstract import Observation
from stable_nalu.abstract.observation import weight_observations
from stable_nalu.functional import Regualizer
from stable_nalu.papers import MISTRY_2022_DIVISION

from .nmru_sign import SignNMRUBase
from .registry import register

_GATE_RANGE = (0.0, 1.0)


class ConcatReciprocalNMUGatedSignRetrievalLayer(SignNMRUBase):
    r"""Multiply and divide gated, signed inputs with weights in {0, 1}: the gated NMRU of Mistry et
    al. (2022, arXiv:2110.05177).

        y_o = prod_j (W_oj |z_j| + 1 - W_oj) * cos(sum_j W_oj pi [z_j < 0])
        z_j = g_j [x, 1 / (x + eps)]_j

    with W and g in [0, 1], and eps = 2^-23 in training and 0 in evaluation. The gate scales its
    input before sign and magnitude are taken. It is not clamped here, and a closed gate makes z
    zero, not one. `nmu_noise` multiplies |z| in training by n ~ U(1, 5) and undoes it as the NMRU.

    Shapes: x (*runs, batch, in), z (*runs, batch, 2 in), W (*runs, out, 2 in), g (*runs, 2 in),
    y (*runs, batch, out).

    Departs from the paper: no. Departs from the published code: `mnac_normalized`, which has no
    effect there, is no option.
    """

    default_name = "gated-nmru-sign"

    def __init__(
        self, in_features: int, out_features: int, *, regualizer_gate: float = 0, **options: Any
    ):
        super().__init__(in_features, out_features, **options)
        self.regualizer_gate = regualizer_gate
        self._gate_bias = Regualizer("mnac", "bias", "linear", zero=not regualizer_gate, ndim=1)
        self.g = torch.nn.Parameter(torch.empty(2 * in_features))

    def reset_parameters(self) -> None:
        super().reset_parameters()
        torch.nn.init.constant_(self.g, 0.5)

    def gate(self) -> torch.Tensor:
        """Return the effective gate: `(*runs, 2 in)`."""
        return self.g

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.signed_product(self.with_reciprocal(x) * self.gate().unsqueeze(-2))

    def regualizer_terms(self):
        gate_term = None if self._gate_bias.is_zero else lambda: self._gate_bias(self.g)
        return super().regualizer_terms() | {"g-NPU": gate_term}

    def parameter_bounds(self):
        return super().parameter_bounds() | ({"g": _GATE_RANGE} if self.nac_oob == "clip" else {})

    def observations(self) -> list[Observation]:
        return super().observations() + weight_observations("gate", self.gate, ndim=1)


ENTRY = register(
    key="GatedSignNMRU",
    paper_name="NMRU (gated)",
    latex=r"\mathrm{NMRU}_\mathrm{gated}",
    cites=MISTRY_2022_DIVISION,
    layer=ConcatReciprocalNMUGatedSignRetrievalLayer,
)
