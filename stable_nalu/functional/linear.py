"""Affine maps with a weight matrix per run, and a step of an LSTM that adds them up elsewhere."""

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


def lstm_step(gates: torch.Tensor, c: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return h and c behind a step; `gates` is all that they add up, W h too.

        i, f, g, o = sigmoid, sigmoid, tanh, sigmoid of the gates
        c_t = f c + i g;   h_t = o tanh(c_t)

    Shapes: gates (batch, 4 hidden), h and c (batch, hidden).
    """
    write, keep, new, show = gates.chunk(4, dim=-1)
    c_t = torch.sigmoid(keep) * c + torch.sigmoid(write) * torch.tanh(new)
    return torch.sigmoid(show) * torch.tanh(c_t), c_t
