"""Training criteria; y and t are `(*runs, batch, out)`, the value has shape `runs`."""

import torch

from .reductions import mean_over, per_run, trailing


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
