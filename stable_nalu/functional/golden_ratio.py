"""Golden-ratio versions of sigmoid and tanh (G-NALU)."""

import math

import torch

GOLDEN_RATIO = (1.0 + math.sqrt(5.0)) / 2.0
LOG_GOLDEN_RATIO = math.log(GOLDEN_RATIO)
_LARGEST = 92.0


def golden_sigmoid(v: torch.Tensor) -> torch.Tensor:
    """Return 1 / (1 + phi^-v)."""
    return 1.0 / (1.0 + torch.pow(GOLDEN_RATIO, -v))


def golden_tanh(v: torch.Tensor) -> torch.Tensor:
    """Return (phi^2v - 1) / (phi^2v + 1), saturating at 1 instead of inf/inf for large v."""
    # float32 phi^2v overflows above v = 92.18; tanh is 1 to the last bit long before that.
    power = torch.pow(GOLDEN_RATIO, 2.0 * v.clamp(max=_LARGEST))
    return (power - 1.0) / (power + 1.0)
