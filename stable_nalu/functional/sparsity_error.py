"""How far a weight matrix is from {-1, 0, 1}."""

import torch

from .reductions import trailing


def sparsity_error(W: torch.Tensor, ndim: int = 2) -> torch.Tensor:
    """max min(|W|, |1 - |W||) over the last `ndim` dimensions; shape `runs`."""
    magnitude = W.abs()
    return torch.minimum(magnitude, (1 - magnitude).abs()).amax(trailing(ndim))
