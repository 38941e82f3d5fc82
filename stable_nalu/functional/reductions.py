"""Reductions over the trailing dimensions of one run, leaving run dimensions alone."""

import torch


def trailing(ndim: int) -> tuple[int, ...]:
    """Indices of the last `ndim` dimensions, addressed from the right."""
    return tuple(range(-ndim, 0))


def mean_over(x: torch.Tensor, ndim: int) -> torch.Tensor:
    """Mean over the last `ndim` dimensions."""
    return x.mean(trailing(ndim))


def var_over(x: torch.Tensor, ndim: int) -> torch.Tensor:
    """Unbiased variance over the last `ndim` dimensions."""
    return x.var(trailing(ndim))


def std_over(x: torch.Tensor, ndim: int) -> torch.Tensor:
    """Unbiased standard deviation over the last `ndim` dimensions."""
    return x.std(trailing(ndim))


def per_run(value: torch.Tensor, ndim: int) -> torch.Tensor:
    """Append `ndim` singleton dimensions, so that a value of shape `runs` broadcasts over a run."""
    return value.reshape(value.shape + (1,) * ndim)
