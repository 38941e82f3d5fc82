r"""An LSTM that acts while it runs: one step of it, and gradients through all steps at once.

    i, f, g, o = sigmoid, sigmoid, tanh, sigmoid of the gates
    c_t = f c + i g;   h_t = o tanh(c_t)

What a player sees next depends on what it did, so that steps run one by one; what it has seen is
known afterwards, so that learning needs no recorded operations. Sequences that have ended may be
left out of later steps. Gradients are those of autograd up to rounding.

Shapes: gates (*runs, batch, 4 hidden), h and c (*runs, batch, hidden), W (*runs, 4 hidden, hidden).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch


class Passed(NamedTuple):
    """A step that was run.

    gates: activated. h_before, c_before: the state before it. h: behind it. rows: which rows of
    the step before these are, (*runs, batch); a number: the first so many; None: all.
    """

    gates: torch.Tensor
    h_before: torch.Tensor
    c_before: torch.Tensor
    tanh_c: torch.Tensor
    h: torch.Tensor
    rows: torch.Tensor | int | None = None


def lstm_step(
    gates: torch.Tensor, h: torch.Tensor, c: torch.Tensor, rows: torch.Tensor | int | None = None
) -> tuple[torch.Tensor, torch.Tensor, Passed]:
    """Return h and c behind a step, and the step; `gates` is all that they add up, W h too."""
    size = c.shape[-1]
    active = torch.sigmoid(gates)
    active[..., 2 * size : 3 * size] = torch.tanh(gates[..., 2 * size : 3 * size])
    write, keep, new, show = active.chunk(4, dim=-1)
    c_t = torch.addcmul(keep * c, write, new)
    tanh_c = torch.tanh(c_t)
    h_t = show * tanh_c
    return h_t, c_t, Passed(active, h, c, tanh_c, h_t, rows)


def lstm_state(gates: torch.Tensor, c: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return h and c behind a step as functions of gates and c: for steps that autograd records."""
    return _State.apply(gates, c)  # pyright: ignore[reportReturnType]


class _State(torch.autograd.Function):
    """One step as a single recorded operation, which takes a third of the time of its parts."""

    @staticmethod
    def forward(ctx: Any, gates, c):
        h_t, c_t, step = lstm_step(gates, c, c)
        ctx.save_for_backward(step.gates, c, step.tanh_c)
        return h_t, c_t

    @staticmethod
    def backward(ctx: Any, dh, dc):  # pyright: ignore[reportIncompatibleMethodOverride]
        gates, c, tanh_c = ctx.saved_tensors
        write, keep, new, show = gates.chunk(4, dim=-1)
        dc = dc + dh * show * (1 - tanh_c * tanh_c)
        changes = torch.cat((dc * new, dc * c, dc * write, dh * tanh_c), dim=-1)
        return changes.mul_(_slopes(gates, new)), dc * keep


def _slopes(gates: torch.Tensor, new: torch.Tensor) -> torch.Tensor:
    """Return by how much gates change with their inputs; `new` is the third one."""
    slopes = gates - gates * gates
    size = new.shape[-1]
    slopes[..., 2 * size : 3 * size] = 1 - new * new
    return slopes


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


def hidden_of(inputs: torch.Tensor, W: torch.Tensor, steps: Sequence[Passed]) -> torch.Tensor:
    """Return h of all steps, (*runs, rows of all steps, hidden), as a function of inputs and W.

    inputs: what the gates add up besides W h, (*runs, rows of all steps, 4 hidden). steps: what was
    run with these, from h = c = 0.
    """
    *states, rows = zip(*steps, strict=True)
    joined = [torch.cat(part, dim=-2) for part in states]
    lengths = [step.h.shape[-2] for step in steps]
    return _Hidden.apply(inputs, W, lengths, rows, *joined)  # pyright: ignore[reportReturnType]


class _Hidden(torch.autograd.Function):
    """Backpropagation through time, of steps whose results are known."""

    @staticmethod
    def forward(ctx: Any, inputs, W, lengths, rows, gates, h_before, c_before, tanh_c, h):  # noqa: ARG004
        ctx.save_for_backward(W, gates, h_before, c_before, tanh_c)
        ctx.lengths, ctx.rows = lengths, rows
        return h

    @staticmethod
    def backward(ctx: Any, of_h: torch.Tensor):  # pyright: ignore[reportIncompatibleMethodOverride]
        W, gates, h_before, c_before, tanh_c = ctx.saved_tensors
        through = gates[..., 3 * tanh_c.shape[-1] :] * (1 - tanh_c * tanh_c)
        found, change = _changes(gates, c_before, tanh_c)
        end = gates.shape[-2]
        later_h = later_c = torch.zeros_like(of_h[..., :0, :])
        rows: torch.Tensor | None = None
        for step in range(len(ctx.lengths) - 1, -1, -1):
            length = ctx.lengths[step]
            now = (..., slice(end - length, end), slice(None))
            dh = _put_back(later_h, rows, of_h[now])
            dc = _put_back(later_c, rows, dh * through[now])
            later_c = change(now, dh, dc)
            if step:
                later_h = found[now] @ W
            rows = ctx.rows[step]
            end -= length
        return found, found.mT @ h_before, *[None] * 7


Rows = tuple[Any, slice, slice]
Change = Callable[[Rows, torch.Tensor, torch.Tensor], torch.Tensor]
"""Write what dh and dc behind a step change its gates by, and return dc before it."""


def _changes(gates, c_before, tanh_c) -> tuple[torch.Tensor, Change]:
    """Return where the gradients of all gates' inputs go, and what writes them."""
    size = tanh_c.shape[-1]
    write, keep, new, _ = gates.chunk(4, dim=-1)
    factors = _slopes(gates, new).unflatten(-1, (4, size))
    # What a gate's input changes: c, by the first three factors, and h, by the last.
    for gate, passed_on in enumerate((new, c_before, write, tanh_c)):
        factors[..., gate, :] *= passed_on
    found = torch.empty_like(gates)

    def change(now: Rows, dh: torch.Tensor, dc: torch.Tensor) -> torch.Tensor:
        own, of_gates = found[now].unflatten(-1, (4, size)), factors[(*now, slice(None))]
        torch.mul(of_gates[..., :3, :], dc.unsqueeze(-2), out=own[..., :3, :])
        torch.mul(of_gates[..., 3, :], dh, out=own[..., 3, :])
        return dc * keep[now]

    return found, change


def _put_back(
    later: torch.Tensor, rows: torch.Tensor | int | None, own: torch.Tensor
) -> torch.Tensor:
    """Return `own` plus what later rows add to those rows that they were."""
    if later.shape[-2] == 0:
        return own
    if rows is None:
        return own + later
    total = own.clone(memory_format=torch.contiguous_format)
    if isinstance(rows, int):
        total[..., :rows, :] += later
    else:
        places = _places(rows, total.shape[-2])
        total.flatten(0, -2).index_add_(0, places, later.flatten(0, -2))
    return total
