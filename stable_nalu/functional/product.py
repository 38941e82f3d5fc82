"""Products over the inputs of a layer, whose gradients are a single run's in a stack too."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

SINGLE_RUN_DIMS = 3
"""Of factors: batch, in, out."""

_zero_counts: list[torch.Tensor] | None = None


@contextmanager
def tracing() -> Iterator[list[torch.Tensor]]:
    """While this lasts, products are recorded for compilation.

    Yields how many values of each product are zero, shape `runs`. Gradients that are recorded hold
    if none is, for then no factor is zero.
    """
    global _zero_counts
    _zero_counts = counts = []
    try:
        yield counts
    finally:
        _zero_counts = None


def product(factors: torch.Tensor) -> torch.Tensor:
    """Product over dimension -2 of factors `(*runs, batch, in, out)`."""
    if _zero_counts is not None:
        values = _TraceableProduct.apply(factors)
        _zero_counts.append((values == 0).sum(-1).to(values.dtype).sum(-1))
        return values
    if factors.ndim > SINGLE_RUN_DIMS:
        return _ProductOfRuns.apply(factors)
    return factors.prod(-2)


class _TraceableProduct(torch.autograd.Function):
    """Without zero factors, torch's own gradient, which otherwise branches on the data."""

    @staticmethod
    def forward(factors):
        return factors.prod(-2)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0], output)

    @staticmethod
    def backward(ctx, grad):
        factors, product = ctx.saved_tensors
        return grad.unsqueeze(-2) * (product.unsqueeze(-2) / factors)


class _ProductOfRuns(_TraceableProduct):
    """The gradient of each run as it is alone.

    A single zero makes torch choose another formula for the whole tensor, which rounds differently:
    for all runs of a stack, if they were one tensor to it.
    """

    @staticmethod
    def backward(ctx, grad):
        factors, product = ctx.saved_tensors
        gradient = grad.unsqueeze(-2) * (product.unsqueeze(-2) / factors)
        with_zeros = (factors == 0).flatten(1).any(1)
        for run in with_zeros.nonzero().flatten().tolist():
            with torch.enable_grad():
                alone = factors[run].detach().requires_grad_()
                gradient[run] = torch.autograd.grad(alone.prod(-2), alone, grad[run])[0]
        return gradient
