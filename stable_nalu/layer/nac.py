"""NAC, the Neural Accumulator, PosNAC and MNAC, which adds or multiplies with sigmoid weights."""

import math
from typing import ClassVar

import torch

from stable_nalu.functional import MNAC_BOUND, RegualizerNAUZ, linear, mnac, nac_bound
from stable_nalu.functional import nac_weight as nac_weight_function

from .base import WeightLayer


class NACLayer(WeightLayer):
    r"""Add and subtract inputs with weights in (-1, 1): the NAC of Trask et al. (2018,
    arXiv:1808.00508).

        y_o = sum_i W_oi x_i,    W = tanh(W_hat) * sigmoid(M_hat)

    Shapes: x (*runs, batch, in), W_hat, M_hat (*runs, out, in), y (*runs, batch, out).

    `nac_weight="golden-ratio"` uses the golden-ratio tanh and sigmoid (G-NALU).

    Departs from the paper: the initial range is the one that Madsen & Johansen (2020) derive.
    Departs from the published code: no.
    """

    option_defaults: ClassVar = {"regualizer_z": 0.0, "nac_weight": "normal"}

    def make_parameters(self) -> None:
        self._z = RegualizerNAUZ(zero=self.regualizer_z == 0)
        self.W_hat, self.M_hat = self.new_parameter(), self.new_parameter()

    def reset_parameters(self) -> None:
        bound = nac_bound(self.in_features, self.out_features)
        torch.nn.init.uniform_(self.W_hat, -bound, bound)
        torch.nn.init.uniform_(self.M_hat, -bound, bound)

    def weights(self) -> torch.Tensor:
        return nac_weight_function(self.W_hat, self.M_hat, self.nac_weight)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.allow_random:
            self._z.append_input(x)
        return linear(x, self.weights())

    def regualizer_terms(self):
        return {"z": None if self._z.is_zero else lambda: self._z(self.weights())}

    def after_step(self, loss: torch.Tensor) -> None:
        self._z.reset()


class SigmoidWeightLayer(WeightLayer):
    """A layer over weights in (0, 1): W = sigmoid(W_hat)."""

    def make_parameters(self) -> None:
        self.W_hat = self.new_parameter()

    def weights(self) -> torch.Tensor:
        return torch.sigmoid(self.W_hat)


class PosNACLayer(SigmoidWeightLayer):
    r"""Add inputs with weights in (0, 1) (Madsen & Johansen 2020, arXiv:2001.05016).

        y_o = sum_i W_oi x_i,    W = sigmoid(W_hat)

    Shapes: x (*runs, batch, in), W_hat (*runs, out, in), y (*runs, batch, out).

    In log space, after a NAC, it is the paper's NAC with sigmoid weights for multiplication.

    Departs from the published code: no.
    """

    def reset_parameters(self) -> None:
        deviation = math.sqrt(2.0 / (self.in_features + self.out_features))
        torch.nn.init.normal_(self.W_hat, 0.0, deviation)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return linear(x, self.weights())


class MNACLayer(SigmoidWeightLayer):
    r"""Multiply inputs with weights in (0, 1) (Madsen & Johansen 2020, published code).

        y_o = prod_i (W_oi x_i + 1 - W_oi),    W = sigmoid(W_hat)

    Shapes: x (*runs, batch, in), W_hat (*runs, out, in), y (*runs, batch, out).

    The single-module network gives the name `MNAC` another meaning: the NAC in log space.

    Departs from the published code: no.
    """

    def reset_parameters(self) -> None:
        torch.nn.init.uniform_(self.W_hat, -MNAC_BOUND, MNAC_BOUND)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return mnac(x, self.weights())
