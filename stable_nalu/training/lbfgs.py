"""L-BFGS for many runs at once: each has its own line search, and all share their evaluations."""

from collections.abc import Callable, Sequence

import torch

MEMORY, DECREASE, SHORTEST = 10, 1e-4, 1e-10
Evaluate = Callable[[], torch.Tensor]
"""Returns the loss of each run at the present parameters, `(runs)`, or a number of one run."""


@torch.no_grad()
def minimise(parameters: Sequence[torch.nn.Parameter], loss: Evaluate, steps: int) -> torch.Tensor:
    """Bring parameters `(*runs, ...)` to lower losses, in at most so many steps; return the losses.

    A step is halved until the loss falls by 1e-4 of what the slope promises; a loss that is no
    number never does. A run ends where no step helps: no loss is ever higher than before.
    """
    found, slope = _evaluated(parameters, loss)
    x = _flat(parameters, found)
    runs, size = x.shape
    s, y = x.new_zeros(2, MEMORY, runs, size)
    way, length = -slope, (1 / slope.abs().sum(-1)).clamp(max=1)
    taken = torch.zeros(runs)
    active = slope.isfinite().all(-1) & found.isfinite()
    while bool((active := active & (length > SHORTEST) & (taken < steps)).any()):
        moved = length.unsqueeze(-1) * way * active.unsqueeze(-1)
        _put(parameters, x + moved)
        tried, own = _evaluated(parameters, loss)
        promised = length * (way * slope).sum(-1)
        good = active & (tried <= found + DECREASE * promised) & own.isfinite().all(-1)
        row = good.unsqueeze(-1)
        change = own - slope
        kept = row & ((moved * change).sum(-1, keepdim=True) > 0)
        for pairs, new in ((s, moved), (y, change)):
            pairs.copy_(torch.where(kept, torch.cat((new[None], pairs[:-1])), pairs))
        x, slope = torch.where(row, x + moved, x), torch.where(row, own, slope)
        active &= ~good | (tried < found)
        found, taken = torch.where(good, tried, found), taken + good
        way = torch.where(row, _direction(slope, s, y), way)
        length = torch.where(good, torch.ones_like(length), length / 2)
    _put(parameters, x)
    return found


def _direction(slope: torch.Tensor, s: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Return minus the slope times the inverse Hessian of the last moves s and changes y."""
    curvature = (s * y).sum(-1, keepdim=True)
    rho = torch.where(curvature > 0, 1 / curvature, 0.0)
    q, factors = slope.clone(), []
    for k in range(len(s)):
        factors.append(rho[k] * (s[k] * q).sum(-1, keepdim=True))
        q -= factors[-1] * y[k]
    scale = curvature[0] / (y[0] ** 2).sum(-1, keepdim=True)
    q *= torch.where(curvature[0] > 0, scale, 1.0)
    for k in reversed(range(len(s))):
        q += s[k] * (factors[k] - rho[k] * (y[k] * q).sum(-1, keepdim=True))
    return -q


def _evaluated(parameters, loss: Evaluate) -> tuple[torch.Tensor, torch.Tensor]:
    with torch.enable_grad():
        found = loss()
        slopes = torch.autograd.grad(found.sum(), list(parameters))
    found = found.detach().reshape(-1)
    return found, torch.cat([slope.reshape(len(found), -1) for slope in slopes], -1)


def _flat(parameters: Sequence[torch.Tensor], found: torch.Tensor) -> torch.Tensor:
    return torch.cat([p.detach().reshape(len(found), -1) for p in parameters], -1)


def _put(parameters: Sequence[torch.Tensor], x: torch.Tensor) -> None:
    at = 0
    for p in parameters:
        size = p.numel() // len(x)
        p.copy_(x[:, at : at + size].reshape(p.shape))
        at += size
