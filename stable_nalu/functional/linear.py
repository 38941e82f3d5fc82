"""Affine maps: one weight matrix per run, or one per sample."""

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


def batch_linear(x: torch.Tensor, W: torch.Tensor, b: torch.Tensor | None = None) -> torch.Tensor:
    """Map x `(*runs, batch, in)` by a matrix per sample, W `(*runs, batch, out, in)`."""
    if x.shape[-1] != W.shape[-1] or x.shape[-2] != W.shape[-3]:
        raise ValueError(f"x of shape {tuple(x.shape)} does not fit W of shape {tuple(W.shape)}")
    y = (W @ x.unsqueeze(-1)).squeeze(-1)
    return y if b is None else y + b
