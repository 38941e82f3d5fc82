"""Recurrent cells over all steps of a sequence, as one recorded operation.

Numbers are those of the cell applied step by step: each product and each function is that of a
step, and gradients are added from the last step to the first. What is saved is the work around
them: operations that autograd records, copies, weights formed anew for every step.

Shapes: x (*runs, batch, time, in), states (*runs, batch, hidden), at most one run dimension.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import torch

from stable_nalu import native

from .linear import linear
from .nac_weight import nac_slopes

aten = torch.ops.aten


def unrolled_nac(
    x: torch.Tensor, h: torch.Tensor, w_hat: torch.Tensor, m_hat: torch.Tensor
) -> torch.Tensor:
    """Return the last of h_t = [x_t, h_{t-1}] W^T, where W = tanh(w_hat) sigmoid(m_hat)."""
    return _UnrolledNAC.apply(x, h, w_hat, m_hat)  # pyright: ignore[reportReturnType]


def unrolled_lstm(
    x: torch.Tensor, h: torch.Tensor, c: torch.Tensor, *weights: torch.Tensor
) -> torch.Tensor:
    """Return the last h of an LSTM; weights are torch's: W, U and their biases.

    A step is what `LSTMCell` says. With two states, C++ does it where that gives torch's numbers.
    """
    return _UnrolledLSTM.apply(x, h, c, *weights)  # pyright: ignore[reportReturnType]


class _UnrolledNAC(torch.autograd.Function):
    """Inputs and states of all steps lie side by side, as the steps' products read them."""

    @staticmethod
    def forward(ctx: Any, x, h, w_hat, m_hat):
        t, s = torch.tanh(w_hat), torch.sigmoid(m_hat)
        W = t * s
        steps, inputs = x.shape[-2:]
        seen = x.new_empty(steps, *h.shape[:-1], inputs + h.shape[-1])
        seen[..., :inputs] = x.movedim(-2, 0)
        for of_step in seen:
            of_step[..., inputs:] = h
            h = of_step @ W.mT
        ctx.save_for_backward(seen, t, s, W)
        return h

    @staticmethod
    def backward(ctx: Any, dh):  # pyright: ignore[reportIncompatibleMethodOverride]
        seen, t, s, W = ctx.saved_tensors
        of_state = W[..., -dh.shape[-1] :].contiguous()
        of_h = dh.new_empty(len(seen), *dh.shape)
        of_h[-1] = dh
        for step in range(len(seen) - 1, 0, -1):
            torch.matmul(of_h[step], of_state, out=of_h[step - 1])
        dW = _of_weights(of_h, seen, stacked=dh.ndim > 2)
        return None, of_h[0] @ of_state, *map(_added, nac_slopes(dW.contiguous(), t, s))


class _UnrolledLSTM(torch.autograd.Function):
    """Of each step the activated gates are kept, in four planes of the shape of a state."""

    @staticmethod
    def forward(ctx: Any, x, h, c, W, U, *biases):
        steps = x.shape[-2]
        gates, tanh_c = x.new_empty(steps, 4, *h.shape), x.new_empty(steps, *h.shape)
        hs, cs = x.new_empty(2, steps + 1, *h.shape)
        hs[0], cs[0] = h, c
        gates_of = _gates_by_cpp if _is_done_by_cpp(x, U) else _gates
        write_gates = gates_of(x, W, U, *biases)
        for step in range(steps):
            write_gates(step, hs[step], gates[step])
            write, keep, new, show = gates[step]
            torch.mul(keep, cs[step], out=cs[step + 1]).add_(write * new.tanh_())
            torch.mul(show, torch.tanh(cs[step + 1], out=tanh_c[step]), out=hs[step + 1])
        ctx.save_for_backward(x, U, gates, hs, cs, tanh_c)
        return hs[-1]

    @staticmethod
    def backward(ctx: Any, dh):  # pyright: ignore[reportIncompatibleMethodOverride]
        x, U, gates, hs, cs, tanh_c = ctx.saved_tensors
        of_gates = gates.new_empty(len(gates), *dh.shape[:-1], U.shape[-2])
        through = _slopes_by_cpp if _is_done_by_cpp(x, U) else _slopes
        stacked, dc, dW = dh.ndim > 2, None, []
        for step in range(len(gates) - 1, -1, -1):
            dh, dc = through(gates[step], cs[step], tanh_c[step], U, dh, dc, of_gates[step])
        for step, of_step in enumerate(of_gates):
            dW.append(_of_weights(of_step, x[..., step, :], stacked=stacked))
        dU = _of_weights(of_gates, hs[:-1], stacked=stacked)
        bias = _added(of_gates.sum(-2))
        return None, dh, dc, _added(dW), _added(dU), bias, bias


