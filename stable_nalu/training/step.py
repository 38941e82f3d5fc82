"""One training iteration of all runs: forward, loss, gradients, clipping, update, constraints.

Adam, RMSprop and SGD have the numbers of `torch.optim`. Written out here because a bare
`torch.optim` step costs more than the whole forward pass. Of stacked runs a step only holds the
state: the engine makes their iterations.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from typing import Any, ClassVar

import numpy as np
import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.functional import get_train_criterion, lp_norm
from stable_nalu.options import Config

from .loss import INALU_START, Penalties
from .recorder import (
    Gradients,
    Recorder,
    StepResult,
    TaggedValue,
    observe_gradients,
    observe_regualizers,
    traced,
)
from .task import Observed

UNOBSERVED = Observed()

Slots = dict[str, list[torch.Tensor]]


class Optimizer:
    """Parameters and, per parameter, a step count and the tensors named in `slots`.

    `learning_rate` is a number; of stacked runs it may be one per run in a float64 array. The
    engine records `apply`, and calls `numbers` for each iteration.
    """

    slots: ClassVar[tuple[str, ...]]

    def __init__(self, parameters: Sequence[torch.Tensor], learning_rate: Any):
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
                    numbers = self.numbers(self.steps[k], self.learning_rate)
                    # Of x W^T it comes transposed, and is read several times.
                    self.apply(self.parameters[k], gradient.contiguous(), slots, *numbers)

    def numbers(self, step: int, rate: Any) -> tuple[Any, ...]:
        """Return the numbers that a step depends on, counted from 1, at a learning rate."""
        raise NotImplementedError

    def apply(
        self,
        parameter: torch.Tensor,
        gradient: torch.Tensor,
        slots: Sequence[torch.Tensor],
        *numbers: Any,
    ) -> None:
        """Update one parameter and its slots in place; numbers decide nothing."""
        raise NotImplementedError


class Adam(Optimizer):
    """Adam with torch's defaults: betas 0.9 and 0.999, epsilon 1e-8, no decay."""

    slots = ("exp_avg", "exp_avg_sq")
    beta_1, beta_2, epsilon = 0.9, 0.999, 1e-8

    def numbers(self, step, rate):
        return -(rate / (1 - self.beta_1**step)), (1 - self.beta_2**step) ** 0.5

    def apply(self, parameter, gradient, slots, size, correction):
        average, square = slots
        average.lerp_(gradient, 1 - self.beta_1)
        square.mul_(self.beta_2).addcmul_(gradient, gradient, value=1 - self.beta_2)
        denominator = square.sqrt().div_(correction).add_(self.epsilon)
        parameter.addcdiv_(average, denominator, value=size)


class RMSprop(Optimizer):
    """RMSprop with torch's defaults: smoothing 0.99, epsilon 1e-8, no momentum, not centred."""

    slots = ("square_avg",)
    smoothing, epsilon = 0.99, 1e-8

    def numbers(self, step, rate):
        return (-rate,)

    def apply(self, parameter, gradient, slots, size):
        (square,) = slots
        square.mul_(self.smoothing).addcmul_(gradient, gradient, value=1 - self.smoothing)
        denominator = square.sqrt().add_(self.epsilon)
        parameter.addcdiv_(gradient, denominator, value=size)


class SGD(Optimizer):
    """Gradient descent with momentum, which is not Nesterov's."""

    slots = ("momentum_buffer",)

    def __init__(self, parameters: Sequence[torch.Tensor], learning_rate: Any, momentum: Any):
        super().__init__(parameters, learning_rate)
        self.momentum = momentum

    def numbers(self, step, rate):
        return -rate, self.momentum

    def apply(self, parameter, gradient, slots, size, momentum):
        if momentum != 0:
            gradient = slots[0].mul_(momentum).add_(gradient)
        parameter.add_(gradient, alpha=size)


OPTIMIZERS: dict[str, type[Optimizer]] = {"adam": Adam, "rmsprop": RMSprop}
"""Optimisers that take a learning rate alone, by their flag."""


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


