"""One training iteration of all runs: loss with penalties, gradients, clipping, update, bounds.

    L = criterion + lambda_W s R[W] + R[g] + lambda_z R[z] + lambda_oob R[W-OOB]
        + beta L1 + lambda_npuW v R[W-NPU] + lambda_gate v R[g-NPU] + c R[inalu]

with s the penalty ramp and v = beta (`heim`) or s (`madsen`). A term whose weight is zero in all
runs at an iteration is not computed.

A term of another name has the weight 1, or that which `penalty_weights(step)` of its layer says.

Optimisers have the numbers of `torch.optim`. They are written out here because a bare `torch.optim`
step costs more than the whole forward pass; one of torch makes plain steps of single runs. Of
stacked runs a step only holds the state: the engine makes their iterations.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from decimal import Decimal
from functools import cache
from itertools import accumulate
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import torch

from stable_nalu.abstract import ExtendedTorchModule, constrain, overrides
from stable_nalu.base.errors import UsageError, in_words
from stable_nalu.functional import criterion_of, lp_norm
from stable_nalu.layer.base import PENALTIES
from stable_nalu.layer.nalu import is_gate
from stable_nalu.layer.registry import brought
from stable_nalu.options import Config

from . import recorder
from .recorder import Gradients, LogRecord, Observed, StepLosses, traced

Weight = float | np.ndarray
NAMED = {*PENALTIES, "L1", "W-set"}
"""Penalties that flags weigh, and one that has no weight, as published."""
INALU_WEIGHT, INALU_START, SATURATED = 0.05, 10_000, 20.0
SUM_WEIGHT = 0.1
RATE = 1e-5


class Penalties:
    """All penalties of a model, weighted for a list of configurations, one or of stacked runs."""

    beta_only_grows = False

    def __init__(self, configs: Sequence[Config], model: ExtendedTorchModule):
        self._configs, self._model, first = configs, model, configs[0]
        self._terms: dict[str, list[Callable[[], torch.Tensor]]] = {}
        for module in model.extended_modules():
            for key, term in module.regualizer_terms().items():
                if term is not None:
                    self._terms.setdefault(key, []).append(term)
        names = "regualizer_scaling_start", "regualizer_scaling_end"
        ends = ([getattr(c, name) for c in configs] for name in names)
        self._ramp = PenaltyRamp(first.regualizer_scaling, *ends)
        self.uses_l1 = bool(getattr(first, "regualizer_l1", False))
        self._lp_order = getattr(first, "lp_norm", 1)
        self._heim = getattr(first, "reg_scale_type", "heim") == "heim"
        npu = self._column("regualizer_npu_w") + self._column("regualizer_gate")
        names = [f"regualizer_beta_{part}" for part in ("start", "end", "step", "growth")]
        self.betas = [
            BetaGrowth(*(getattr(c, name) for name in names), only_grows=self.beta_only_grows)
            for c in (configs if self.uses_l1 or (self._heim and npu.any()) else ())
        ]
        self.inalu_active = np.zeros(len(configs))
        self.validation: np.ndarray | None = None
        """The last validation errors, where iNALU's penalty waits for small ones."""
        self._at = 0
        self._own: dict[str, Callable[[int], Mapping[str, float]] | None] = {}
        self._factors = self._build_factors() + self._own_factors()
        self._moves = any(self._own.values())
        self._weights: list[tuple[str, Weight]] = []
        self._stale = True

    def _column(self, name: str) -> np.ndarray:
        return np.array([float(getattr(c, name, 0.0)) for c in self._configs])

    def _build_factors(self) -> list[tuple[str, Callable[[np.ndarray], np.ndarray]]]:
        """Return (key, weight of each run given the ramp s), in the order of the published sum."""
        w, z, oob = (self._column(f"regualizer{x}") for x in ("", "_z", "_oob"))
        npu, gate = self._column("regualizer_npu_w"), self._column("regualizer_gate")
        one = np.ones(len(self._configs))

        def scale(s: np.ndarray) -> np.ndarray:
            return self.beta_values() if self._heim else s

        if self.uses_l1:
            self._terms["L1"] = [self.l1]
        factors = {
            "W": lambda s: w * s,
            "g": lambda s: one,
            "z": lambda s: z,
            "W-OOB": lambda s: oob,
            "L1": lambda s: self.beta_values(),
            "W-NPU": lambda s: npu * scale(s),
            "g-NPU": lambda s: gate * scale(s),
            "inalu": lambda s: INALU_WEIGHT * self.inalu_active,
        }
        return [(key, factor) for key, factor in factors.items() if key in self._terms]

    def _own_factors(self) -> list[tuple[str, Callable[[np.ndarray], np.ndarray]]]:
        """Return factors of penalties that no flag weighs. Their layers give the weights."""
        for module in self._model.extended_modules():
            for key in module.regualizer_terms().keys() - NAMED:
                self._own.setdefault(key, getattr(module, "penalty_weights", None))
        one = np.ones(len(self._configs))

        def weight(key: str) -> np.ndarray:
            weights = self._own[key]
            return one if weights is None else one * float(weights(self._at).get(key, 1.0))

        return [(key, lambda s, key=key: weight(key)) for key in self._own if key in self._terms]

    def keys(self) -> list[str]:
        """Return the penalties that are in force at some iteration, in their order."""
        one = np.ones(len(self._configs))
        held, self.inalu_active = self.inalu_active, one
        own = self._own
        keys = [key for key, factor in self._factors if key in own or factor(one).any()]
        self.inalu_active = held
        return keys

    def beta_values(self) -> np.ndarray:
        """Return the current beta of each run; zero when nothing uses it."""
        return np.array([float(beta) for beta in self.betas] or [0.0] * len(self._configs))

    def weights(self, iteration: int) -> list[tuple[str, Weight]]:
        """Return the penalties in force at `iteration` and their weights; move the beta schedule.

        Call it once per iteration. A weight is a number, or one per run where runs differ; the list
        is computed again only when a schedule moved.
        """
        for beta in self.betas:
            self._stale |= beta.advance(iteration)
        if "inalu" in self._terms and self.validation is not None:
            # It acts on runs whose last validation error is below 1.
            active = (self.validation < 1) & (iteration > INALU_START)
            self._stale |= bool((active != self.inalu_active).any())
            self.inalu_active = active.astype(np.float64)
        self._at = iteration
        if self._stale or self._moves or self._ramp.next_move(iteration - 1) == iteration:
            ramp = self._ramp.at(iteration)
            weighted = [(key, factor(ramp)) for key, factor in self._factors]
            self._weights = [
                (key, w if (w != w[0]).any() else float(w[0])) for key, w in weighted if w.any()
            ]
            self._stale = False
        return self._weights

    def next_change(self, iteration: int) -> float:
        """Return the first iteration after this one at which weights may differ."""
        growing = (iteration - iteration % beta.step + beta.step for beta in self.betas)
        own = [iteration + 1] * self._moves
        return min([self._ramp.next_move(iteration), *own, *growing])

    def set_up(self, optimizer: "Optimizer", names: Sequence[str]) -> None:
        """Say what an optimiser of parameters of these names does besides its steps."""

    def value(self, key: str) -> torch.Tensor:
        first, *others = self._terms[key]
        return sum((term() for term in others), first())

    def l1(self) -> torch.Tensor:
        """Return the sum of the norms of all parameters, trainable or not."""
        norms = [lp_norm(p, self._lp_order, p.ndim) for p in self._model.parameters()]
        return sum(norms[1:], norms[0])

    def total(self, weights: Sequence[tuple[str, Any]]) -> torch.Tensor | None:
        """Return the weighted sum of the penalties in force; None without penalties."""
        total = None
        for key, weight in weights:
            value = weight * self.value(key)
            total = value if total is None else total + value
        return total