Gates = Callable[[int, torch.Tensor, torch.Tensor], None]
"""Write the gates of a step, given the state before it, activated but for the new ones."""


def _gates(x, W, U, b, d) -> Gates:
    of_inputs = linear(x.flatten(-3, -2), W, b).unflatten(-2, x.shape[-3:-1])

    def write(step: int, h: torch.Tensor, gates: torch.Tensor) -> None:
        parts = linear(h, U, d).add_(of_inputs[..., step, :]).chunk(4, dim=-1)
        for gate in (0, 1, 3):
            torch.sigmoid(parts[gate], out=gates[gate])
        gates[2] = parts[2]

    return write


def _slopes(gates, c, tanh_c, U, dh, dc, of_gates):
    """Return dh and dc of the state before a step, and write those of what its gates add up."""
    write, keep, new, show = gates
    of_c = aten.tanh_backward(dh * show, tanh_c)
    of_c = of_c if dc is None else dc + of_c
    of_sums = (
        aten.sigmoid_backward(of_c * new, write),
        aten.sigmoid_backward(of_c * c, keep),
        aten.tanh_backward(of_c * write, new),
        aten.sigmoid_backward(dh * tanh_c, show),
    )
    torch.cat(of_sums, dim=-1, out=of_gates)
    return of_gates @ U, of_c * keep


def _of_weights(of_outputs, inputs, *, stacked: bool):
    """Return the gradient of weights in the form in which torch sums that of a matrix product."""
    return (inputs.mT @ of_outputs).mT if stacked else of_outputs.mT @ inputs


def _added(of_steps):
    """Return the sum over steps, from the last to the first."""
    total = of_steps[-1]
    for step in range(len(of_steps) - 2, -1, -1):
        total = total + of_steps[step]
    return total


def _is_done_by_cpp(x: torch.Tensor, U: torch.Tensor) -> bool:
    return (
        native.library() is not None
        and U.shape[-1] == 2
        and x.dtype == U.dtype == torch.float32
        and x.device.type == "cpu"
        and x.stride(-1) == 1
        and _cpp_agrees(x.shape)
    )


@cache
def _cpp_agrees(shape: torch.Size) -> bool:
    """Return whether C++ gives torch's numbers for x of a shape: its sums have an order, too."""
    random = torch.Generator().manual_seed(0)
    normal = partial(torch.randn, generator=random, device="cpu", dtype=torch.float32)
    *runs, rows, steps, inputs = shape
    state = *runs, rows, 2
    x, h, c, dh, dc = normal(shape), normal(state), normal(state), normal(state), normal(state)
    weights = [normal(*runs, 8, *size) for size in ((inputs,), (2,), (), ())]
    gates, of_gates = torch.empty(2, 4, *state), torch.empty(2, *state[:-1], 8)
    for own, write in zip(gates, (_gates, _gates_by_cpp), strict=True):
        write(x, *weights)(steps - 1, h, own)
        own[2].tanh_()
    tanh_c = torch.tanh(c)
    found = []
    for own, through in zip(of_gates, (_slopes, _slopes_by_cpp), strict=True):
        of_step = through(gates[0], c, tanh_c, weights[1], dh, dc, own)
        found.append(torch.stack(through(gates[0], c, tanh_c, weights[1], *of_step, own)))
    return all(torch.equal(*pair) for pair in (gates, of_gates, found))


def _gates_by_cpp(x, W, U, b, d) -> Gates:
    library = native.library()
    assert library is not None
    runs, rows, inputs = W.shape[:-2].numel(), x.shape[-3], x.shape[-1]
    strides = x.stride(0) if x.ndim > 3 else 0, x.stride(-3)
    inputs_first = [W.mT.contiguous(), U.mT.contiguous(), b.contiguous(), d.contiguous()]

    def write(step: int, h: torch.Tensor, gates: torch.Tensor) -> None:
        of_step = x.data_ptr() + step * x.stride(-2) * x.element_size()
        weights = (w.data_ptr() for w in inputs_first)
        library.lstm_gates(
            runs, rows, inputs, of_step, *strides, h.data_ptr(), *weights, gates.data_ptr()
        )

    return write


def _slopes_by_cpp(gates, c, tanh_c, U, dh, dc, of_gates):
    library = native.library()
    assert library is not None
    runs, rows = U.shape[:-2].numel(), dh.shape[-2]
    before_h = dh.contiguous().clone()
    before_c = torch.empty_like(before_h) if dc is None else dc.clone()
    # Named, because a copy that nothing refers to would be gone before C++ reads it.
    of_state = U.contiguous()
    read = (v.data_ptr() for v in (gates, c, tanh_c, of_state))
    written = (v.data_ptr() for v in (before_h, before_c, of_gates))
    library.lstm_slopes(runs, rows, dc is None, *read, *written)
    return before_h, before_c
