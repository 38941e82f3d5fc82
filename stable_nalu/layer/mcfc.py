"""MCFC, the mass-conserving fully connected layer, and MulMCFC, the MCFC in log space."""

from functools import partial
from typing import ClassVar

import torch

from stable_nalu.abstract import Observation, weight_observations
from stable_nalu.functional import Regualizer, mean_over, mnac, sign_phase

from .base import Layer

text_and_sparsity = partial(weight_observations, histogram=False)


@torch.no_grad()
def orthogonal_(W: torch.Tensor) -> None:
    """Initialise with orthonormal rows or columns; torch needs at least 32 bits to find them."""
    wide = torch.empty_like(W, dtype=torch.promote_types(W.dtype, torch.float32))
    W.copy_(torch.nn.init.orthogonal_(wide))


class OutGate(torch.nn.Module):
    """A gate on each output, by the weights of a linear map of the constant 1."""

    def __init__(self, out_features: int):
        super().__init__()
        self.fc = torch.nn.Linear(1, out_features)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        orthogonal_(self.fc.weight)
        torch.nn.init.zeros_(self.fc.bias)

    def forward(self) -> torch.Tensor:
        # Not `self.fc(1)`: weight and bias may lead with run dimensions.
        return torch.sigmoid(self.fc.weight.squeeze(-1) + self.fc.bias)


class Junction(torch.nn.Module):
    """Shares of every input among the outputs; the rows of J sum to 1."""

    def __init__(self, in_features: int, out_features: int):
        super().__init__()
        self.r = torch.nn.Parameter(torch.empty(in_features, out_features))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        if self.r.shape[-2] == self.r.shape[-1]:
            torch.nn.init.eye_(self.r)
        else:
            orthogonal_(self.r)

    def forward(self) -> torch.Tensor:
        return torch.softmax(self.r, dim=-1)


class MCFullyConnected(Layer):
    r"""Add inputs and conserve, up to a gate, their sum: the MCFC of Hoedt et al. (2021,
    arXiv:2101.05186), as an arithmetic module in Mistry et al. (2022, arXiv:2101.09530).

        y_o = c_o sum_i J_io x_i,    c = sigmoid(w + b),    J = softmax of r over outputs

    Shapes: x (*runs, batch, in), junction.r (*runs, in, out), out_gate.fc.weight = w
    (*runs, out, 1), out_gate.fc.bias = b (*runs, out), y (*runs, batch, out).

    Each input is shared out completely by J; the gate lets part of it go. With one output J is 1
    whatever r is. The penalty `W` = -mean r^2 - mean w^2 - mean b^2 is negative: it rewards large
    parameters.

    Departs from the paper: the gate has no input. Departs from the published code: no; the
    constructor draws random numbers, as there.
    """

    default_name = "MCFC"

    def make_parameters(self) -> None:
        self.out_gate = OutGate(self.out_features)
        self.junction = Junction(self.in_features, self.out_features)

    def reset_parameters(self) -> None:
        self.out_gate.reset_parameters()
        self.junction.reset_parameters()

    def redistribute(self, x: torch.Tensor, J: torch.Tensor) -> torch.Tensor:
        """Return the layer's output, given J = `self.junction()`."""
        return self.out_gate().unsqueeze(-2) * (x @ J)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.redistribute(x, self.junction())

    def regualizer_terms(self):
        return {"W": self._unsaturation}

    def _unsaturation(self) -> torch.Tensor:
        fc = self.out_gate.fc
        return (
            -mean_over(self.junction.r**2, 2)
            - mean_over(fc.weight**2, 2)
            - mean_over(fc.bias**2, 1)
        )

    def observations(self) -> list[Observation]:
        text_always = self.robustness_logging
        return text_and_sparsity(
            "mcfc_junction", lambda: self.junction().unsqueeze(-3), ndim=3, text_always=text_always
        ) + text_and_sparsity("mcfc_out_gate", self.out_gate, ndim=1, text_always=text_always)


