"""Multiplication by an additive layer: take logarithms, add, take the exponential."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch

from .golden_ratio import GOLDEN_RATIO, LOG_GOLDEN_RATIO

LOG_SPACE_MODES = ("normal", "safe", "max-safe", "trig", "golden-ratio")


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
