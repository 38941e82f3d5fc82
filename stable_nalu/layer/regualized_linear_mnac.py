r"""RegualizedLinearMNAC — the NMU's product with a penalty but no range, an ablation of Madsen &
Johansen (2020, published code).

    y_o = prod_i (W_oi x_i + 1 - W_oi)

Shapes: x (*runs, batch, in), W (*runs, out, in), y (*runs, batch, out).

`mnac_normalized` takes the product of x / c and scales it back, c = std(x).

Departs from the paper: it is not in the paper. Departs from the published code: that one cannot
be built (a missing import); this is what it was meant to be. W is never clamped.
"""

from __future__ import annotations

import torch

from stable_nalu.abstract import ExtendedTorchModule, Observation
from stable_nalu.abstract.observation import weight_observations
from stable_nalu.functional import Regualizer, mnac
from stable_nalu.functional.initialization import MNAC_BOUND
from stable_nalu.papers import MADSEN_2020

from .nmu import normalized_mnac
from .recurrent_cell import RecurrentCell
from .registry import register


class RegualizedLinearMNACLayer(ExtendedTorchModule):
    """Multiplication with unbounded weights and the NMU's sparsity penalty `W`."""

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        regualizer_shape: str = "squared",
        mnac_normalized: bool = False,
        name: str | None = None,
    ):
        super().__init__("nac", name)
        self.in_features = in_features
        self.out_features = out_features
        self.mnac_normalized = mnac_normalized
        self._bias = Regualizer("mnac", "bias", regualizer_shape)
        self.W = torch.nn.Parameter(torch.empty(out_features, in_features))

    def reset_parameters(self) -> None:
        torch.nn.init.uniform_(self.W, 0.5 - MNAC_BOUND, 0.5 + MNAC_BOUND)

    def weights(self) -> torch.Tensor:
        """Return the effective weight W."""
        return self.W

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return normalized_mnac(x, self.W) if self.mnac_normalized else mnac(x, self.W)

    def regualizer_terms(self):
        return {"W": None if self._bias.is_zero else lambda: self._bias(self.W)}

    def observations(self) -> list[Observation]:
        return weight_observations("W", self.weights)


class RegualizedLinearMNACCell(RecurrentCell):
    """Recurrent RegualizedLinearMNAC."""

    Op = RegualizedLinearMNACLayer


ENTRY = register(
    key="RegualizedLinearMNAC",
    paper_name="NMU, W = W_hat",
    latex=r"\mathrm{NMU},\ \mathbf{W} = \mathbf{\hat{W}}",
    cites=MADSEN_2020,
    layer=RegualizedLinearMNACLayer,
    tier="extra",
)
