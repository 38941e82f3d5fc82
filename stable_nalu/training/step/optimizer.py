"""Adam, RMSprop and SGD over leading run dimensions, with the numbers of `torch.optim`.

Elementwise updates do not care how many runs are stacked; the learning rate may differ per run.
Written out here because a bare `torch.optim` step costs more than the whole forward pass, and so
that a compiler can fuse the update with the rest of an iteration.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from functools import cache, cached_property
from typing import ClassVar

import torch

from stable_nalu import native
from stable_nalu.functional.reductions import per_run

Number = float | torch.Tensor
Gradients = Sequence[torch.Tensor | None]
Slots = dict[str, list[torch.Tensor]]
LASTING, CHANGING = struct.Struct("4q"), struct.Struct("q2d")
"""What adam.cpp reads of a parameter: its place, those of its slots and its length, which last; and
the place of its gradient, or 0 where it has none, and two scalars."""
COMPARED = 70
"""Lengths up to which compiled updates are compared with torch's: four of its longest vectors."""


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

    def step(self, gradients):
        fused = None
        if native.library() is not None and self._suits_compiled_code:
            fused = _fused_as_torch()
        if fused is None:
            super().step(gradients)
        else:
            self.step_compiled(gradients, fused=fused)

    @cached_property
    def _suits_compiled_code(self) -> bool:
        return not isinstance(self.learning_rate, torch.Tensor) and all(
            p.dtype is torch.float32 and p.is_cpu and p.is_contiguous() for p in self.parameters
        )

    @cached_property
    def _parts(self) -> ctypes.Array[ctypes.c_char]:
        """Return what adam.cpp reads: parameters and slots are only ever changed in place."""
        parts = b""
        for values in zip(self.parameters, *self.state.values(), strict=True):
            parts += LASTING.pack(*(value.data_ptr() for value in values), values[0].numel())
            parts += bytes(CHANGING.size)
        return ctypes.create_string_buffer(parts, len(parts))

    def step_compiled(self, gradients: Gradients, *, fused: bool) -> None:
        """Update all parameters that have a gradient in one call of C++ that calls torch's roots.

        Operations of torch are eight for each parameter, and their calls cost more than the rest.
        """
        kept = []
        for k, gradient in enumerate(gradients):
            changing: tuple[Number, ...] = 0, 0.0, 0.0
            if gradient is not None:
                self.steps[k] += 1
                kept.append(gradient := gradient.contiguous())
                changing = gradient.data_ptr(), *self.scalars(self.steps[k])
            start = k * (LASTING.size + CHANGING.size) + LASTING.size
            CHANGING.pack_into(self._parts, start, *changing)
        weights = 1 - self.beta_1, self.beta_2, 1 - self.beta_2, self.epsilon
        library = native.library()
        assert library is not None
        # A loss that depends on no parameter has none: those of the step before are freed.
        library.adam_steps(self._parts, len(gradients), *weights, fused)

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


@cache
def _fused_as_torch() -> bool | None:
    """Return whether torch rounds a product and a sum once; None if compiled code differs."""
    if not native.calls_torch():
        return None
    return next(filter(_is_as_torch, (True, False)), None)


def _is_as_torch(fused: bool) -> bool:
    """Compare compiled updates with torch's, for whole vectors and all that can be left over."""
    generator = torch.Generator().manual_seed(0)

    def same(length: int) -> bool:
        start, *gradients = torch.randn(4, length, dtype=torch.float32, generator=generator)
        plain, compiled = (Adam([start.clone()], 1e-3) for _ in range(2))
        for gradient in gradients:
            Optimizer.step(plain, [gradient])
            compiled.step_compiled([gradient], fused=fused)
        found = [(a.parameters[0], *(v[0] for v in a.state.values())) for a in (plain, compiled)]
        return all(map(torch.equal, *found))

    return all(same(length) for length in (*range(1, COMPARED), 1000))


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
