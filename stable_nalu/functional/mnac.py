"""The multiplicative product of NMU-like layers and its division modes."""

from functools import partial

import torch
from torch.overrides import handle_torch_function, has_torch_function_unary

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
        gradient = grad.unsqueeze(-2) * (product.unsqueeze(-2) / factors)
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
