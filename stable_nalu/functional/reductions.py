"""Reductions over the trailing dimensions of one run, and the training criteria made of them.

Of criteria, y and t are `(*runs, batch, out)`, the value has shape `runs`.
"""

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


def mse(y: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
    """Return the mean squared error."""
    return mean_over((y - t) ** 2, 2)


def pcc(y: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
    """Return 1 - Pearson correlation, with the deviations bounded below by the machine epsilon.

    Sums are divided by the batch size, also when there are several outputs.
    """
    epsilon = torch.finfo(y.dtype).eps
    n = y.shape[-2]

    def standardized(v: torch.Tensor) -> torch.Tensor:
        centred = v - per_run(mean_over(v, 2), 2)
        deviation = ((centred**2).sum(trailing(2)) / n).clamp(min=epsilon).sqrt()
        return centred / per_run(deviation + epsilon, 2)

    return 1 - (standardized(y) * standardized(t)).sum(trailing(2)) / n


def mape(y: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
    """Return the mean of |(t - y) / t|, without a guard for t = 0."""
    return mean_over(((t - y) / t).abs(), 2)


CRITERIA = {"mse": mse, "pcc": pcc, "mape": mape}


def get_train_criterion(name: str, iteration: int, pcc2mse_iteration: int):
    """Return the criterion of an iteration; `pcc-mse` changes to mse at `pcc2mse_iteration`."""
    if name == "pcc-mse":
        return pcc if iteration < pcc2mse_iteration else mse
    if name not in CRITERIA:
        raise ValueError(f"criterion {name!r} is not one of {', '.join(CRITERIA)}, pcc-mse")
    return CRITERIA[name]
