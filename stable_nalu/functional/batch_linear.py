"""A linear map with its own weights for every sample."""

import torch


def batch_linear(x: torch.Tensor, W: torch.Tensor, b: torch.Tensor | None = None) -> torch.Tensor:
    """x `(*runs, batch, in)`, W `(*runs, batch, out, in)` -> `(*runs, batch, out)`."""
    if x.shape[-1] != W.shape[-1] or x.shape[-2] != W.shape[-3]:
        raise ValueError(f"x of shape {tuple(x.shape)} does not fit W of shape {tuple(W.shape)}")
    y = (W @ x.unsqueeze(-1)).squeeze(-1)
    return y if b is None else y + b
