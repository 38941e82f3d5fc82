r"""GatedSignNMRU — the NMRU with sign retrieval and a gate per input
(Mistry et al. 2022, arXiv:2110.05177).

    y_o = prod_j (W_oj |z_j| + 1 - W_oj) * cos(sum_j W_oj pi [z_j < 0])
    z_j = g_j [x, 1 / (x + eps)]_j

with W and g in [0, 1], and eps = 2^-23 in training and 0 in evaluation. The gate scales its input
before sign and magnitude are taken; it is not clamped here and a closed gate makes z zero, not
one. With `nmu_noise`, in training, |z| is multiplied by n ~ U(1, 5), undone as in the NMRU.

Shapes: x (*runs, batch, in), z (*runs, batch, 2 in), W (*runs, out, 2 in), g (*runs, 2 in),
y (*runs, batch, out).

Departs from the paper: no. Departs from the published code: `mnac_normalized`, which has no
effect there, is no option.
"""

from __future__ import annotations

import torch

from stable_nalu.abstract import Observation
from stable_nalu.abstract.observation import weight_observations
from stable_nalu.functional import Regualizer
from stable_nalu.papers import MISTRY_2022_DIVISION

from .nmru_sign import SignNMRUBase
from .registry import register

_GATE_RANGE = (0.0, 1.0)


class ConcatReciprocalNMUGatedSignRetrievalLayer(SignNMRUBase):
    """Multiplication and division of gated, signed inputs with weights in {0, 1}."""

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        nac_oob: str = "regualized",
        regualizer_shape: str = "squared",
        regualizer_z: float = 0,
        mnac_epsilon: float = 0,
        nmu_noise: bool = False,
        regualizer_gate: float = 0,
        name: str | None = None,
    ):
        super().__init__(
            "gated-nmru-sign",
            name,
            in_features,
            out_features,
            nac_oob=nac_oob,
            regualizer_shape=regualizer_shape,
            regualizer_z=regualizer_z,
            mnac_epsilon=mnac_epsilon,
            nmu_noise=nmu_noise,
        )
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