class GrowingPenalties(Penalties):
    """Penalties whose factor beta never falls, as in the curriculum."""

    beta_only_grows = True


class LatePenalties(Penalties):
    """No penalty in the loss; instead, `TFRMSprop` makes updates that push parameters away from 0.

    They minimise 0.05 mean(max(20 - |v|, 0)) for each parameter v. Weights and gates take turns of
    8 and 2 steps.
    """

    epoch = 1000
    """Steps of an epoch, in which a flag counts."""

    def _build_factors(self) -> list[tuple[str, Callable[[np.ndarray], np.ndarray]]]:
        return []

    def set_up(self, optimizer, names):
        assert isinstance(optimizer, TFRMSprop)
        config = self._configs[0]
        optimizer.turns, optimizer.groups = (8, 2), list(map(is_gate, names))
        optimizer.late, optimizer.late_from = self._pull, config.penalty_epoch * self.epoch
        optimizer.late_always = config.penalty_turns == "all"

    @staticmethod
    def _pull(parameter: torch.Tensor) -> torch.Tensor:
        inside = (parameter.abs() < SATURATED).to(parameter.dtype)
        return torch.sign(parameter) * inside * (-INALU_WEIGHT / parameter.numel())


class SummedPenalties(Penalties):
    """The penalties of the recurrent scripts: 0.1 s (R[W] + R[g] + R[z] + R[W-OOB]).

    The ramp sets the scale s. Published scripts added one number that a model returned for all its
    penalties. A flag may give another weight than 0.1.
    """

    def _build_factors(self) -> list[tuple[str, Callable[[np.ndarray], np.ndarray]]]:
        keys = ("W", "g", "z", "W-OOB")
        own = np.array([getattr(c, "regualizer", SUM_WEIGHT) for c in self._configs], float)
        return [(key, lambda s: own * s) for key in keys if key in self._terms]


