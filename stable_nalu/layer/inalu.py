"""iNALU, the improved Neural Arithmetic Logic Unit."""

from __future__ import annotations

from typing import Any

import torch

from stable_nalu.abstract import Observation, weight_observations
from stable_nalu.functional import Regualizer, mean_over, mnac, sparsity_error

from .base import Layer

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

    def __init__(self, in_features: int, out_features: int, **options: Any):
        super().__init__(in_features, out_features, **options)
        self.W_a_hat = torch.nn.Parameter(torch.empty(in_features, out_features))
        self.M_a_hat = torch.nn.Parameter(torch.empty(in_features, out_features))
        self.W_m_hat = torch.nn.Parameter(torch.empty(in_features, out_features))
        self.M_m_hat = torch.nn.Parameter(torch.empty(in_features, out_features))
        self.g = torch.nn.Parameter(torch.empty(out_features))

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
