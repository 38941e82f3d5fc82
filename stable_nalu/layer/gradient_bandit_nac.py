"""GradientBanditNAC, a NAC whose weights are the arms of gradient bandits."""

from __future__ import annotations

from typing import Any

import torch

from stable_nalu.abstract import Observation
from stable_nalu.abstract.observation import weight_observations
from stable_nalu.functional.nac_weight import chosen_sign
from stable_nalu.functional.reductions import per_run
from stable_nalu.papers import MADSEN_2020

from .base import Layer, recurrent
from .registry import register

CHOICES = 3


class GradientBanditNACLayer(Layer):
    r"""Add and subtract with weights learned from the loss alone (Madsen & Johansen 2020, published
    code; gradient bandits: Sutton & Barto, Reinforcement Learning, section 2.8).

        y_o = sum_i W_oi x_i,    W_oi in {1, -1, 0} sampled from p = softmax(W_hat)

        after step t, with loss L:
            m <- beta m + (1 - beta) L
            W_hat <- W_hat + lr (m / (1 - beta^t) - L) (onehot(sample) - p)

    Without randomness, the most probable weight is used. Nothing is trained by gradients: `W_hat`
    is a buffer; `lr` and `running_mean_beta` can be changed with `set_parameter`. The first update
    is zero (up to rounding).
    Shapes: x (*runs, batch, in), W_hat (*runs, out, in, 3), L, m, t, lr, beta (*runs).

    Departs from the paper: it is not in the paper. Departs from the published code: L is detached
    (the same numbers, without a growing graph); works in float64 and on a GPU.
    """

    W_hat: torch.Tensor
    running_mean_iter: torch.Tensor
    running_mean_loss: torch.Tensor
    sample: torch.Tensor

    def __init__(self, in_features: int, out_features: int, **options: Any):
        super().__init__(in_features, out_features, **options)
        self.lr = torch.nn.Parameter(torch.full((), 1e-3), requires_grad=False)
        self.running_mean_beta = torch.nn.Parameter(torch.full((), 0.9), requires_grad=False)
        self.register_buffer("W_hat", torch.zeros(out_features, in_features, CHOICES))
        self.register_buffer("running_mean_iter", torch.zeros((), dtype=torch.int64))
        self.register_buffer("running_mean_loss", torch.zeros(()))
        sample = torch.zeros(out_features, in_features, dtype=torch.int64)
        self.register_buffer("sample", sample, persistent=False)

    def reset_parameters(self) -> None:
        for state in (self.W_hat, self.running_mean_iter, self.running_mean_loss):
            state.zero_()

    def probabilities(self) -> torch.Tensor:
        """Return probabilities of the weights 1, -1 and 0: `(*runs, out, in, 3)`."""
        return torch.softmax(self.W_hat, dim=-1)

    def weights(self) -> torch.Tensor:
        """Return the weights of the last sample or, without randomness, the most probable ones."""
        category = self.sample if self.allow_random else self.W_hat.argmax(-1)
        return chosen_sign(category, self.W_hat.dtype)

    def forward(self, x: torch.Tensor, reuse: bool = False) -> torch.Tensor:
        """Return y; `reuse` keeps the weights of the last forward pass."""
        if self.allow_random and not reuse:
            p = self.probabilities()
            self.sample = self.random.multinomial(p.shape[-3:], p)
        return x @ self.weights().mT

    def after_step(self, loss: torch.Tensor) -> None:
        beta = self.running_mean_beta
        self.running_mean_iter = self.running_mean_iter + 1
        self.running_mean_loss = beta * self.running_mean_loss + (1 - beta) * loss
        mean_loss = self.running_mean_loss / (1 - beta**self.running_mean_iter)
        chosen = torch.nn.functional.one_hot(self.sample, CHOICES)
        advantage = per_run(self.lr * (mean_loss - loss), 3)
        self.W_hat = self.W_hat + advantage * (chosen - self.probabilities())

    def observations(self) -> list[Observation]:
        return weight_observations("W", self.weights)


GradientBanditNACCell = recurrent(GradientBanditNACLayer)

ENTRY = register(
    key="GradientBanditNAC",
    paper_name="Gradient bandit NAC",
    latex=r"\mathrm{NAC}_\mathrm{bandit}",
    cites=MADSEN_2020,
    layer=GradientBanditNACLayer,
    cell=GradientBanditNACCell,
    tier="extra",
)
