"""Products over the inputs of a layer, with a gradient that a compiler can fuse."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

_tracing = False


@contextmanager
def tracing() -> Iterator[None]:
    """While this lasts, products are recorded for compilation instead of being run."""
    global _tracing
    _tracing = True
    try:
        yield
    finally:
        _tracing = False


class _TraceableProduct(torch.autograd.Function):
    """`prod(-2)` whose gradient has no branch on the data.

    torch's own looks for zeros before it chooses a formula; recorded, it becomes a pair of
    cumulative products. The values are the same: grad * (product / factor), and for a zero factor
    the product of the others.
    """

    @staticmethod
    def forward(factors):
        return factors.prod(-2)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0], output)

    @staticmethod
    def backward(ctx, grad):
        factors, product = ctx.saved_tensors
        is_zero = factors == 0
        zeros = is_zero.sum(-2, keepdim=True)
        others = torch.where(is_zero, 1.0, factors).prod(-2, keepdim=True)
        of_zero = torch.where(zeros == 1, others, 0.0)
        of_rest = torch.where(zeros == 0, product.unsqueeze(-2) / factors, 0.0)
        return grad.unsqueeze(-2) * torch.where(is_zero, of_zero, of_rest)


def product(factors: torch.Tensor) -> torch.Tensor:
    """Product over dimension -2."""
    return _TraceableProduct.apply(factors) if _tracing else factors.prod(-2)