def saturation(iteration: int) -> float:
    return 1 - math.exp(-RATE * iteration)


class PenaltyRamp:
    """Scale of the discretisation penalty, one number per run.

    `linear` rises from 0 at `start` to 1 at `end` (an end before the start makes it fall from 1 to
    0); `exp` is 1 - exp(-1e-5 i).
    """

    def __init__(self, scaling: str, start: list[int], end: list[int]):
        self.scaling = scaling
        self.start = np.asarray(start, dtype=np.float64)
        self.length = np.asarray(end, dtype=np.float64) - self.start
        self._first, self._last = min(*start, *end), max(*start, *end)

    def next_move(self, iteration: int) -> float:
        """Return the first iteration after this one that moves the scale."""
        if self.scaling == "exp" or self._first <= iteration < self._last:
            return iteration + 1
        return math.inf if iteration >= self._last else self._first + 1

    def at(self, iteration: int) -> np.ndarray:
        if self.scaling == "exp":
            return np.full(self.start.shape, saturation(iteration))
        return np.clip((iteration - self.start) / self.length, 0.0, 1.0)


class BetaGrowth:
    """The factor of the NPU papers' penalties: times `growth` every `step` iterations until `end`.

    Exact decimals, so that repeated factors do not drift. A start above the end decreases. A factor
    that overshoots `end` is followed by the reverse factor, as in the published code: the value
    then oscillates.
    """

    def __init__(self, start: float, end: float, step: int, growth: int, *, only_grows=False):
        self.value, self.end = Decimal(str(start)), Decimal(str(end))
        self.step, self.growth, self.only_grows = step, growth, only_grows

    def advance(self, iteration: int) -> bool:
        """Update the value at the beginning of `iteration`; return whether it may have changed."""
        if iteration % self.step != 0 or iteration == 0:
            return False
        if self.value < self.end:
            self.value *= self.growth
        elif self.value > self.end and not self.only_grows:
            self.value /= self.growth
        return True

    def __float__(self) -> float:
        return float(self.value)


class Optimizer:
    """Parameters and, per parameter, a step count and the tensors named in `slots`.

    `learning_rate` is a number; of stacked runs it may be one per run in a float64 array. The
    engine records `apply`, and calls `numbers` for each iteration. own_rates: rates of single
    parameters, by their places, which follow the schedule of the learning rate.
    """

    slots: ClassVar[tuple[str, ...]] = ()
    first: ClassVar[float] = 0.0
    """What slots are filled with before the first step."""
    obstacle: str | None = None
    """Why the engine cannot make its steps."""

    def __init__(self, parameters: Sequence[torch.Tensor], learning_rate: Any):
        self.parameters = list(parameters)
        self.learning_rate = self.base_rate = learning_rate
        self.own_rates: dict[int, float] = {}
        self.steps = [0] * len(self.parameters)
        first = self.first
        self.state = {s: [torch.full_like(p, first) for p in parameters] for s in self.slots}

    def step(self, gradients: Gradients) -> None:
        with torch.no_grad():
            for k, gradient in enumerate(gradients):
                if gradient is not None:
                    self.steps[k] += 1
                    slots = [self.state[slot][k] for slot in self.slots]
                    # Of x W^T it comes transposed, and is read several times.
                    own = self.parameters[k], gradient.contiguous()
                    self.apply(*own, slots, *self.numbers_of(k))

    def numbers_of(self, k: int) -> tuple[Any, ...]:
        """Return the numbers of the present step of a parameter."""
        return self.numbers(self.steps[k], self.rate_of(k))

    def rate_of(self, k: int) -> Any:
        return self.own_rates[k] * self.factor if k in self.own_rates else self.learning_rate

    @property
    def factor(self) -> float:
        """Return what its schedule multiplies the learning rate by at the moment."""
        return self.learning_rate / self.base_rate if self.base_rate else 1.0

    def follow(self, loss: torch.Tensor) -> None:
        """Make further updates behind a step, whose batch had this loss."""

    def numbers(self, step: int, rate: Any) -> tuple[Any, ...]:
        """Return the numbers that a step depends on, counted from 1, at a learning rate."""
        raise NotImplementedError

    def apply(self, parameter: Any, gradient: Any, slots: Any, *numbers: Any) -> None:
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


