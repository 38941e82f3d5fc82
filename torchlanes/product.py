"""A product over a dimension, whose gradient can be recorded."""

from typing import Any

import torch

FEW_FACTORS = 16


class RecordableProduct(torch.autograd.Function):
    """The function, whose gradient does not branch on the data.

    Of a few factors it is the product of the others; of many, the product divided by each factor
    or, where one is zero, the product of the others.
    """

    @staticmethod
    def forward(ctx: Any, factors: torch.Tensor, dim: int) -> torch.Tensor:
        value = factors.prod(dim)
        ctx.save_for_backward(factors, value)
        ctx.dim = dim
        return value

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor, None]:
        (factors, value), dim = ctx.saved_tensors, ctx.dim
        if factors.shape[dim] <= FEW_FACTORS:
            return _others(factors, dim) * grads[0].unsqueeze(dim), None
        zero = factors == 0
        zeros = zero.to(factors.dtype).sum(dim, keepdim=True)
        others = torch.where(zero, 1.0, factors).prod(dim, keepdim=True)
        only = torch.where((zeros == 1) & zero, others, 0.0)
        quotient = torch.where(zeros == 0, value.unsqueeze(dim) / factors, only)
        return quotient * grads[0].unsqueeze(dim), None


def _others(factors: torch.Tensor, dim: int) -> torch.Tensor:
    """Return the product of all other factors, for each factor."""
    parts = factors.unbind(dim)
    if len(parts) == 1:
        return torch.ones_like(factors)
    before, after = [parts[0]], [parts[-1]]
    for part, opposite in zip(parts[1:-1], parts[-2:0:-1], strict=True):
        before.append(before[-1] * part)
        after.append(opposite * after[-1])
    after = after[::-1]
    inner = [a * b for a, b in zip(before[:-1], after[1:], strict=True)]
    return torch.stack([after[0], *inner, before[-1]], dim)
