r"""A step of an LSTM whose gates are added up elsewhere, and rows that go on.

    i, f, g, o = sigmoid, sigmoid, tanh, sigmoid of the gates
    c_t = f c + i g;   h_t = o tanh(c_t)

Shapes: gates (*runs, batch, 4 hidden), h and c (*runs, batch, hidden).
"""

from __future__ import annotations

import torch


def lstm_step(gates: torch.Tensor, c: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return h and c behind a step; `gates` is all that they add up, W h too."""
    write, keep, new, show = gates.chunk(4, dim=-1)
    c_t = torch.sigmoid(keep) * c + torch.sigmoid(write) * torch.tanh(new)
    return torch.sigmoid(show) * torch.tanh(c_t), c_t


def chosen(of_rows: torch.Tensor, rows: torch.Tensor | None) -> torch.Tensor:
    """Return some rows of each run."""
    if rows is None:
        return of_rows
    # A whole row at a time, in a seventh of the time in which numbers are gathered.
    found = of_rows.flatten(0, -2).index_select(0, _places(rows, of_rows.shape[-2]))
    return found.view(*rows.shape, of_rows.shape[-1])


def _places(rows: torch.Tensor, count: int) -> torch.Tensor:
    """Return where rows of runs are if these, `count` rows each, follow one another."""
    if rows.ndim == 1:
        return rows
    runs = rows.shape[:-1]
    starts = torch.arange(0, runs.numel() * count, count, device=rows.device)
    return (rows + starts.view(*runs, 1)).flatten()
