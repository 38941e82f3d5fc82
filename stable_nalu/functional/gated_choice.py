"""Mixing an additive and a multiplicative path by a gate."""

import torch


class _GateFreeGradient(torch.autograd.Function):
    """A choice whose gate scales the values of the two paths but not their gradients."""

    generate_vmap_rule = True

    @staticmethod
    def forward(g, a, m):
        return g * a + (1 - g) * m

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs[1:])

    @staticmethod
    def backward(ctx, grad):
        a, m = ctx.saved_tensors
        return grad * (a - m), grad, grad


def gated_choice(
    g: torch.Tensor, a: torch.Tensor, m: torch.Tensor, mode: str = "normal"
) -> torch.Tensor:
    """Return g a + (1 - g) m; `gate-free-gradient` passes gradients to a and m unscaled."""
    if mode in ("normal", "test"):
        return g * a + (1 - g) * m
    if mode == "gate-free-gradient":
        return _GateFreeGradient.apply(g, a, m)
    raise ValueError(f"gated_choice mode {mode!r} is not normal, test or gate-free-gradient")
