"""Multiplication by an additive layer: take logarithms, add, take the exponential."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import torch

from .golden_ratio import GOLDEN_RATIO, LOG_GOLDEN_RATIO

_SHARED = "logarithms_by_eps"
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
        return torch.exp(layer(logarithm(x, eps)))
    if mode == "safe":
        return torch.exp(layer(torch.log((x - 1).abs() + 1)))
    if mode == "max-safe":
        return torch.exp(layer(torch.log(torch.relu(x - 1) + 1)))
    if mode == "trig":
        return torch.sinh(layer(torch.log(x + torch.sqrt(x**2 + 1) + eps)))
    if mode == "golden-ratio":
        return torch.pow(GOLDEN_RATIO, layer(torch.log(x.abs() + eps)) / LOG_GOLDEN_RATIO)
    raise ValueError(f"log space mode {mode!r} is not one of {', '.join(LOG_SPACE_MODES)}")


def shared_by_models(
    x: torch.Tensor, known: Mapping[float, torch.Tensor] | None = None
) -> torch.Tensor:
    """Let models that are given the same inputs, this very tensor, take its logarithm once.

    Its numbers may not change any more. known: logarithms that are taken already, by eps.
    """
    setattr(x, _SHARED, dict(known or {}))
    return x


def logarithms_taken(x: torch.Tensor) -> Mapping[float, torch.Tensor]:
    """Return the logarithms that models have taken of shared inputs, by eps."""
    return getattr(x, _SHARED)


def logarithm(x: torch.Tensor, eps: float) -> torch.Tensor:
    """Return log(|x| + eps), taken once where x is shared."""
    found = getattr(x, _SHARED, None)
    if found is None:
        return torch.log(x.abs() + eps)
    if eps not in found:
        found[eps] = torch.log(x.abs() + eps)
    return found[eps]


def sign_phase(x: torch.Tensor) -> torch.Tensor:
    """Return the angle pi where x is negative, else 0.

    The cosine of a sum of these angles is the sign of the product, with 1 for the sign of zero.
    """
    # Compared in place, the results are numbers of x's type: others take three times as long.
    return x.detach().clone().lt_(0).mul_(math.pi)
