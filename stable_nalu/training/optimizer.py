"""Adam, RMSprop and SGD over leading run dimensions, with the numbers of `torch.optim`.

Elementwise updates do not care how many runs are stacked; the learning rate may differ per run.
Written out here because a bare `torch.optim` step costs more than the whole forward pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import torch

from stable_nalu.functional import per_run

Number = float | torch.Tensor
Gradients = Sequence[torch.Tensor | None]
Slots = dict[str, list[torch.Tensor]]


class Optimizer:
    """Parameters and, per parameter, a step count and the tensors named in `slots`.

    `learning_rate` is a number, or one per run in a float64 tensor of shape `runs`.
    """

    slots: ClassVar[tuple[str, ...]]

    def __init__(self, parameters: Sequence[torch.Tensor], learning_rate: Number):
        self.parameters = list(parameters)
        self.learning_rate = learning_rate
        self.steps = [0] * len(self.parameters)
        self.state: Slots = {
            slot: [torch.zeros_like(p) for p in self.parameters] for slot in self.slots
        }

    def step(self, gradients: Gradients) -> None:
        """Update all parameters that have a gradient."""
        with torch.no_grad():
            for k, gradient in enumerate(gradients):
                if gradient is not None:
                    self.steps[k] += 1
                    slots = [self.state[slot][k] for slot in self.slots]
                    scalars = self.scalars(self.steps[k])
                    # Of x W^T it comes transposed, and is read several times.
                    self.apply(self.parameters[k], slots, gradient.contiguous(), scalars)

    def scalars(self, step: int) -> tuple[Number, ...]:
        """Return the numbers that `apply` needs and that change with the step."""
        raise NotImplementedError

    def apply(
        self,
        parameter: torch.Tensor,
        slots: Sequence[torch.Tensor],
        gradient: torch.Tensor,
        scalars: Sequence[Number],
    ) -> None:
        """Update one parameter and its slots in place."""
        raise NotImplementedError


class Adam(Optimizer):
    """Adam with torch's defaults: betas 0.9 and 0.999, epsilon 1e-8, no decay."""

    slots = ("exp_avg", "exp_avg_sq")
    beta_1, beta_2, epsilon = 0.9, 0.999, 1e-8

    def scalars(self, step: int) -> tuple[Number, ...]:
        correction = (1 - self.beta_2**step) ** 0.5
        return correction, self.learning_rate / (1 - self.beta_1**step)

    def apply(self, parameter, slots, gradient, scalars):
        average, square = slots
        correction, size = scalars
        average.lerp_(gradient, 1 - self.beta_1)
        square.mul_(self.beta_2).addcmul_(gradient, gradient, value=1 - self.beta_2)
        denominator = square.sqrt().div_(correction).add_(self.epsilon)
        if isinstance(size, torch.Tensor):
            parameter.add_((average * -_shaped(size, parameter)).div_(denominator))
        else:
            parameter.addcdiv_(average, denominator, value=-size)


class RMSprop(Optimizer):
    """RMSprop with torch's defaults: smoothing 0.99, epsilon 1e-8, no momentum, not centred."""

    slots = ("square_avg",)
    smoothing, epsilon = 0.99, 1e-8

    def scalars(self, step: int) -> tuple[Number, ...]:
        return (self.learning_rate,)

    def apply(self, parameter, slots, gradient, scalars):
        (rate,), (square,) = scalars, slots
        square.mul_(self.smoothing).addcmul_(gradient, gradient, value=1 - self.smoothing)
        denominator = square.sqrt().add_(self.epsilon)
        if isinstance(rate, torch.Tensor):
            parameter.add_((gradient * -_shaped(rate, parameter)).div_(denominator))
        else:
            parameter.addcdiv_(gradient, denominator, value=-rate)


class SGD(Optimizer):
    """Gradient descent with momentum, which is not Nesterov's."""

    slots = ("momentum_buffer",)

    def __init__(self, parameters: Sequence[torch.Tensor], learning_rate: Number, momentum: Number):
        super().__init__(parameters, learning_rate)
        self.momentum = momentum

    def scalars(self, step: int) -> tuple[Number, ...]:
        return (self.learning_rate,)

    def apply(self, parameter, slots, gradient, scalars):
        (rate,) = scalars
        if isinstance(self.momentum, torch.Tensor) or self.momentum != 0:
            (buffer,) = slots
            buffer.mul_(_shaped(self.momentum, parameter)).add_(gradient)
            gradient = buffer
        if isinstance(rate, torch.Tensor):
            # Fused like `add_` with alpha below: one rounding, equal numbers.
            parameter.addcmul_(gradient, -_per_run(rate, parameter))
        else:
            parameter.add_(gradient, alpha=-rate)


OPTIMIZERS: dict[str, type[Optimizer]] = {"adam": Adam, "rmsprop": RMSprop}
"""Optimisers that take a learning rate alone, by their flag."""


def _shaped(value: Number, parameter: torch.Tensor) -> Number:
    return _per_run(value, parameter) if isinstance(value, torch.Tensor) else value


def _per_run(value: torch.Tensor, parameter: torch.Tensor) -> torch.Tensor:
    value = value.to(parameter.device, parameter.dtype)
    return per_run(value, parameter.ndim - value.ndim) if value.ndim else value


def optimizer_state(optimizer: Optimizer, run: int | None) -> dict:
    """Return the state of a run in the layout of `torch.optim`; `run` is None if not stacked."""
    state = {}
    for k, step in enumerate(optimizer.steps):
        if step == 0:
            continue
        state[k] = {"step": torch.tensor(float(step))}
        for slot, values in optimizer.state.items():
            value = values[k] if run is None else values[k][run]
            state[k][slot] = value.detach().cpu().clone()
    return {"state": state, "param_groups": [{"params": list(range(len(optimizer.steps)))}]}


@torch.no_grad()
def load_optimizer_state(optimizer: Optimizer, state: dict, run: int | None) -> None:
    """Put the state of one run back."""
    for k in range(len(optimizer.steps)):
        entry = state["state"].get(k)
        optimizer.steps[k] = 0 if entry is None else int(entry["step"])
        for slot, values in optimizer.state.items():
            target = values[k] if run is None else values[k][run]
            if entry is None or entry.get(slot) is None:
                target.zero_()
            else:
                target.copy_(entry[slot])
