"""Adam and SGD over leading run dimensions, with the numbers of `torch.optim`.

Elementwise updates do not care how many runs are stacked; the learning rate may differ per run.
Written out here because a bare `torch.optim` step costs more than the whole forward pass.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from stable_nalu.functional.reductions import per_run

LearningRate = float | torch.Tensor
Gradients = Sequence[torch.Tensor | None]


class Adam:
    """Adam with torch's defaults (betas 0.9 and 0.999, epsilon 1e-8, no decay).

    `learning_rate` is a number, or one a run in a float64 tensor of shape `runs`.
    """

    beta_1, beta_2, epsilon = 0.9, 0.999, 1e-8
    slots = ("exp_avg", "exp_avg_sq")

    def __init__(self, parameters: Sequence[torch.Tensor], learning_rate: LearningRate):
        self.parameters = list(parameters)
        self.learning_rate = learning_rate
        self.steps = [0] * len(self.parameters)
        self.state = {slot: [torch.zeros_like(p) for p in self.parameters] for slot in self.slots}

    @torch.no_grad()
    def step(self, gradients: Gradients) -> None:
        """One update; a parameter without gradient is left alone."""
        averages, squares = self.state["exp_avg"], self.state["exp_avg_sq"]
        for k, (parameter, gradient) in enumerate(zip(self.parameters, gradients, strict=True)):
            if gradient is None:
                continue
            self.steps[k] += 1
            average, square = averages[k], squares[k]
            average.lerp_(gradient, 1 - self.beta_1)
            square.mul_(self.beta_2).addcmul_(gradient, gradient, value=1 - self.beta_2)
            correction = (1 - self.beta_2 ** self.steps[k]) ** 0.5
            denominator = (square.sqrt() / correction).add_(self.epsilon)
            size = self.learning_rate / (1 - self.beta_1 ** self.steps[k])
            if isinstance(size, torch.Tensor):
                size = per_run(size.to(parameter.dtype), parameter.ndim - size.ndim)
                parameter.add_((average * -size).div_(denominator))
            else:
                parameter.addcdiv_(average, denominator, value=-size)


class SGD:
    """Plain gradient descent with momentum (not Nesterov's)."""

    slots = ("momentum_buffer",)

    def __init__(
        self, parameters: Sequence[torch.Tensor], learning_rate: LearningRate, momentum: LearningRate
    ):
        self.parameters = list(parameters)
        self.learning_rate = learning_rate
        self.momentum = momentum
        self.steps = [0] * len(self.parameters)
        self.state = {slot: [torch.zeros_like(p) for p in self.parameters] for slot in self.slots}

    @torch.no_grad()
    def step(self, gradients: Gradients) -> None:
        """One update; a parameter without gradient is left alone."""
        buffers = self.state["momentum_buffer"]
        for k, (parameter, gradient) in enumerate(zip(self.parameters, gradients, strict=True)):
            if gradient is None:
                continue
            self.steps[k] += 1
            if isinstance(self.momentum, torch.Tensor) or self.momentum != 0:
                if self.steps[k] == 1:
                    buffers[k].copy_(gradient)
                else:
                    buffers[k].mul_(_shaped(self.momentum, parameter)).add_(gradient)
                gradient = buffers[k]
            if isinstance(self.learning_rate, torch.Tensor):
                parameter.sub_(gradient * _shaped(self.learning_rate, parameter))
            else:
                parameter.add_(gradient, alpha=-self.learning_rate)


def _shaped(value: LearningRate, parameter: torch.Tensor) -> LearningRate:
    if not isinstance(value, torch.Tensor):
        return value
    return per_run(value.to(parameter.dtype), parameter.ndim - value.ndim)


Optimizer = Adam | SGD


def optimizer_state(optimizer: Optimizer, run: int | None) -> dict:
    """State of one run in the layout of `torch.optim` (`None`: the optimiser is not stacked)."""
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