def per_run_value(configs: Sequence[Config], name: str, default: Any = None) -> Any:
    """Return a flag's value: a number when runs agree, else a float64 array of shape `runs`."""
    values: list[Any] = [getattr(config, name, default) for config in configs]
    if all(value == values[0] for value in values):
        return values[0]
    return np.array(values, np.float64)


class TrainingStep:
    """Model, penalties and optimiser of one run, or of stacked runs."""

    def __init__(
        self,
        configs: Sequence[Config],
        model: ExtendedTorchModule,
        *,
        stacked: bool = False,
        penalties: Penalties | None = None,
        error: Callable[[ExtendedTorchModule, Any, Any, Any], torch.Tensor] | None = None,
    ):
        first = configs[0]
        self.error = error or (lambda model, x, t, criterion: criterion(model(x), t))
        self.limited: Callable[[Gradients], Gradients] = self.clipped
        """Brings gradients within limits: those of flags, unless a script has its own."""
        self.model = model
        self.run_dims = 1 if stacked else 0
        self.penalties = penalties or Penalties(configs, model)
        self.parameters = [p for p in model.parameters() if p.requires_grad]
        self.optimizer = self._build_optimizer(configs)
        self._criterion_name = getattr(first, "train_criterion", "mse")
        self._pcc2mse = getattr(first, "pcc2mse_iteration", 0)
        self._clip_norm = per_run_value(configs, "clip_grad_norm")
        self._clip_value = per_run_value(configs, "clip_grad_value")
        modules = list(model.extended_modules())
        self._bounded = [m for m in modules if _overrides(m, "parameter_bounds")]
        self._stateful = [m for m in modules if _overrides(m, "after_step")]
        self._clocked = modules
        self.progress = 0.0
        """How much of the training is done, from 0 to 1, as modules are set to."""
        self._tempered = [m for m in modules if "tau" in dict(m.named_parameters(recurse=False))]

    def _build_optimizer(self, configs: Sequence[Config]) -> Optimizer:
        rate = per_run_value(configs, "learning_rate", 1e-3)
        name = getattr(configs[0], "optimizer", "adam")
        if name in OPTIMIZERS:
            optimizer = OPTIMIZERS[name](self.parameters, rate)
            if isinstance(optimizer, Adam):
                optimizer.epsilon = getattr(configs[0], "adam_epsilon", Adam.epsilon)
            return optimizer
        return SGD(self.parameters, rate, per_run_value(configs, "momentum", 0.0))

    def criteria(self) -> list[Callable]:
        """Return the criteria of all iterations."""
        last = max(self._pcc2mse, 0)
        both = (get_train_criterion(self._criterion_name, i, self._pcc2mse) for i in (0, last))
        return list(dict.fromkeys(both))

    def changes(self) -> tuple[int, ...]:
        """Return the iterations at which criterion or penalties become other ones."""
        return INALU_START + 1, self._pcc2mse

    def limits(self) -> dict[str, Any]:
        """Return the numbers of clipping, by their names."""
        held = {"clip_norm": self._clip_norm, "clip_value": self._clip_value}
        return {name: value for name, value in held.items() if value is not None}

    def set_clock(self, iteration: int) -> None:
        """Set all modules to an iteration, to its progress, and to its temperature."""
        for module in self._tempered:
            module.set_parameter("tau", module.tau_at(iteration))
        for module in self._clocked:
            module.stand_at(iteration, self.progress)

    def prepare(self, iteration: int):
        """Move schedules to `iteration`; return criterion and weights of penalties in force."""
        self.set_clock(iteration)
        criterion = get_train_criterion(self._criterion_name, iteration, self._pcc2mse)
        return criterion, self.penalties.weights(iteration)

    def loss(self, x: Any, t: Any, criterion, weights):
        """Return (criterion, weighted penalties or None, total) on a batch."""
        error = self.error(self.model, x, t, criterion)
        penalty = self.penalties.total(weights)
        return error, penalty, error if penalty is None else error + penalty

    def gradients(
        self, total: torch.Tensor, parameters: Sequence[torch.Tensor] | None = None
    ) -> Gradients:
        """Return clipped gradients of all trainable parameters; none when nothing is trainable."""
        if not total.requires_grad:
            return ()
        wanted = self.parameters if parameters is None else parameters
        return self.limited(torch.autograd.grad(total, wanted, allow_unused=True))

    def clipped(self, gradients: Gradients) -> Gradients:
        """Return gradients within the limits that flags set."""
        if self._clip_norm is not None:
            gradients = clip_norm(gradients, self._clip_norm)
        if self._clip_value is not None:
            gradients = clip_value(gradients, self._clip_value)
        return gradients

    def finish(self, criterion: torch.Tensor) -> None:
        """Clamp bounded parameters and run the layers' own actions, after the optimiser."""
        if not (self._bounded or self._stateful):
            return
        with torch.no_grad():
            for module in self._bounded:
                for name, (low, high) in module.parameter_bounds().items():
                    parameter = getattr(module, name)
                    if parameter is not None:
                        parameter.clamp_(low, high)
            criterion = criterion.detach()
            for module in self._stateful:
                module.after_step(criterion)

    def update(self, gradients: Gradients, criterion: torch.Tensor) -> None:
        """Make the optimiser's step and what follows it."""
        self.optimizer.step(gradients)
        self.finish(criterion)

    def run(
        self,
        x: Any,
        t: Any,
        schedule: tuple,
        recorder: Recorder | None = None,
        observed: Observed = UNOBSERVED,
        losses: Callable[[StepResult], Iterable[TaggedValue]] = StepResult.losses,
    ) -> StepResult:
        """Make one iteration by what `prepare` gave, and log it if there is a recorder.

        losses: called before the update; returns what the losses are logged as.
        """
        looks = traced(self.model, observed.verbose) if observed.modules else nullcontext()
        with looks as observe:
            criterion, penalty, total = self.loss(x, t, *schedule)
            if recorder is not None and observe is not None:
                recorder.write(observe())
            if recorder is not None and observed.penalties:
                zeros = torch.zeros_like(total.detach())
                recorder.write(observe_regualizers(self.model, zeros))
        result = StepResult(criterion, penalty, total, self.gradients(total))
        if recorder is not None:
            recorder.write(losses(result))
        self.update(result.gradients, criterion)
        if recorder is not None and observed.gradients:
            recorder.write(self.observe_gradients(result.gradients, observed.of))
        return result

    @torch.no_grad()
    def observe_trained(self, batches: Sequence[torch.Tensor], verbose: bool) -> list[TaggedValue]:
        """Return what modules observe of inputs, if there are any, apart from training."""
        with traced(self.model, verbose) as observe, self.model.no_random():
            for x in batches:
                self.model(x)
            return observe()

    def observe_gradients(
        self, gradients: Gradients, of: frozenset[int] | None = None
    ) -> list[TaggedValue]:
        """Return what is logged of the gradients of parameters, or of those with certain ids."""
        pairs = zip(map(id, self.parameters), gradients, strict=False)
        logged = {key: gradient for key, gradient in pairs if of is None or key in of}
        return observe_gradients(self.model, logged, self.run_dims)


def _overrides(module: ExtendedTorchModule, method: str) -> bool:
    return getattr(type(module), method) is not getattr(ExtendedTorchModule, method)


def clip_norm(gradients: Gradients, limit: Any) -> list[torch.Tensor | None]:
    """Scale gradients so that their joint Euclidean norm is at most `limit`."""
    norms = [lp_norm(g, 2, g.ndim) for g in gradients if g is not None]
    total = torch.linalg.vector_norm(torch.stack(norms, dim=-1), dim=-1)
    factor = (limit / (total + 1e-6)).clamp(max=1.0)
    return [None if g is None else g * factor for g in gradients]


def clip_value(gradients: Gradients, limit: Any) -> list[torch.Tensor | None]:
    """Clamp every element to [-limit, limit]."""
    return [None if g is None else g.clamp(-limit, limit) for g in gradients]