class AdamW(Adam):
    """Adam that first shrinks weights by 0.01 times the learning rate, torch's default."""

    decay = 0.01

    def numbers(self, step, rate):
        return 1 - rate * self.decay, *super().numbers(step, rate)

    def apply(self, parameter, gradient, slots, shrinking, size, correction):
        parameter.mul_(shrinking)
        super().apply(parameter, gradient, slots, size, correction)


class NAdam(Adam):
    """Adam with Nesterov's momentum, which grows by torch's default schedule."""

    growth = 4e-3
    products: ClassVar[list[float]] = [1.0]
    """Of all momenta up to a step."""

    def _momentum(self, step: int) -> float:
        return self.beta_1 * (1 - 0.5 * 0.96 ** (step * self.growth))

    def numbers(self, step, rate):
        while len(self.products) <= step:
            self.products.append(self.products[-1] * self._momentum(len(self.products)))
        product = self.products[step]
        own, after = self._momentum(step), self._momentum(step + 1)
        sizes = -(rate * (1 - own) / (1 - product)), -(rate * after / (1 - product * after))
        return *sizes, (1 - self.beta_2**step) ** 0.5

    def apply(self, parameter, gradient, slots, size, of_average, correction):
        average, square = slots
        average.lerp_(gradient, 1 - self.beta_1)
        square.mul_(self.beta_2).addcmul_(gradient, gradient, value=1 - self.beta_2)
        denominator = square.sqrt().div_(correction).add_(self.epsilon)
        parameter.addcdiv_(gradient, denominator, value=size)
        parameter.addcdiv_(average, denominator, value=of_average)


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


class FluxRMSprop(RMSprop):
    """RMSprop with the defaults of Flux: smoothing 0.9, epsilon 1e-8 outside of the root."""

    smoothing = 0.9


class TFRMSprop(Optimizer):
    """RMSprop of TensorFlow 1: epsilon 1e-10 is in the root, and mean squares start at 1.

    turns: how many steps in a row update the parameters of each group, the one after the other; at
    first all are one group. groups: the group of each parameter. late: the gradient of a penalty on
    a parameter, if there is one, which has an update of its own behind each step later than
    `late_from`, where the loss of the batch is below 1: for groups in their turn or, if
    `late_always`, for all.
    """

    slots = ("square_avg",)
    first = 1.0
    smoothing, epsilon = 0.9, 1e-10
    late: Callable[[torch.Tensor], torch.Tensor] | None = None
    late_from, late_always = 0, False

    def __init__(self, parameters: Sequence[torch.Tensor], learning_rate: Any):
        super().__init__(parameters, learning_rate)
        self.turns: Sequence[int] = (1,)
        self.groups: Sequence[int] = [0] * len(self.parameters)

    def numbers(self, step, rate):
        at, ends = (step - 1) % sum(self.turns), accumulate(self.turns)
        acts = [end - turn <= at < end for end, turn in zip(ends, self.turns, strict=True)]
        late = [step > self.late_from and (own or self.late_always) for own in acts]
        pairs = zip(acts, late, strict=True)
        return tuple(on * n for pair in pairs for on in pair for n in (1 - self.smoothing, -rate))

    @torch.no_grad()
    def follow(self, loss):
        small = (loss < 1).to(loss.dtype)
        for k, parameter in enumerate(self.parameters):
            if self.late is not None and self.steps[k]:
                slots, (share, size) = [self.state["square_avg"][k]], self.numbers_of(k, late=True)
                self.apply(parameter, self.late(parameter), slots, small * share, small * size)

    def numbers_of(self, k, *, late=False):
        start = 4 * self.groups[k] + 2 * late
        return super().numbers_of(k)[start : start + 2]

    def apply(self, parameter, gradient, slots, share, size):
        (square,) = slots
        square.add_((gradient * gradient - square) * share)
        parameter.add_(gradient * size * (square + self.epsilon).rsqrt())


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


