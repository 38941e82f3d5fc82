"""Products over inputs as they are recorded for compiled code."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch.overrides import TorchFunctionMode

from stable_nalu.functional.mnac import ProductOfRuns, product


class RecordedProducts(TorchFunctionMode):
    """While this context lasts, `product` has a gradient that does not branch on the data.

    The recorded gradients hold where no product is zero, for then no factor is zero.
    """

    def __init__(self):
        super().__init__()
        self.zero_counts: list[torch.Tensor] = []
        """For each product, how many of its values are zero, shape `runs`."""

    def __torch_function__(self, func: Callable, types, args=(), kwargs=None):
        if func is not product:
            return func(*args, **(kwargs or {}))
        values = _QuotientGradient.apply(*args)
        self.zero_counts.append((values == 0).sum(-1).to(values.dtype).sum(-1))
        return values


class _QuotientGradient(ProductOfRuns):
    """The gradient that torch has without zero factors: the product divided by each factor."""

    @staticmethod
    def backward(ctx, grad):
        factors, product = ctx.saved_tensors
        return grad.unsqueeze(-2) * (product.unsqueeze(-2) / factors)
