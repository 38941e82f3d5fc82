r"""A step of an LSTM whose gates are added up elsewhere.

    i, f, g, o = sigmoid, sigmoid, tanh, sigmoid of the gates
    c_t = f c + i g;   h_t = o tanh(c_t)

Shapes: gates (batch, 4 hidden), h and c (batch, hidden).
"""

from __future__ import annotations

import torch


def lstm_step(gates: torch.Tensor, c: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return h and c behind a step; `gates` is all that they add up, W h too."""
    write, keep, new, show = gates.chunk(4, dim=-1)
    c_t = torch.sigmoid(keep) * c + torch.sigmoid(write) * torch.tanh(new)
    return torch.sigmoid(show) * torch.tanh(c_t), c_t
