"""Affine maps: one weight matrix per run, or one per sample."""

from __future__ import annotations

from functools import cache

import torch

from stable_nalu import native

from .products import is_done_by_cpp, product

FEW_OUTPUTS = (2, 3)
FEWEST_INPUTS = 33
"""Inputs from which products with few outputs are worth code of their own."""
STACKED_DIMS = 3


def linear(x: torch.Tensor, W: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
    """Return x W^T + bias, rounded as torch's own linear layer rounds it.

    Shapes: x `(*runs, batch, in)`, W `(*runs, out, in)`, bias `(*runs, out)`. The bias takes part
    in the matrix product, which rounds once less than adding it afterwards.
    """
    if W.ndim == 2:
        return x @ W.mT if bias is None else torch.nn.functional.linear(x, W, bias)
    if bias is None and _has_few_outputs(x, W):
        return FewOutputs.apply(x, W)
    if is_done_by_cpp(x, W.mT, bias):
        return Stacked.apply(x, W, bias)
    if bias is None:
        return x @ W.mT
    runs = W.shape[:-2]
    x = x.expand(*runs, *x.shape[-2:]).flatten(0, -3)
    y = torch.baddbmm(bias.flatten(0, -2).unsqueeze(-2), x, W.flatten(0, -3).mT)
    return y.unflatten(0, runs)


class Stacked(torch.autograd.Function):
    """The affine maps of stacked runs, and gradients in the form in which torch takes them."""

    @staticmethod
    def forward(ctx, x, W, bias):
        ctx.save_for_backward(x, W)
        return product(x, W.mT, None if bias is None else bias.unsqueeze(-2))

    @staticmethod
    def backward(ctx, dy):
        x, W = ctx.saved_tensors
        of_x, of_w, of_bias = ctx.needs_input_grad
        return (
            product(dy, W) if of_x else None,
            product(x.mT, dy).mT if of_w else None,
            dy.sum(-2) if of_bias else None,
        )


class FewOutputs(torch.autograd.Function):
    """The products x W^T of stacked runs in `few_outputs.cpp`, with the numbers of torch.

    Torch takes most of its time for the gradient of W, which has long columns and few of them.
    """

    @staticmethod
    def forward(ctx, x, W):
        ctx.save_for_backward(x)
        return _multiplied(x, W)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        if torch.is_grad_enabled():  # for derivatives of the gradient
            return None, grad.mT @ x
        return None, _gradient(x, grad.contiguous()).mT


def _has_few_outputs(x: torch.Tensor, W: torch.Tensor) -> bool:
    """Return whether these are products that compiled code computes as torch does."""
    return (
        x.ndim == W.ndim == STACKED_DIMS
        and x.dtype == W.dtype
        and not x.requires_grad
        and not W.is_cuda
        and x.is_contiguous()
        and W.is_contiguous()
        # Where operations are recorded, this one would not be seen.
        and not torch._C._len_torch_dispatch_stack()
        and computes_few_outputs(x, W.shape[1])
    )


def computes_few_outputs(x: torch.Tensor, outputs: int) -> bool:
    """Return whether products of x `(runs, batch, in)` come out of `native` as torch has them."""
    return (
        native.library() is not None
        and outputs in FEW_OUTPUTS
        and x.shape[2] >= FEWEST_INPUTS
        and x.dtype == torch.float32
        and not x.is_cuda
        and _agrees(*x.shape, outputs)
    )


@cache
def _agrees(runs: int, batch: int, inputs: int, outputs: int) -> bool:
    """Return whether torch sums products of these sizes in the same order, both ways."""
    generator = torch.Generator().manual_seed(0)
    shapes = (batch, inputs), (outputs, inputs), (batch, outputs)
    x, W, grad = (torch.randn(runs, *s, dtype=torch.float32, generator=generator) for s in shapes)
    with torch.no_grad():
        values, gradient = torch.bmm(x, W.mT), torch.bmm(x.mT, grad)
    return torch.equal(_multiplied(x, W), values) and torch.equal(_gradient(x, grad), gradient)


def _multiplied(x: torch.Tensor, W: torch.Tensor) -> torch.Tensor:
    y = x.new_empty(*x.shape[:2], W.shape[1])
    _call("multiply_runs", x, W, y, W.shape[1])
    return y


def _gradient(x: torch.Tensor, grad: torch.Tensor) -> torch.Tensor:
    """Return the gradient of W^T, laid as torch lays it."""
    gradient = x.new_empty(x.shape[0], x.shape[2], grad.shape[2])
    _call("multiply_runs_back", x, grad, gradient, grad.shape[2])
    return gradient


def _call(
    name: str, x: torch.Tensor, other: torch.Tensor, result: torch.Tensor, outputs: int
) -> None:
    function = getattr(native.library(), name)
    function(x.data_ptr(), other.data_ptr(), *x.shape, outputs, False, result.data_ptr())


def batch_linear(x: torch.Tensor, W: torch.Tensor, b: torch.Tensor | None = None) -> torch.Tensor:
    """Map x `(*runs, batch, in)` by a matrix per sample, W `(*runs, batch, out, in)`."""
    if x.shape[-1] != W.shape[-1] or x.shape[-2] != W.shape[-3]:
        raise ValueError(f"x of shape {tuple(x.shape)} does not fit W of shape {tuple(W.shape)}")
    y = (W @ x.unsqueeze(-1)).squeeze(-1)
    return y if b is None else y + b
