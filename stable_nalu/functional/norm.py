"""Norms of one parameter per run."""

import torch

from .reductions import trailing


def lp_norm(parameter: torch.Tensor, order: int, ndim: int) -> torch.Tensor:
    """Norm of order 1 or 2 (unsquared) over the last `ndim` dimensions; shape `runs`."""
    if ndim == 0:
        return parameter.abs()
    return torch.linalg.vector_norm(parameter, order, dim=trailing(ndim))
