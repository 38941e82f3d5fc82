"""Penalties that tie weights to the inputs they saw since the last optimiser step."""

import torch

from .reductions import mean_over


class _RegualizerZ:
    """Records inputs of a forward pass; called on W it returns the penalty, shape `runs`."""

    def __init__(self, zero: bool = False):
        self.is_zero = zero
        self._inputs: list[torch.Tensor] = []

    def append_input(self, x: torch.Tensor) -> None:
        """Record x `(*runs, batch, in)`; it is not detached."""
        if not self.is_zero:
            self._inputs.append(x)

    def reset(self) -> None:
        """Forget the recorded inputs."""
        self._inputs = []

    def __call__(self, W: torch.Tensor) -> torch.Tensor:
        if self.is_zero or not self._inputs:
            return W.new_zeros(W.shape[:-2])
        mean_input = torch.cat(self._inputs, dim=-2).mean(-2, keepdim=True)
        return mean_over(self._penalty(W, mean_input), 2)

    def _penalty(self, W: torch.Tensor, mean_input: torch.Tensor) -> torch.Tensor:
        raise NotImplementedError


class RegualizerNAUZ(_RegualizerZ):
    """mean (1 - |W|) x_mean^2."""

    def _penalty(self, W, mean_input):
        return (1 - W.abs()) * mean_input**2


class RegualizerNMUZ(_RegualizerZ):
    """mean (1 - W) (1 - x_mean)^2."""

    def _penalty(self, W, mean_input):
        return (1 - W) * (1 - mean_input) ** 2
