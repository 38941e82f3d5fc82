"""Reductions over the trailing dimensions of one run, leaving run dimensions alone."""

import torch


def trailing(ndim: int) -> tuple[int, ...]:
    """Return the indices of the last `ndim` dimensions, addressed from the right."""
    return tuple(range(-ndim, 0))


def mean_over(x: torch.Tensor, ndim: int) -> torch.Tensor:
    """Return the mean over the last `ndim` dimensions."""
    return x.mean(trailing(ndim))


def var_over(x: torch.Tensor, ndim: int) -> torch.Tensor:
    """Return the unbiased variance over the last `ndim` dimensions."""
    return x.var(trailing(ndim))


def std_over(x: torch.Tensor, ndim: int) -> torch.Tensor:
    """Return the unbiased standard deviation over the last `ndim` dimensions."""
    return x.std(trailing(ndim))


def per_run(value: torch.Tensor, ndim: int) -> torch.Tensor:
    """Append `ndim` singleton dimensions, so that a value of shape `runs` broadcasts over a run."""
    return value.reshape(value.shape + (1,) * ndim)


def lp_norm(parameter: torch.Tensor, order: int, ndim: int) -> torch.Tensor:
    """Return the norm of order 1 or 2 over the last `ndim` dimensions, shape `runs`."""
    if ndim == 0:
        return parameter.abs()
    if ndim == parameter.ndim:
        return torch.linalg.vector_norm(parameter, order)
    # Flattened first: the order of summation is that of the norm of one run's whole parameter.
    return torch.linalg.vector_norm(parameter.flatten(-ndim), order, dim=-1)


def sparsity_error(W: torch.Tensor, ndim: int = 2) -> torch.Tensor:
    """Return max min(|W|, |1 - |W||), the distance of each run's weights from {-1, 0, 1}.

    The maximum is taken over the last `ndim` dimensions; the result has shape `runs`.
    """
    magnitude = W.abs()
    return torch.minimum(magnitude, (1 - magnitude).abs()).amax(trailing(ndim))
