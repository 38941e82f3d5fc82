"""GumbelMNAC, the sigmoid product with Gumbel noise on its weights."""

from __future__ import annotations

from typing import Any

import torch

from stable_nalu.abstract import Observation
from stable_nalu.abstract.observation import weight_observations
from stable_nalu.functional import mnac
from stable_nalu.functional.reductions import per_run
from stable_nalu.papers import MADSEN_2020

from .base import Layer, recurrent
from .registry import register

_EPSILON = 1e-8


class GumbelMNACLayer(Layer):
    r"""Multiply inputs with noisy weights in (0, 1) (Madsen & Johansen 2020, published code).

        y_o = prod_i (W_oi x_i + 1 - W_oi),    W = sigmoid((W_hat + n) / tau)

        n = -log(1e-8 - log(U + 1e-8)),    U ~ U(0, 1)

    Without randomness, W = sigmoid(W_hat). `set_parameter("tau", v)` cools the noise down.
    Shapes: x (*runs, batch, in), W_hat (*runs, out, in), tau (*runs), y (*runs, batch, out).

    Departs from the paper: it is not in the paper. Departs from the published code: no. The cell,
    which cannot be built there, is the one over this layer.
    """

    def __init__(self, in_features: int, out_features: int, **options: Any):
        super().__init__(in_features, out_features, **options)
        self.W_hat = torch.nn.Parameter(torch.empty(out_features, in_features))
        self.tau = torch.nn.Parameter(torch.ones(()), requires_grad=False)

    def reset_parameters(self) -> None:
        torch.nn.init.zeros_(self.W_hat)

    def weights(self) -> torch.Tensor:
        """Return the expected weight, free of noise."""
        return torch.sigmoid(self.W_hat)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return mnac(x, self._noisy_weights() if self.allow_random else self.weights())

    def _noisy_weights(self):
        u = self.random.uniform(self.W_hat.shape[-2:], 0, 1, like=self.W_hat)
        noise = -torch.log(_EPSILON - torch.log(u + _EPSILON))
        return torch.sigmoid((self.W_hat + noise) / per_run(self.tau, 2))

    def observations(self) -> list[Observation]:
        return weight_observations("W", self.weights, text_always=True, sparsity=False)


GumbelMNACCell = recurrent(GumbelMNACLayer)

ENTRY = register(
    key="GumbelMNAC",
    paper_name="Gumbel MNAC",
    latex=r"\mathrm{MNAC}_\mathrm{Gumbel}",
    cites=MADSEN_2020,
    layer=GumbelMNACLayer,
    cell=GumbelMNACCell,
    tier="extra",
)
