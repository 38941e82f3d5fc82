"""The multiplicative product of NMU-like layers and its division modes."""

from functools import partial

import torch
from torch.overrides import (
    handle_torch_function,
    has_torch_function_unary,
    has_torch_function_variadic,
)

MATRIX_DIMS = 2
SINGLE_RUN_DIMS = 3
"""Dimensions of one run's factors: batch, in, out."""
MNAC_MODES = ("prod", "exp-log", "no-idendity", "div", "div-sepSign")


class ProductOfRuns(torch.autograd.Function):
    """The product over dimension -2, with the gradient that each run of a stack has alone.

    A single zero makes torch choose another formula for the gradient of a whole tensor, and that
    one rounds differently. A stack of runs in one tensor would change all runs for one run's zero.
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
        return _gradient_of_factors(factors, product, grad)


class WeightedProductOfRuns(torch.autograd.Function):
    """The product of x w + 1 - w over dimension -2, and its gradients, in few passes over memory.

    They are rounded like those of the three operations.
    """

    @staticmethod
    def forward(ctx, x, w):
        spread = _spread(w, x.shape[-3])
        factors = (x * spread).add_(1).sub_(spread)
        values = factors.prod(-2)
        ctx.save_for_backward(x, w, factors, values)
        return values

    @staticmethod
    def backward(ctx, grad):
        x, w, factors, values = ctx.saved_tensors
        if torch.is_grad_enabled():  # for derivatives of the gradient
            factors = x * w + 1 - w
            values = factors.prod(-2)
        gradient = _gradient_of_factors(factors, values, grad)
        of_x = of_w = None
        if ctx.needs_input_grad[1]:
            of_w = (gradient * x).sum(-3, keepdim=True) - gradient.sum(-3, keepdim=True)
        if ctx.needs_input_grad[0]:
            of_x = gradient * w
            of_x = of_x.sum(-1, keepdim=True) if w.shape[-1] > 1 else of_x
        return of_x, of_w


def _spread(w: torch.Tensor, batch: int) -> torch.Tensor:
    """Repeat the few numbers of w `(runs, 1, in, out)` for each sample, or leave many as they are.

    Torch broadcasts two or four numbers at a time far slower than it copies them as one.
    """
    runs, _, *small = w.shape
    size = w[0].numel() * w.itemsize
    wide = {8: torch.float64, 16: torch.complex128}.get(size)
    if wide is None:
        return w
    numbers = w.reshape(runs, 1, -1).view(wide).expand(runs, batch, 1)
    return numbers.contiguous().view(w.dtype).view(runs, batch, *small)


def _gradient_of_factors(
    factors: torch.Tensor, product: torch.Tensor, grad: torch.Tensor
) -> torch.Tensor:
    gradient = (product.unsqueeze(-2) / factors).mul_(grad.unsqueeze(-2))
    # Where no product is zero or not a number, no factor is zero.
    if product.abs().min() > 0:
        return gradient
    with_zeros = (factors == 0).flatten(1).any(1)
    for run in with_zeros.nonzero().flatten().tolist():
        with torch.enable_grad():
            alone = factors[run].detach().requires_grad_()
            gradient[run] = torch.autograd.grad(alone.prod(-2), alone, grad[run])[0]
    return gradient


def product(factors: torch.Tensor) -> torch.Tensor:
    """Return the product over dimension -2 of factors `(*runs, batch, in, out)`.

    Like a function of torch, it can be overridden by a `TorchFunctionMode`.
    """
    if has_torch_function_unary(factors):
        return handle_torch_function(product, (factors,), factors)
    if factors.ndim > SINGLE_RUN_DIMS:
        return ProductOfRuns.apply(factors)
    return factors.prod(-2)


def mnac(
    x: torch.Tensor, W: torch.Tensor, mode: str = "prod", is_training: bool | None = None
) -> torch.Tensor:
    """Multiply the inputs: x `(*runs, batch, in)`, W `(*runs, out, in)` -> `(*runs, batch, out)`.

    prod           prod_i (x w + 1 - w)
    exp-log        exp sum_i log(x w + 1 - w)
    no-idendity    prod_i x w
    div            prod_i (A sign(x) |x|^w + (1 - A))
    div-sepSign    prod_i (A |x|^w + (1 - A)) * prod_i sign(x)^round(w)

    with A = tanh(1000 w)^2 in training and |w| otherwise. W is broadcast once and that view serves
    every occurrence of w: the order in which its gradients are summed is part of the figures.
    """
    # Inputs of one run may have any number of dimensions; only its weights tell whether it is one.
    multiply = product if W.ndim > MATRIX_DIMS else partial(torch.prod, dim=-2)
    w = W.mT.unsqueeze(-3)
    x = x.unsqueeze(-1)
    if mode == "prod":
        if x.ndim == w.ndim == SINGLE_RUN_DIMS + 1 and not has_torch_function_variadic(x, w):
            return WeightedProductOfRuns.apply(x, w)
        return multiply(x * w + 1 - w)
    if mode == "exp-log":
        return (x * w + 1 - w).log().sum(-2).exp()
    if mode == "no-idendity":
        return multiply(x * w)
    if mode in ("div", "div-sepSign"):
        active = torch.tanh(1000 * w) ** 2 if is_training else w.abs()
        magnitude = x.abs() ** w
        if mode == "div":
            return multiply(active * (torch.sign(x) * magnitude) + (1 - active))
        sign = torch.sign(x.detach()) ** torch.round(w.detach())
        return multiply(active * magnitude + (1 - active)) * multiply(sign)
    raise ValueError(f"mnac mode {mode!r} is not one of {', '.join(MNAC_MODES)}")
