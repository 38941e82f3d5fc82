"""Multiplication: the product of NMU-like layers, its division modes, and sums of logarithms."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch.overrides import handle_torch_function, has_torch_function_unary

from .nac_weight import GOLDEN_RATIO, LOG_GOLDEN_RATIO

MNAC_MODES = ("prod", "no-idendity", "div", "div-sepSign")
LOG_SPACE_MODES = ("normal", "safe", "max-safe", "trig", "golden-ratio")


def product(factors: torch.Tensor) -> torch.Tensor:
    """Return the product over dimension -2 of factors `(*runs, batch, in, out)`.

    Like a function of torch, it can be overridden by a `TorchFunctionMode`.
    """
    if has_torch_function_unary(factors):
        return handle_torch_function(product, (factors,), factors)
    return factors.prod(-2)


def mnac(
    x: torch.Tensor, W: torch.Tensor, mode: str = "prod", is_training: bool | None = None
) -> torch.Tensor:
    """Multiply the inputs: x `(*runs, batch, in)`, W `(*runs, out, in)` -> `(*runs, batch, out)`.

    prod           prod_i (x w + 1 - w)
    no-idendity    prod_i x w
    div            prod_i (A sign(x) |x|^w + (1 - A))
    div-sepSign    prod_i (A |x|^w + (1 - A)) * prod_i sign(x)^round(w)

    with A = tanh(1000 w)^2 in training and |w| otherwise. W is broadcast once and that view serves
    every occurrence of w: the order in which its gradients are summed is part of the figures.
    """
    w = W.mT.unsqueeze(-3)
    x = x.unsqueeze(-1)
    if mode == "prod":
        return product(x * w + 1 - w)
    if mode == "no-idendity":
        return product(x * w)
    if mode in ("div", "div-sepSign"):
        active = torch.tanh(1000 * w) ** 2 if is_training else w.abs()
        magnitude = x.abs() ** w
        if mode == "div":
            return product(active * (torch.sign(x) * magnitude) + (1 - active))
        sign = torch.sign(x.detach()) ** torch.round(w.detach())
        return product(active * magnitude + (1 - active)) * product(sign)
    raise ValueError(f"mnac mode {mode!r} is not one of {', '.join(MNAC_MODES)}")


def in_log_space(
    layer: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor, mode: str, eps: float
) -> torch.Tensor:
    """Return a product of powers made by a layer that sums; it has the shape of `layer(x)`.

    normal         exp(layer(log(|x| + eps)))
    safe           exp(layer(log(|x - 1| + 1)))
    max-safe       exp(layer(log(relu(x - 1) + 1)))
    trig           sinh(layer(log(x + sqrt(x^2 + 1) + eps)))
    golden-ratio   phi ^ (layer(log(|x| + eps)) / log(phi)), equal to normal up to rounding
    """
    if mode == "normal":
        return torch.exp(layer(torch.log(x.abs() + eps)))
    if mode == "safe":
        return torch.exp(layer(torch.log((x - 1).abs() + 1)))
    if mode == "max-safe":
        return torch.exp(layer(torch.log(torch.relu(x - 1) + 1)))
    if mode == "trig":
        return torch.sinh(layer(torch.log(x + torch.sqrt(x**2 + 1) + eps)))
    if mode == "golden-ratio":
        return torch.pow(GOLDEN_RATIO, layer(torch.log(x.abs() + eps)) / LOG_GOLDEN_RATIO)
    raise ValueError(f"log space mode {mode!r} is not one of {', '.join(LOG_SPACE_MODES)}")


def sign_phase(x: torch.Tensor) -> torch.Tensor:
    """Return the angle pi where x is negative, else 0.

    The cosine of a sum of these angles is the sign of the product, with 1 for the sign of zero.
    """
    # Compared in place, the results are numbers of x's type: others take three times as long.
    return x.detach().clone().lt_(0).mul_(math.pi)