OPTIMIZERS: dict[str, type[Optimizer]] = {
    **{"adam": Adam, "adamw": AdamW, "nadam": NAdam, "rmsprop": RMSprop},
    "flux-rmsprop": FluxRMSprop,
    "tf-rmsprop": TFRMSprop,
}
"""Optimisers that take a learning rate alone, by their flag."""


class OfTorch(Optimizer):
    """An optimiser of torch, which a function of the program makes of the parameters."""

    obstacle = "an optimiser of the program"

    def __init__(self, parameters: Sequence[torch.Tensor], rate: Any, make: Callable[..., Any]):
        super().__init__(parameters, rate)
        try:
            self.own = make(self.parameters)
            self._rates = [group["lr"] for group in self.own.param_groups]
        except Exception as error:
            raise UsageError(f"argument --optimizer: {in_words(error)}") from None

    def step(self, gradients: Gradients) -> None:
        for parameter, gradient in zip(self.parameters, gradients, strict=False):
            parameter.grad = gradient
        for group, rate in zip(self.own.param_groups, self._rates, strict=True):
            group["lr"] = rate * self.factor
        try:
            self.own.step()
        except Exception as error:
            raise UsageError(f"argument --optimizer: its step fails: {in_words(error)}") from None
        self.own.zero_grad()


def factor_at(schedule: Callable[..., Any]) -> Callable[[int], float]:
    """Return what a schedule multiplies the learning rate by at each step.

    schedule: a function of the step, or what makes a scheduler of torch, given an optimiser.
    """
    try:
        found = schedule(0)
    except Exception:
        found = None
    if isinstance(found, Real):

        def of_step(at: int) -> float:
            try:
                return float(schedule(at))
            except Exception as error:
                said = f"at step {at}: {in_words(error)}"
                raise UsageError(f"argument --schedule: {said}") from None

        return of_step
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(()))], lr=1.0)
    try:
        own = schedule(optimizer)
        factors = [float(optimizer.param_groups[0]["lr"])]
    except Exception as error:
        raise UsageError(f"argument --schedule: {in_words(error)}") from None

    def factor(at: int) -> float:
        while len(factors) <= at:
            try:
                optimizer.step()
                own.step()
            except Exception as error:
                raise UsageError(f"argument --schedule: {in_words(error)}") from None
            factors.append(float(optimizer.param_groups[0]["lr"]))
        return factors[at]

    return factor


def optimizer_state(optimizer: Optimizer, run: int | None) -> dict:
    """Return a run's state in the layout of `torch.optim`. run: None if runs are not stacked."""
    if isinstance(optimizer, OfTorch):
        return optimizer.own.state_dict()
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
    if isinstance(optimizer, OfTorch):
        optimizer.own.load_state_dict(state)
    for k in range(len(optimizer.steps)):
        entry = state["state"].get(k)
        optimizer.steps[k] = 0 if entry is None else int(entry["step"])
        for slot, values in optimizer.state.items():
            target = values[k] if run is None else values[k][run]
            if entry is None or entry.get(slot) is None:
                target.fill_(optimizer.first)
            else:
                target.copy_(entry[slot])


def per_run_value(configs: Sequence[Config], name: str, default: Any = None) -> Any:
    """Return a flag's value: a number when runs agree, else a float64 array of shape `runs`."""
    values: list[Any] = [getattr(config, name, default) for config in configs]
    return values[0] if len(set(values)) == 1 else np.array(values, np.float64)


