r"""SigmoidNAU — a sum over inputs selected by a batch-normalised sigmoid mask (Mistry et al. 2023,
published code).

    y_o = sum_i x_i mask_io,    mask = sigmoid(bn(W_logits l1.weight^T + l1.bias))

`bn` normalises over the rows (inputs) of the mask: with their own mean and variance in training,
with running ones in evaluation, where the mask is also rounded to {0, 1}.
Shapes: x (*runs, batch, in), W_logits (*runs, in, out), l1.weight (*runs, out, out),
l1.bias and all of bn (*runs, out), y (*runs, batch, out).

The constructor draws l1 (it belongs to no later initialisation); `reset_parameters` draws W_logits.

Departs from the paper: it is not in the paper. Departs from the published code: no. Its `z`
penalty, taken of constant ones there, is always zero.
"""

from __future__ import annotations

import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.functional import linear

from .registry import MISTRY_2023_DIVISION, register


class SigmoidNAULayer(ExtendedTorchModule):
    """Addition of selected inputs."""

    # In training mode every pass moves the running statistics, however few rows it has.
    evaluates_rows_independently = False

    def __init__(self, in_features: int, out_features: int, *, name: str | None = None):
        super().__init__("nac", name)
        if in_features < 2:
            raise ValueError("SigmoidNAU normalises over its inputs and needs at least 2")
        self.in_features = in_features
        self.out_features = out_features
        # Used as holders of parameters, initial values and names; their own forward passes know
        # no run dimensions.
        self.bn = torch.nn.BatchNorm1d(out_features)
        self.l1 = torch.nn.Linear(out_features, out_features)
        self.W_logits = torch.nn.Parameter(torch.empty(in_features, out_features))

    def reset_parameters(self) -> None:
        torch.nn.init.uniform_(self.W_logits, 0.25, 0.75)

    def mask(self) -> torch.Tensor:
        """Soft mask; in training this moves the running statistics, as batch norm does."""
        hidden = linear(self.W_logits, self.l1.weight, self.l1.bias)
        mean, variance = self._statistics(hidden)
        deviation = torch.sqrt(variance + self.bn.eps).unsqueeze(-2)
        normal = (hidden - mean.unsqueeze(-2)) / deviation
        return torch.sigmoid(normal * self.bn.weight.unsqueeze(-2) + self.bn.bias.unsqueeze(-2))

    def _statistics(self, hidden):
        bn = self.bn
        if not self.training:
            return bn.running_mean, bn.running_var
        mean, variance = hidden.mean(-2), hidden.var(-2, correction=0)
        with torch.no_grad():
            bn.num_batches_tracked += 1
            bn.running_mean.lerp_(mean, bn.momentum)
            bn.running_var.lerp_(hidden.var(-2), bn.momentum)
        return mean, variance

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        mask = self.mask()
        return x @ (mask if self.training else mask.round())

    def regualizer_terms(self):
        return {"z": None}

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}"


ENTRY = register(
    key="SigmoidNAU",
    paper_name="Sigmoid NAU",
    latex=r"\mathrm{NAU}_\sigma",
    cites=MISTRY_2023_DIVISION,
    layer=SigmoidNAULayer,
    tier="extra",
)
