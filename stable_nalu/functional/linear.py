"""The affine map of a layer, with the rounding of torch's own linear layer."""

from __future__ import annotations

import torch


def linear(x: torch.Tensor, W: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
    """x W^T + bias: x `(*runs, batch, in)`, W `(*runs, out, in)`, bias `(*runs, out)`.

    The bias takes part in the matrix product, which rounds once less than adding it afterwards.
    """
    if bias is None:
        return x @ W.mT
    if W.ndim == 2:
        return torch.nn.functional.linear(x, W, bias)
    runs = W.shape[:-2]
    x = x.expand(*runs, *x.shape[-2:]).flatten(0, -3)
    y = torch.baddbmm(bias.flatten(0, -2).unsqueeze(-2), x, W.flatten(0, -3).mT)
    return y.unflatten(0, runs)