class TrainingStep:
    """Model, penalties and optimiser of one run, or of stacked runs.

    error: the loss to minimise, without penalties. limited: clips gradients, by flags unless a
    script has its own limits. run_dims: how many dimensions of parameters are runs. progress: how
    much of the training is done, from 0 to 1, as modules are set to.
    """

    run_dims = 0
    progress = 0.0

    def __init__(self, configs: Sequence[Config], model: ExtendedTorchModule, penalties=Penalties):
        first = configs[0]
        self.error: Callable[..., torch.Tensor] = lambda model, x, t, loss: loss(model(x), t)
        self.limited: Callable[[Gradients], Gradients] = self.clipped
        self.model = model
        self.penalties = penalties(configs, model)
        trainable = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
        self.trainable = [name for name, _ in trainable]
        self.parameters = [p for _, p in trainable]
        self.optimizer = self._build_optimizer(configs)
        self.optimizer.own_rates = self._own_rates()
        self.penalties.set_up(self.optimizer, self.trainable)
        self._criterion_name = getattr(first, "train_criterion", "mse")
        self._own_loss = self._criterion_name.endswith("()")
        self._pcc2mse = getattr(first, "pcc2mse_iteration", 0)
        limits = ((name, per_run_value(configs, name)) for name in CLIPPING)
        self.limits = {name: limit for name, limit in limits if limit is not None}
        modules = list(model.extended_modules())
        hooks = "parameter_bounds", "after_step"
        self._constrained = [m for m in modules if any(overrides(m, hook) for hook in hooks)]
        self._clocked = modules
        self._tempered = [m for m in modules if "tau" in dict(m.named_parameters(recurse=False))]

    def _build_optimizer(self, configs: Sequence[Config]) -> Optimizer:
        rate = per_run_value(configs, "learning_rate", 1e-3)
        name = getattr(configs[0], "optimizer", "adam")
        if name in OPTIMIZERS:
            optimizer = OPTIMIZERS[name](self.parameters, rate)
            if isinstance(optimizer, Adam):
                optimizer.epsilon = getattr(configs[0], "adam_epsilon", Adam.epsilon)
            return optimizer
        if name != "sgd":
            return OfTorch(self.parameters, rate, brought(name))
        return SGD(self.parameters, rate, per_run_value(configs, "momentum", 0.0))

    def _own_rates(self) -> dict[int, float]:
        """Return rates that layers say by `param_groups`, as optimisers of torch take them."""
        layers = (m for m in self.model.modules() if callable(getattr(m, "param_groups", None)))
        groups = [group for layer in layers for group in layer.param_groups()]
        rates = {id(p): float(g["lr"]) for g in groups if "lr" in g for p in g["params"]}
        own = enumerate(self.parameters)
        return {k: rates[id(parameter)] for k, parameter in own if id(parameter) in rates}

    def criteria(self) -> list[Callable]:
        return list(dict.fromkeys(map(self._criterion, (0, max(self._pcc2mse, 0)))))

    def _criterion(self, iteration: int) -> Callable:
        if self._own_loss:
            return _loss_of(self._criterion_name)
        return criterion_of(self._criterion_name, iteration, self._pcc2mse)

    def changes(self) -> tuple[int, ...]:
        """Return the iterations at which criterion or penalties become other ones."""
        return INALU_START + 1, self._pcc2mse

    def set_clock(self, iteration: int) -> None:
        """Set all modules to an iteration, to its progress, and to its temperature."""
        for module in self._tempered:
            module.set_parameter("tau", module.tau_at(iteration))
        for module in self._clocked:
            module.stand_at(iteration, self.progress)

    def prepare(self, iteration: int):
        """Move schedules to `iteration`; return criterion and weights of penalties in force."""
        self.set_clock(iteration)
        return self._criterion(iteration), self.penalties.weights(iteration)

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
        wanted = parameters or self.parameters
        return self.limited(torch.autograd.grad(total, wanted, allow_unused=True))

    def clipped(self, gradients: Gradients) -> Gradients:
        for name, limit in self.limits.items():
            gradients = CLIPPING[name](gradients, limit, self.run_dims)
        return gradients

    def finish(self, criterion: torch.Tensor) -> None:
        """Clamp bounded parameters and run the layers' own actions, after the optimiser."""
        if self._constrained:
            constrain(self._constrained, criterion.detach())

    def run(
        self,
        x: Any,
        t: Any,
        schedule: tuple,
        observed: Observed | None = None,
        write: Callable[[Iterable[LogRecord]], object] = list,
        losses: Callable[[StepLosses], Iterable[LogRecord]] = StepLosses.records,
    ) -> StepLosses:
        """Make one iteration by what `prepare` gave, and log what is `observed` of it, if any.

        losses: called before the update; returns what the losses are logged as.
        """
        seen = observed or Observed()
        if self._own_loss:
            schedule = _explained(schedule[0]), *schedule[1:]
        with traced(self.model, seen.verbose) if seen.modules else nullcontext(list) as observe:
            criterion, penalty, total = self.loss(x, t, *schedule)
            write(observe())
            if seen.penalties:
                zeros = torch.zeros_like(total.detach())
                write(recorder.observe_regualizers(self.model, zeros))
        result = StepLosses(criterion, penalty, total, self.gradients(total))
        if observed is not None:
            write(losses(result))
        self.optimizer.step(result.gradients)
        self.optimizer.follow(criterion.detach())
        self.finish(criterion)
        if seen.gradients:
            write(self.observe_gradients(result.gradients, seen.of))
        return result

    @torch.no_grad()
    def observe_trained(self, batches: Sequence[torch.Tensor], verbose: bool) -> list[LogRecord]:
        """Return what modules observe of inputs, if there are any, apart from training."""
        with traced(self.model, verbose) as observe, self.model.no_random():
            for x in batches:
                self.model(x)
            return observe()

    def observe_gradients(
        self, gradients: Gradients, of: frozenset[int] | None = None
    ) -> list[LogRecord]:
        """Return summary and histogram of each gradient's first row, as published logs hold them.

        of: the ids of the parameters that are logged, if not all are.
        """
        found, tagged = dict(zip(map(id, self.parameters), gradients, strict=False)), []
        for prefix, module, _ in recorder.prefixed_modules(self.model):
            for name, parameter in recorder.own_parameters(module):
                gradient = found.get(id(parameter))
                if gradient is not None and (of is None or id(parameter) in of):
                    rows, tag = gradient.ndim > self.run_dims, f"{prefix}/{name}/grad"
                    row = gradient.select(self.run_dims, 0) if rows else gradient
                    tagged += [LogRecord(tag, row, kind) for kind in ("summary", "histogram")]
        return tagged


