"""DMU, the Domain Mixed Unit."""

from __future__ import annotations

import math
from typing import Any

import torch

from stable_nalu.abstract import Observation, weight_observations
from stable_nalu.functional import linear, sign_phase, sparsity_error

from .base import WeightLayer

SMALLEST_INPUT, SMALLEST_SQUARE, SIGN_WIDTH = 1e-11, 1e-8, 1e-4
LARGEST_EXPONENT = math.log(1e6) - 1
OPERANDS = ("learned", "add", "sub")


class DMULayer(WeightLayer):
    r"""Add or multiply with one set of operands, subtract or divide with another: the DMU of Curry
    (2025, arXiv:2509.08180).

        y_o = s_o exp(m_o),    s_o = g_o tanh(R_o / 1e-4) + h_o cos(pi sum_i |W_oi| [x_i < 0])
        m_o = clip(g_o log(sqrt(R_o^2 + 1e-8)) + h_o Q_o),    R_o = sum_i W_oi x_i
        Q_o = clip(sum_i W_oi log max(|x_i|, 1e-11)),    (g_o, h_o) = softmax(G_o / T)

    with clip to [-L, L], L = log(1e6) - 1, so that |y| is at most 3.7e5.

    Shapes: x (*runs, batch, in), W (*runs, out, in), G (*runs, out, 2), y (*runs, batch, out).

    operands: `learned` from 0.5; or given, and not learned: `add`, all 1, for sums and products;
        `sub`, the first 1 and all others -1, for differences and quotients.
    temperature: T. single_gate: g = sigmoid(G / T) and h = 1 - g, with G (*runs, out).
    gate_smoothing: c, which keeps g and h away from 0: c + (1 - 2 c) g.

    All start values are fixed, so seeds differ in their data alone.

    Departs from the paper: T is 0.1, not 1, at which gates do not come close to 0 and 1 in the
    published number of steps; the paper's share of solved runs is of operands that are given.
    Departs from the published code: the last state of its branch param_g is followed, without
    normalisation of the operands, which for two of them keeps nothing but a sign; any number of
    inputs and outputs.
    """

    default_name = "dmu"

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        operands: str = "learned",
        temperature: float = 0.1,
        single_gate: bool = False,
        gate_smoothing: float = 0.0,
        **options: Any,
    ):
        super().__init__(in_features, out_features, **options)
        if operands not in OPERANDS:
            raise ValueError(f"operands {operands!r} is not one of {', '.join(OPERANDS)}")
        if not temperature > 0 or not 0 <= gate_smoothing < 0.5:
            raise ValueError("temperature has to be above 0, and gate_smoothing from 0 to 0.5")
        self.operands = operands
        self.temperature = temperature
        self.single_gate = single_gate
        self.gate_smoothing = gate_smoothing
        W = torch.ones(out_features, in_features)
        if operands == "learned":
            self.W = torch.nn.Parameter(W)
        else:
            W[:, 1:] = 1 if operands == "add" else -1
            self.register_buffer("W", W)
        shape = (out_features,) if single_gate else (out_features, 2)
        self.G = torch.nn.Parameter(torch.empty(shape))

    def reset_parameters(self) -> None:
        torch.nn.init.zeros_(self.G)
        if self.operands == "learned":
            torch.nn.init.constant_(self.W, 0.5)

    def shares(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the shares of the sum and of the product: `(*runs, out)` each."""
        G = self.G / self.temperature
        if self.single_gate:
            g = torch.sigmoid(G)
            h = 1 - g
        else:
            g, h = torch.softmax(G, -1).unbind(-1)
        c = self.gate_smoothing
        return (c + (1 - 2 * c) * g, c + (1 - 2 * c) * h) if c else (g, h)

    def gate(self) -> torch.Tensor:
        """Return the effective gate: `(*runs, out)`; 1 is the sum, 0 the product."""
        return self.shares()[0]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        W, L = self.weights(), LARGEST_EXPONENT
        g, h = (share.unsqueeze(-2) for share in self.shares())
        R = linear(x, W)
        Q = linear(x.abs().clamp(min=SMALLEST_INPUT).log(), W).clamp(-L, L)
        sign = g * torch.tanh(R / SIGN_WIDTH) + h * torch.cos(linear(sign_phase(x), W.abs()))
        m = g * (R * R + SMALLEST_SQUARE).sqrt().log() + h * Q
        return sign * m.clamp(-L, L).exp()

    def observations(self) -> list[Observation]:
        def farthest() -> torch.Tensor:
            return torch.maximum(sparsity_error(self.W), sparsity_error(self.gate(), 1))

        observed = weight_observations("W", self.weights, sparsity=False)
        observed += weight_observations("gate", self.gate, ndim=1)
        return [*observed, Observation("scalar", "W/sparsity_error", farthest, verbose_only=False)]
