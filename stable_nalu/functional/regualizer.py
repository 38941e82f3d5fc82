"""Penalties on weights: for being out of range, between discrete values, or unlike their inputs.

The spelling `regualizer` is the public one of flags, tags and run names.
"""

from collections.abc import Callable
from typing import Any

import torch

from .reductions import mean_over


def _distance_to_zero_or_one(W):
    return torch.minimum(W.abs(), (1 - W).abs())


def _distance_to_zero_or_unit(W):
    magnitude = W.abs()
    return torch.minimum(magnitude, (1 - magnitude).abs())


_ELEMENTWISE: dict[tuple[str, str, str], Callable[[torch.Tensor], torch.Tensor]] = {
    ("mnac", "bias", "linear"): _distance_to_zero_or_one,
    ("mnac", "bias", "squared"): lambda W: W**2 * (1 - W) ** 2,
    ("mnac", "oob", "linear"): lambda W: torch.relu((W - 0.5).abs() - 0.5),
    ("mnac", "oob", "squared"): lambda W: torch.relu((W - 0.5).abs() - 0.5) ** 2,
    ("nac", "bias", "linear"): _distance_to_zero_or_unit,
    ("nac", "bias", "squared"): lambda W: W**2 * (1 - W.abs()) ** 2,
    ("nac", "oob", "linear"): lambda W: torch.relu(W.abs() - 1),
    ("nac", "oob", "squared"): lambda W: torch.relu(W.abs() - 1) ** 2,
    ("npu", "W", "linear"): lambda W: (1 - W.abs()).abs(),
    ("inalu", "bias", "linear"): lambda p: torch.relu(20 - p.abs()),
}


class Regualizer:
    """The mean penalty of a parameter, looked up by (support, type, shape).

    The shape `none` gives zero. `ndim` is the number of dimensions of one run's parameter.
    """

    def __init__(self, support: str, type: str, shape: str, zero: bool = False, ndim: int = 2):
        self.is_zero = zero or shape == "none"
        self.ndim = ndim
        self._key = (support, type, shape)
        if not self.is_zero and self._key not in _ELEMENTWISE:
            raise ValueError(f"no regualizer for support, type, shape = {', '.join(self._key)}")

    def __call__(self, W: torch.Tensor) -> torch.Tensor:
        if self.is_zero:
            return W.new_zeros(W.shape[: W.ndim - self.ndim])
        return mean_over(_ELEMENTWISE[self._key](W), self.ndim)


class _RegualizerZ:
    """A penalty that ties a weight to the inputs it saw since the last optimiser step.

    Forward passes record their inputs; a call on W returns the penalty, shape `runs`.
    """

    def __init__(self, zero: bool = False):
        self.is_zero = zero
        self._inputs: list[torch.Tensor] = []

    def __getstate__(self) -> dict[str, Any]:
        # Inputs belong to a graph, which can neither be copied nor saved.
        return vars(self) | {"_inputs": []}

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
    """The penalty mean (1 - |W|) x_mean^2."""

    def _penalty(self, W, mean_input):
        return (1 - W.abs()) * mean_input**2


class RegualizerNMUZ(_RegualizerZ):
    """The penalty mean (1 - W) (1 - x_mean)^2."""

    def _penalty(self, W, mean_input):
        return (1 - W) * (1 - mean_input) ** 2
