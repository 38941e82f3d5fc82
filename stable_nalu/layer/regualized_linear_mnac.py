"""RegualizedLinearMNAC, the NMU without a range."""

from __future__ import annotations

from typing import Any

import torch

from stable_nalu.abstract import Observation
from stable_nalu.abstract.observation import weight_observations
from stable_nalu.functional import Regualizer, mnac
from stable_nalu.functional.initialization import MNAC_BOUND
from stable_nalu.papers import MADSEN_2020

from .base import Layer, recurrent
from .nmu import normalized_mnac
from .registry import register


class RegualizedLinearMNACLayer(Layer):
    r"""Multiply inputs with unbounded weights and the NMU's penalty `W`: an ablation of Madsen &
    Johansen (2020, published code).

        y_o = prod_i (W_oi x_i + 1 - W_oi)

    Shapes: x (*runs, batch, in), W (*runs, out, in), y (*runs, batch, out).

    `mnac_normalized` takes the product of x / c and scales it back, c = std(x).

    Departs from the paper: it is not in the paper. Departs from the published code: that one cannot
    be built (a missing import); this is what it was meant to be. W is never clamped.
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        regualizer_shape: str = "squared",
        mnac_normalized: bool = False,
        **options: Any,
    ):
        super().__init__(in_features, out_features, **options)
        self.regualizer_shape = regualizer_shape
        self.mnac_normalized = mnac_normalized
        self.evaluates_rows_independently = not mnac_normalized
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


RegualizedLinearMNACCell = recurrent(RegualizedLinearMNACLayer)

ENTRY = register(
    key="RegualizedLinearMNAC",
    paper_name="NMU, W = W_hat",
    latex=r"\mathrm{NMU},\ \mathbf{W} = \mathbf{\hat{W}}",
    cites=MADSEN_2020,
    layer=RegualizedLinearMNACLayer,
    tier="extra",
)