@cache
def _loss_of(word: str) -> Callable[..., torch.Tensor]:
    """Return the loss that a program has brought: the same object for all steps of runs."""
    own = brought(word)
    return lambda y, t: _one_number(own(y, t))


def _one_number(value: Any) -> torch.Tensor:
    """Return what a loss of the program has returned, which must be a tensor of one number."""
    if isinstance(value, torch.Tensor) and not value.shape:
        return value
    shown = tuple(value.shape) if isinstance(value, torch.Tensor) else repr(value)
    problem = f"it returned {shown}; return a tensor of one number, such as a mean"
    raise UsageError(f"argument --train-criterion: {problem}")


def _explained(loss: Callable[..., Any]) -> Callable[..., Any]:
    """Return a loss of the program that says in one line where it fails."""

    def checked(y: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
        try:
            return loss(y, t)
        except UsageError:
            raise
        except Exception as error:
            from stable_nalu.layer.own_layers import failure_of_own_layer

            said = failure_of_own_layer(error) or in_words(error)
            raise UsageError(f"argument --train-criterion: {said}") from error

    return checked


def clip_norm(gradients: Gradients, limit: Any, run_dims: int = 0) -> list[torch.Tensor | None]:
    """Scale the gradients of each run so that their joint Euclidean norm is at most `limit`."""
    norms = [lp_norm(g, 2, g.ndim - run_dims) for g in gradients if g is not None]
    total = torch.linalg.vector_norm(torch.stack(norms, dim=-1), dim=-1)
    factor = (limit / (total + 1e-6)).clamp(max=1.0)

    def scaled(gradient: torch.Tensor) -> torch.Tensor:
        ones = (1,) * (gradient.ndim - run_dims)
        return gradient * (factor.reshape(*factor.shape, *ones) if run_dims else factor)

    return [None if g is None else scaled(g) for g in gradients]


def clip_value(gradients: Gradients, limit: Any, _: int = 0) -> list[torch.Tensor | None]:
    return [None if g is None else g.clamp(-limit, limit) for g in gradients]


CLIPPING = {"clip_grad_norm": clip_norm, "clip_grad_value": clip_value}
"""What brings gradients within the limit of a flag, in this order."""
