"""GumbelNAC, a SoftmaxNAC with Gumbel-softmax noise in training."""

from __future__ import annotations

from typing import Any

import torch

from stable_nalu.abstract import Observation
from stable_nalu.abstract.observation import weight_observations
from stable_nalu.functional.nac_weight import expected_sign
from stable_nalu.functional.reductions import per_run
from stable_nalu.papers import MADSEN_2020

from .base import Layer, recurrent
from .registry import register

_SMALLEST_UNIFORM = 1e-10


class GumbelNACLayer(Layer):
    r"""Add and subtract inputs with noisy weights in (-1, 1) (Madsen & Johansen 2020, published
    code; Gumbel-softmax: Jang et al. 2017, arXiv:1611.01144).

        y_o = sum_i W_oi x_i,    W = q_+ - q_-

        q = softmax((log p - log(-log U)) / tau),    p = softmax([W_hat, 0]),    U ~ U(1e-10, 1)

    Without randomness, q = p. `set_parameter("tau", v)` cools the noise down during training.
    Shapes: x (*runs, batch, in), W_hat (*runs, out, in, 2), tau (*runs), y (*runs, batch, out).

    Departs from the paper: it is not in the paper. Departs from the published code: it works in
    float64 and on a GPU.
    """

    def __init__(self, in_features: int, out_features: int, **options: Any):
        super().__init__(in_features, out_features, **options)
        self.W_hat = torch.nn.Parameter(torch.empty(out_features, in_features, 2))
        self.register_buffer("W_hat_k", torch.zeros(out_features, in_features, 1))
        self.tau = torch.nn.Parameter(torch.ones(()), requires_grad=False)
        self._gumbel: torch.Tensor | None = None

    def reset_parameters(self) -> None:
        torch.nn.init.zeros_(self.W_hat)

    def log_probabilities(self) -> torch.Tensor:
        """Return log probabilities of 1, -1 and 0: `(*runs, out, in, 3)`."""
        return torch.log_softmax(torch.cat((self.W_hat, self.W_hat_k), dim=-1), dim=-1)

    def weights(self) -> torch.Tensor:
        """Return the expected weight, free of noise."""
        return expected_sign(self.log_probabilities().exp())

    def forward(self, x: torch.Tensor, reuse: bool = False) -> torch.Tensor:
        """Return y; `reuse` keeps the noise of the last forward pass."""
        if not self.allow_random:
            return x @ self.weights().mT
        logits = self.log_probabilities()
        gumbel = self._gumbel
        if gumbel is None or not reuse:
            u = self.random.uniform(logits.shape[-3:], _SMALLEST_UNIFORM, 1, like=logits)
            gumbel = self._gumbel = -torch.log(-torch.log(u))
        q = torch.softmax((logits + gumbel) / per_run(self.tau, 3), dim=-1)
        return x @ expected_sign(q).mT

    def observations(self) -> list[Observation]:
        return weight_observations("W", self.weights, text_always=True, sparsity=False)


GumbelNACCell = recurrent(GumbelNACLayer)

ENTRY = register(
    key="GumbelNAC",
    paper_name="Gumbel NAC",
    latex=r"\mathrm{NAC}_\mathrm{Gumbel}",
    cites=MADSEN_2020,
    layer=GumbelNACLayer,
    cell=GumbelNACCell,
    tier="extra",
)
