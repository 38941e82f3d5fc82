"""iNALU, the improved NALU, and DMU, the Domain Mixed Unit: gates that no input moves."""

import math
from typing import ClassVar

import torch

from stable_nalu.abstract import Observation, weight_observations
from stable_nalu.functional import Regualizer, linear, mean_over, mnac, sign_phase, sparsity_error

from .base import Layer, WeightLayer

SMALLEST_INPUT = 1e-7
LARGEST_EXPONENT = 20.0
"""At which the exponent of a product is cut."""
_matrix_penalty = Regualizer("inalu", "bias", "linear")
_gate_penalty = Regualizer("inalu", "bias", "linear", ndim=1)


class INALULayer(Layer):
    r"""Compute all four operations, with separate weights to add and to multiply and a gate that no
    input moves: the iNALU of Schlör et al. (2020, arXiv:2003.07629).

        y_o = c_o a_o + (1 - c_o) m_o s_o,    c = sigmoid(g)
        a_o = sum_i A_io x_i,                 A = tanh(W_a_hat) sigmoid(M_a_hat)
        m_o = exp(min(sum_i M_io log max(|x_i|, 1e-7), 20))
        s_o = prod_i (|M_io| sign(x_i) + 1 - |M_io|),    M = tanh(W_m_hat) sigmoid(M_m_hat)

    Shapes: x (*runs, batch, in), the four hat matrices (*runs, in, out), g (*runs, out),
    y (*runs, batch, out).

    The penalty `inalu` pushes every parameter p away from zero: sum over the five parameters of
    mean relu(20 - |p|).

    Departs from the paper: no. Departs from the published code: the penalty has its gradient (as in
    nalm-benchmark, not in nalm-robust-nmu); float64 and a GPU work.
    """

    default_name = "inalu"

    def make_parameters(self) -> None:
        for name in ("W_a_hat", "M_a_hat", "W_m_hat", "M_m_hat"):
            setattr(self, name, self.new_parameter(self.in_features, self.out_features))
        self.g = self.new_parameter(self.out_features)

    def reset_parameters(self) -> None:
        for W_hat, M_hat in ((self.W_a_hat, self.M_a_hat), (self.W_m_hat, self.M_m_hat)):
            torch.nn.init.normal_(W_hat, 0.88, 0.2)
            torch.nn.init.normal_(M_hat, 0.5, 0.2)
        torch.nn.init.normal_(self.g, 0.0, 0.2)

    def add_weights(self) -> torch.Tensor:
        """Return the effective weight of the sum: `(*runs, in, out)`."""
        return torch.tanh(self.W_a_hat) * torch.sigmoid(self.M_a_hat)

    def mul_weights(self) -> torch.Tensor:
        """Return the effective weight of the product: `(*runs, in, out)`."""
        return torch.tanh(self.W_m_hat) * torch.sigmoid(self.M_m_hat)

    def gate(self) -> torch.Tensor:
        """Return the effective gate: `(*runs, out)`; 1 is the sum, 0 the product."""
        return torch.sigmoid(self.g)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        W_m = self.mul_weights()
        add = x @ self.add_weights()
        log_x = x.abs().clamp(min=SMALLEST_INPUT).log()
        mul = (log_x @ W_m).clamp(max=LARGEST_EXPONENT).exp()
        sign = mnac(torch.sign(x), W_m.abs().mT)
        gate = self.gate().unsqueeze(-2)
        if self.trace is not None:
            self.trace.update(add=add.detach(), mul=mul.detach(), sign=sign.detach())
        return gate * add + (1 - gate) * mul * sign

    def regualizer_terms(self):
        return {"inalu": self._distance_to_saturation}

    def _distance_to_saturation(self) -> torch.Tensor:
        matrices = (self.W_a_hat, self.M_a_hat, self.W_m_hat, self.M_m_hat)
        penalties = [_matrix_penalty(p) for p in matrices] + [_gate_penalty(self.g)]
        return torch.stack(penalties, dim=-1).sum(-1)

    def observations(self) -> list[Observation]:
        def mean_sparsity_error():
            return (sparsity_error(self.add_weights()) + sparsity_error(self.mul_weights())) / 2

        observed = weight_observations("W_a", self.add_weights)
        observed += weight_observations("W_m", self.mul_weights)
        observed += [
            Observation("scalar", "W/sparsity_error", mean_sparsity_error, verbose_only=False),
            # The text shows the raw parameter, everything else the gate: published logs do so.
            Observation("tensor", "gate", lambda: self.g),
            Observation("histogram", "gate", self.gate),
            Observation("scalar", "gate/mean", lambda: mean_over(self.gate(), 1)),
            Observation(
                "scalar",
                "gate/sparsity_error",
                lambda: sparsity_error(self.gate(), 1),
                verbose_only=False,
            ),
        ]
        traced = (self.trace or {}).items()
        return observed + [Observation("histogram", name, lambda v=v: v) for name, v in traced]


SMALLEST_FACTOR, SMALLEST_SQUARE, SIGN_WIDTH = 1e-11, 1e-8, 1e-4
LARGEST_LOGARITHM = math.log(1e6) - 1


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
    option_defaults: ClassVar = {
        "operands": "learned",
        "temperature": 0.1,
        "single_gate": False,
        "gate_smoothing": 0.0,
    }
    option_choices: ClassVar = {"operands": ("learned", "add", "sub")}

    def make_parameters(self) -> None:
        if not self.temperature > 0 or not 0 <= self.gate_smoothing < 0.5:
            raise ValueError("temperature has to be above 0, and gate_smoothing from 0 to 0.5")
        W = torch.ones(self.out_features, self.in_features)
        if self.operands == "learned":
            self.W = torch.nn.Parameter(W)
        else:
            W[:, 1:] = 1 if self.operands == "add" else -1
            self.register_buffer("W", W)
        self.G = self.new_parameter(self.out_features, *([] if self.single_gate else [2]))

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
        W, L = self.weights(), LARGEST_LOGARITHM
        g, h = (share.unsqueeze(-2) for share in self.shares())
        R = linear(x, W)
        Q = linear(x.abs().clamp(min=SMALLEST_FACTOR).log(), W).clamp(-L, L)
        sign = g * torch.tanh(R / SIGN_WIDTH) + h * torch.cos(linear(sign_phase(x), W.abs()))
        m = g * (R * R + SMALLEST_SQUARE).sqrt().log() + h * Q
        return sign * m.clamp(-L, L).exp()

    def observations(self) -> list[Observation]:
        def farthest() -> torch.Tensor:
            return torch.maximum(sparsity_error(self.W), sparsity_error(self.gate(), 1))

        observed = weight_observations("W", self.weights, sparsity=False)
        observed += weight_observations("gate", self.gate, ndim=1)
        return [*observed, Observation("scalar", "W/sparsity_error", farthest, verbose_only=False)]
