"""MulMCFCSignRealNPU, the MulMCFC of magnitudes with the sign of the RealNPU."""

from __future__ import annotations

from typing import Any

import torch

from stable_nalu.abstract import Observation
from stable_nalu.functional import Regualizer
from stable_nalu.functional.log_space import sign_phase
from stable_nalu.papers import HOEDT_2021

from .mcfc import text_and_sparsity
from .mul_mcfc import MulMCFC
from .registry import register


class MulMCFCSignRealNPU(MulMCFC):
    r"""Multiply signed inputs, with the sign as the cosine of a gated phase (Mistry et al. 2022,
    arXiv:2101.09530).

        y_o = exp(bias_o + c_o sum_i J_io log |x_i|) * cos(sum_i J_io g'_i pi [x_i < 0])

    with g' = clamp(g, 0, 1), and gate c and junction J of the MCFC.
    Shapes: x (*runs, batch, in), bias (*runs, out), J (*runs, in, out), g (*runs, in),
    y (*runs, batch, out).

    Departs from the published code: no; g is not clamped after a step, as there.
    """

    def __init__(
        self, in_features: int, out_features: int, *, regualizer_gate: float = 0, **options: Any
    ):
        super().__init__(in_features, out_features, **options)
        self.regualizer_gate = regualizer_gate
        self._gate_bias = Regualizer("mnac", "bias", "linear", zero=not regualizer_gate, ndim=1)
        self.g = torch.nn.Parameter(torch.empty(in_features))

    def reset_parameters(self) -> None:
        super().reset_parameters()
        torch.nn.init.constant_(self.g, 0.5)

    def gate(self) -> torch.Tensor:
        """Return the effective gate of the phases: `(*runs, in)`."""
        return self.g.clamp(0.0, 1.0)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        J = self.mcfc.junction()
        phase = self.gate().unsqueeze(-2) * sign_phase(x)
        return self.magnitude(x.abs(), J) * torch.cos(phase @ J)

    def regualizer_terms(self):
        return {"g-NPU": None if self._gate_bias.is_zero else lambda: self._gate_bias(self.g)}

    def observations(self) -> list[Observation]:
        return super().observations() + text_and_sparsity(
            "mulmcfcsignrealnpu_g_hat", self.gate, ndim=1, text_always=self.robustness_logging
        )


ENTRY = register(
    key="MulMCFCSignRealNPU",
    paper_name="MulMCFC (sign: Real NPU)",
    latex=r"\mathrm{MulMCFC}_\mathrm{RealNPU}",
    cites=HOEDT_2021,
    layer=MulMCFCSignRealNPU,
)
