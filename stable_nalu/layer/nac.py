"""NAC, the Neural Accumulator."""

from __future__ import annotations

from typing import Any

import torch

from stable_nalu.abstract import Observation
from stable_nalu.abstract.observation import weight_observations
from stable_nalu.functional import RegualizerNAUZ, linear
from stable_nalu.functional import nac_weight as nac_weight_function
from stable_nalu.functional.initialization import nac_bound
from stable_nalu.papers import TRASK_2018

from .base import Layer, RecurrentCell
from .registry import register


class NACLayer(Layer):
    r"""Add and subtract inputs with weights in (-1, 1): the NAC of Trask et al. (2018,
    arXiv:1808.00508).

        y_o = sum_i W_oi x_i,    W = tanh(W_hat) * sigmoid(M_hat)

    Shapes: x (*runs, batch, in), W_hat, M_hat (*runs, out, in), y (*runs, batch, out).

    `nac_weight="golden-ratio"` uses the golden-ratio tanh and sigmoid (G-NALU).

    Departs from the paper: the initial range is the one that Madsen & Johansen (2020) derive.
    Departs from the published code: no.
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        regualizer_z: float = 0,
        nac_weight: str = "normal",
        **options: Any,
    ):
        super().__init__(in_features, out_features, **options)
        self.regualizer_z = regualizer_z
        self.nac_weight = nac_weight
        self._z = RegualizerNAUZ(zero=regualizer_z == 0)
        self.W_hat = torch.nn.Parameter(torch.empty(out_features, in_features))
        self.M_hat = torch.nn.Parameter(torch.empty(out_features, in_features))

    def reset_parameters(self) -> None:
        bound = nac_bound(self.in_features, self.out_features)
        torch.nn.init.uniform_(self.W_hat, -bound, bound)
        torch.nn.init.uniform_(self.M_hat, -bound, bound)

    def weights(self) -> torch.Tensor:
        """Return the effective weight W."""
        return nac_weight_function(self.W_hat, self.M_hat, self.nac_weight)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.allow_random:
            self._z.append_input(x)
        return linear(x, self.weights())

    def regualizer_terms(self):
        return {"z": None if self._z.is_zero else lambda: self._z(self.weights())}

    def after_step(self, loss: torch.Tensor) -> None:
        self._z.reset()

    def observations(self) -> list[Observation]:
        return weight_observations("W", self.weights)


class NACCell(RecurrentCell):
    """Add and subtract inputs and states, as in Trask et al. (2018, arXiv:1808.00508).

        h_t = layer([x_t, h_{t-1}])

    The layer is a `NACLayer`.
    """

    Op = NACLayer


ENTRY = register(
    key="NAC",
    paper_name="NAC",
    latex=r"\mathrm{NAC}_+",
    cites=TRASK_2018,
    layer=NACLayer,
    cell=NACCell,
)
