"""Norms of one parameter per run."""

import torch


def lp_norm(parameter: torch.Tensor, order: int, ndim: int) -> torch.Tensor:
    """Norm of order 1 or 2 (unsquared) over the last `ndim` dimensions; shape `runs`."""
    if ndim == 0:
        return parameter.abs()
    # Flattened first: the order of summation is that of the norm of one run's whole parameter.
    return torch.linalg.vector_norm(parameter.flatten(-ndim), order, dim=-1)
