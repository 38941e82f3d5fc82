"""Ordinary differential equations by explicit Euler steps, with gradients of networks in them."""

from collections.abc import Callable

import numpy as np
import torch

Field = Callable[[np.ndarray], np.ndarray]
"""Maps states `(*runs, 1, size)` to their velocities; NumPy makes single steps much faster."""


def euler(field: Field, start: np.ndarray, steps: int) -> np.ndarray:
    """Return the states `(*runs, steps + 1, size)` from a start `(*runs, 1, size)` on."""
    states = np.repeat(start, steps + 1, -2)
    with np.errstate(all="ignore"):
        for k in range(steps):
            now = states[..., k : k + 1, :]
            np.add(now, field(now), out=states[..., k + 1 : k + 2, :])
    return states


def through(
    network: torch.nn.Module, states: torch.Tensor, loss: torch.Tensor, slope: torch.Tensor
) -> torch.Tensor:
    """Return a loss of `euler`'s states whose gradient goes through all steps.

    slope: the gradient of the loss with respect to the states. The chain rule over the steps,
    c_k = slope_k + c_{k+1} + J_k^T c_{k+1}, needs the Jacobians J of all states, which the network
    gives at once, as rows; its weights then have the gradient of sum_k c_{k+1} network(u_k).
    """
    rows = states[..., :-1, :].detach().requires_grad_()
    velocities = network(rows)
    columns = velocities.unbind(-1)
    of = [torch.autograd.grad(c.sum(), rows, retain_graph=True)[0] for c in columns]
    transposed, own = torch.stack(of, -1).numpy(), slope.numpy()
    costs = np.empty_like(own)
    costs[..., -1, :] = own[..., -1, :]
    with np.errstate(all="ignore"):
        for k in reversed(range(own.shape[-2] - 1)):
            after = costs[..., k + 1, :]
            through_step = (transposed[..., k, :, :] * after[..., None, :]).sum(-1)
            costs[..., k, :] = own[..., k, :] + after + through_step
    surrogate = (torch.from_numpy(costs[..., 1:, :]) * velocities).sum((-2, -1))
    return loss + (surrogate - surrogate.detach())
