"""Gradient clipping, each run by its own norm."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from stable_nalu.functional import lp_norm
from stable_nalu.functional.reductions import per_run

Limit = float | torch.Tensor


def clip_norm(
    gradients: Sequence[torch.Tensor | None], limit: Limit, run_dims: int
) -> list[torch.Tensor | None]:
    """Scale a run's gradients so that their joint Euclidean norm is at most `limit`."""
    norms = [lp_norm(g, 2, g.ndim - run_dims) for g in gradients if g is not None]
    total = torch.linalg.vector_norm(torch.stack(norms, dim=-1), dim=-1)
    factor = (limit / (total + 1e-6)).clamp(max=1.0)
    return [
        None if g is None else g * (per_run(factor, g.ndim - run_dims) if run_dims else factor)
        for g in gradients
    ]


def clip_value(
    gradients: Sequence[torch.Tensor | None], limit: Limit, run_dims: int
) -> list[torch.Tensor | None]:
    """Clamp every element to [-limit, limit]."""

    def clamped(g: torch.Tensor) -> torch.Tensor:
        if not isinstance(limit, torch.Tensor):
            return g.clamp(-limit, limit)
        bound = per_run(limit, g.ndim - run_dims)
        return g.clamp(-bound, bound)

    return [None if g is None else clamped(g) for g in gradients]