class MulMCFC(Layer):
    r"""Multiply positive inputs (Mistry et al. 2022, arXiv:2101.09530); it is the base of the
    versions that treat signs.

        y_o = exp(bias_o + c_o sum_i J_io log x_i)

    with gate c and junction J of the MCFC.
    Shapes: x (*runs, batch, in), bias (*runs, out), J (*runs, in, out), y (*runs, batch, out).

    A negative input gives NaN, an input of zero gives zero. Tags of the inner MCFC stand beside
    those of this layer, not below them.

    Departs from the published code: no.
    """

    default_name = "MulMCFC"

    def make_parameters(self) -> None:
        self.mcfc = MCFullyConnected(self.in_features, self.out_features)
        self.mcfc.namespace_is_sibling = True
        self.bias = self.new_parameter(self.out_features)

    def reset_parameters(self) -> None:
        self.mcfc.reset_parameters()
        torch.nn.init.zeros_(self.bias)

    def magnitude(self, x: torch.Tensor, J: torch.Tensor) -> torch.Tensor:
        """Return exp(MCFC(log x) + bias) for positive x, given J."""
        return torch.exp(self.mcfc.redistribute(x.log(), J) + self.bias.unsqueeze(-2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.magnitude(x, self.mcfc.junction())

    def observations(self) -> list[Observation]:
        return text_and_sparsity(
            "mulmcfc_bias", lambda: self.bias, ndim=1, text_always=self.robustness_logging
        )


class MulMCFCSignINALU(MulMCFC):
    r"""Multiply signed inputs, with the sign by a product of mixed signs (Mistry et al. 2022,
    arXiv:2101.09530).

        y_o = exp(bias_o + c_o sum_i J_io log |x_i|) * prod_i (J_io sign(x_i) + 1 - J_io)

    with gate c and junction J of the MCFC.
    Shapes: x (*runs, batch, in), bias (*runs, out), J (*runs, in, out), y (*runs, batch, out).

    Departs from the published code: no.
    """

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        J = self.mcfc.junction()
        return self.magnitude(x.abs(), J) * mnac(torch.sign(x), J.mT)


class MulMCFCSignRealNPU(MulMCFC):
    r"""Multiply signed inputs, with the sign as the cosine of a gated phase (Mistry et al. 2022,
    arXiv:2101.09530).

        y_o = exp(bias_o + c_o sum_i J_io log |x_i|) * cos(sum_i J_io g'_i pi [x_i < 0])

    with g' = clamp(g, 0, 1), and gate c and junction J of the MCFC.
    Shapes: x (*runs, batch, in), bias (*runs, out), J (*runs, in, out), g (*runs, in),
    y (*runs, batch, out).

    Departs from the published code: no; g is not clamped after a step, as there.
    """

    option_defaults: ClassVar = {"regualizer_gate": 0.0}

    def make_parameters(self) -> None:
        super().make_parameters()
        off = not self.regualizer_gate
        self._gate_bias = Regualizer("mnac", "bias", "linear", zero=off, ndim=1)
        self.g = self.new_parameter(self.in_features)

    def reset_parameters(self) -> None:
        super().reset_parameters()
        torch.nn.init.constant_(self.g, 0.5)

    def gate(self) -> torch.Tensor:
        """Return the effective gate of the phases: `(*runs, in)`."""
        return self.g.clamp(0.0, 1.0)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        J = self.mcfc.junction()
        phase = self.gate().unsqueeze(-2) * sign_phase(x)
        return self.magnitude(x.abs(), J) * torch.cos(phase @ J)

    def regualizer_terms(self):
        return {"g-NPU": None if self._gate_bias.is_zero else lambda: self._gate_bias(self.g)}

    def observations(self) -> list[Observation]:
        return super().observations() + text_and_sparsity(
            "mulmcfcsignrealnpu_g_hat", self.gate, ndim=1, text_always=self.robustness_logging
        )
