"""Affine maps with a weight matrix per run."""

from __future__ import annotations

import torch


def linear(x: torch.Tensor, W: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
    """Return x W^T + bias, rounded as torch's own linear layer rounds it.

    Shapes: x `(*runs, batch, in)`, W `(*runs, out, in)`, bias `(*runs, out)`. The bias takes part
    in the matrix product, which rounds once less than adding it afterwards.
    """
    if W.ndim == 2:
        return x @ W.mT if bias is None else torch.nn.functional.linear(x, W, bias)
    if bias is None:
        return x @ W.mT
    runs = W.shape[:-2]
    x = x.expand(*runs, *x.shape[-2:]).flatten(0, -3)
    y = torch.baddbmm(bias.flatten(0, -2).unsqueeze(-2), x, W.flatten(0, -3).mT)
    return y.unflatten(0, runs)
