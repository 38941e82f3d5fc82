"""SigmoidNAU, a sum over inputs selected by a batch-normalised sigmoid mask."""

from __future__ import annotations

from typing import Any

import torch

from stable_nalu.functional import linear
from stable_nalu.papers import MISTRY_2022_DIVISION

from .base import Layer
from .registry import register


class RowNorm(torch.nn.Module):
    """torch's BatchNorm1d, with its names, for the rows of x `(*runs, rows, features)`."""

    eps = 1e-5
    momentum = 0.1
    running_mean: torch.Tensor
    running_var: torch.Tensor
    num_batches_tracked: torch.Tensor

    def __init__(self, features: int):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(features))
        self.bias = torch.nn.Parameter(torch.zeros(features))
        self.register_buffer("running_mean", torch.zeros(features))
        self.register_buffer("running_var", torch.ones(features))
        self.register_buffer("num_batches_tracked", torch.zeros((), dtype=torch.int64))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return x normalised by its own statistics in training, else by the running ones."""
        if self.training:
            mean, variance = x.mean(-2), x.var(-2, correction=0)
            self._track(x.detach())
        else:
            mean, variance = self.running_mean, self.running_var
        normal = (x - mean.unsqueeze(-2)) / torch.sqrt(variance + self.eps).unsqueeze(-2)
        return normal * self.weight.unsqueeze(-2) + self.bias.unsqueeze(-2)

    def _track(self, x: torch.Tensor) -> None:
        self.running_mean.lerp_(x.mean(-2), self.momentum)
        self.running_var.lerp_(x.var(-2), self.momentum)
        self.num_batches_tracked += 1


class SelectionBase(Layer):
    """Addition of inputs that `mask` selects: softly in training, else rounded to {0, 1}."""

    def reset_parameters(self) -> None:
        torch.nn.init.uniform_(self.W_logits, 0.25, 0.75)

    def hidden(self) -> torch.Tensor:
        """Return what the mask is made of: `(*runs, in, out)`."""
        return linear(self.W_logits, self.l1.weight, self.l1.bias)

    def mask(self) -> torch.Tensor:
        """Return the soft mask."""
        raise NotImplementedError

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        mask = self.mask()
        return x @ (mask if self.training else mask.round())

    def regualizer_terms(self):
        return {"z": None}


class SigmoidNAULayer(SelectionBase):
    r"""Add those inputs that a batch-normalised sigmoid mask selects (Mistry et al. 2022, published
    code).

        y_o = sum_i x_i mask_io,    mask = sigmoid(bn(W_logits l1.weight^T + l1.bias))

    `bn` normalises over the rows (inputs) of the mask: with their own mean and variance in
    training, with running ones in evaluation, where the mask is also rounded to {0, 1}.
    Shapes: x (*runs, batch, in), W_logits (*runs, in, out), l1.weight (*runs, out, out),
    l1.bias and all of bn (*runs, out), y (*runs, batch, out).

    The constructor draws l1 (it belongs to no later initialisation); `reset_parameters` draws
    W_logits.

    Departs from the paper: it is not in the paper. Departs from the published code: no. Its `z`
    penalty, taken of constant ones there, is always zero.
    """

    # In training mode every pass moves the running statistics, however few rows it has.
    evaluates_rows_independently = False

    def __init__(self, in_features: int, out_features: int, **options: Any):
        super().__init__(in_features, out_features, **options)
        if in_features < 2:
            raise ValueError("SigmoidNAU normalises over its inputs and needs at least 2")
        self.bn = RowNorm(out_features)
        # Holds parameters and draws them; its own forward pass knows no run dimensions.
        self.l1 = torch.nn.Linear(out_features, out_features)
        self.W_logits = torch.nn.Parameter(torch.empty(in_features, out_features))

    def mask(self) -> torch.Tensor:
        """Return the soft mask; in training this moves running statistics, as batch norm does."""
        return torch.sigmoid(self.bn(self.hidden()))


ENTRY = register(
    key="SigmoidNAU",
    paper_name="Sigmoid NAU",
    latex=r"\mathrm{NAU}_\sigma",
    cites=MISTRY_2022_DIVISION,
    layer=SigmoidNAULayer,
    tier="extra",
)
