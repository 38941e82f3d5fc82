"""NAU, the Neural Addition Unit."""

from __future__ import annotations

from typing import Any

import torch

from stable_nalu.functional import linear, var_over
from stable_nalu.functional.initialization import nau_bound
from stable_nalu.papers import MADSEN_2020

from .base import recurrent
from .ranged_weight import RangedWeightLayer
from .registry import register


class NAUBase(RangedWeightLayer):
    """The sum over a clamped weight `W`, which subclasses own."""

    def __init__(
        self, in_features: int, out_features: int, *, nau_noise: bool = False, **options: Any
    ):
        super().__init__(in_features, out_features, **options)
        self.nau_noise = nau_noise

    def weights(self) -> torch.Tensor:
        return self.W.clamp(*self.weight_range)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        W = self.weights()
        if not (self.nau_noise and self.training):
            self.record_input(x)
            return linear(x, W)
        amplitude = 1 / var_over(x.detach(), 2)
        noise = self.random.uniform(x.shape[-2:], -amplitude, amplitude, like=x)
        x = x + noise
        self.record_input(x)
        return x @ W.mT - noise @ W.mT


class NAULayer(NAUBase):
    r"""Add and subtract inputs with weights in {-1, 0, 1}: the NAU of Madsen & Johansen (2020,
    arXiv:2001.05016).

        y_o = sum_i W'_oi x_i,    W' = clamp(W, -1, 1)

    Shapes: x (*runs, batch, in), W (*runs, out, in), y (*runs, batch, out).

    `nau_noise` adds U(-a, a), a = 1 / var(x), to the input in training and takes its image from the
    output again: value and gradients are those of the plain layer up to rounding. `beta_nau` draws
    the initial weights from 2 Beta(7, 7) - 1 instead of a uniform distribution.

    Departs from the paper: no. Departs from the published code: W' is clamped with `nac_oob` "clip"
    too, as there; the noise does not change the caller's tensor in place.
    """

    follows_robustness_logging = True

    def __init__(
        self, in_features: int, out_features: int, *, beta_nau: bool = False, **options: Any
    ):
        super().__init__(in_features, out_features, **options)
        self.beta_nau = beta_nau
        self.W = torch.nn.Parameter(torch.empty(out_features, in_features))

    def reset_parameters(self) -> None:
        nau_init_(self.W, self.beta_nau)
        self._z.reset()


def nau_init_(W: torch.Tensor, beta_nau: bool) -> None:
    """Initialise as NAU: uniform within the bound, or 2 Beta(7, 7) - 1."""
    if beta_nau:
        seven = torch.tensor([7.0], dtype=W.dtype)
        sample = torch.distributions.Beta(seven, seven).sample(W.shape[-2:]).squeeze(-1)
        with torch.no_grad():
            W.copy_(2 * sample - 1)
    else:
        bound = nau_bound(W.shape[-1], W.shape[-2])
        torch.nn.init.uniform_(W, -bound, bound)


NAUCell = recurrent(NAULayer)

ENTRY = register(
    key="ReRegualizedLinearNAC",
    paper_name="NAU",
    latex=r"\mathrm{NAU}",
    cites=MADSEN_2020,
    layer=NAULayer,
    cell=NAUCell,
)
