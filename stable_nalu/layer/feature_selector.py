"""FeatureSelector, a sum through stochastic gates."""

from __future__ import annotations

from typing import Any

import torch

from .base import Layer

_INITIAL_SCALE = 0.01


class FeatureSelector(Layer):
    r"""Add inputs that pass noisy gates: the stochastic gates of Yamada et al. (2020,
    arXiv:1810.04247).

        y_o = sum_i x_i gate_io,    gate = clamp(mu + sigma n + 0.5, 0, 1)

    with n ~ N(0, 1) in training and n = 0 in evaluation.
    Shapes: x (*runs, batch, in), mu (*runs, in, out), y (*runs, batch, out).

    It has no registry key: no task selects it by name.

    Departs from the paper: one gate for every pair of input and output instead of one per input.
    Departs from the published code: no numbers are drawn in evaluation.
    """

    default_name = "feature_selector"

    def __init__(self, in_features: int, out_features: int, *, sigma: float = 0.5, **options: Any):
        super().__init__(in_features, out_features, **options)
        self.sigma = sigma
        self.mu = torch.nn.Parameter(torch.empty(in_features, out_features))

    def reset_parameters(self) -> None:
        with torch.no_grad():
            self.mu.normal_().mul_(_INITIAL_SCALE)

    def gate(self) -> torch.Tensor:
        """Return the gates without noise."""
        return _hard_sigmoid(self.mu)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if not self.training:
            return x @ self.gate()
        noise = self.random.normal(self.mu.shape[-2:], like=self.mu)
        return x @ _hard_sigmoid(self.mu + self.sigma * noise)


def _hard_sigmoid(v):
    return (v + 0.5).clamp(0.0, 1.0)
