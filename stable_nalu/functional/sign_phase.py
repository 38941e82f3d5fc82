"""Signs as angles: what lets a product of powers treat magnitude and sign apart."""

import math

import torch


def sign_phase(x: torch.Tensor) -> torch.Tensor:
    """Angle pi where x is negative, else 0: cos(sign_phase(x)) is the sign of x, and 1 at zero."""
    return (x < 0).to(x.dtype) * math.pi
