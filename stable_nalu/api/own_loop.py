"""Units in a training loop of one's own: penalties, bounds, and where training stands."""

import math
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from numbers import Real
from typing import Any, TypeVar

import torch

from stable_nalu import abstract
from stable_nalu.abstract import ExtendedTorchModule, overrides
from stable_nalu.base.errors import UsageError, did_you_mean
from stable_nalu.options.flags import NPU_PENALTIES, PENALTIES
from stable_nalu.training.step import INALU_START, INALU_WEIGHT, BetaGrowth

_DEFAULTS: dict[str, Any] = {flag.dest: flag.default for flag in (*PENALTIES, *NPU_PENALTIES)}
_RAMP = _DEFAULTS["regualizer_scaling_start"], _DEFAULTS["regualizer_scaling_end"]
_BY_OPTION = {"z": "regualizer_z", "W-NPU": "regualizer_npu_w", "g-NPU": "regualizer_gate"}
"""Penalties that an option of their unit switches on; its value is their weight."""
_FIXED = {"W": _DEFAULTS["regualizer"], "W-OOB": _DEFAULTS["regualizer_oob"], "W-set": 0}
_FIXED["inalu"] = INALU_WEIGHT

Ramp = tuple[float, float] | None
Optimizer = TypeVar("Optimizer", bound=torch.optim.Optimizer)


def penalty(
    model: torch.nn.Module,
    step: int,
    *,
    weights: Mapping[str, float] | None = None,
    ramp: Ramp = None,
) -> torch.Tensor:
    """Return the weighted sum of the penalties of all units, to be added to the loss.

    Units see the step, and `model.progress` if it is a number. Frozen units have no penalty.

    Args:
        model: any module.
        step: counted from 0.
        weights: by penalty, such as {"W": 1.0}; others keep the papers' weights, for example 10
            for `W`, the pull to exact weights. An option of a unit that switches a penalty on is
            its weight.
        ramp: the steps between which `W` and the NPU's penalties rise from 0 to their weights;
            None: as in the papers, from 1,000,000 to 2,000,000, and the NPU's by its factor beta.

    Examples:
        >>> unit = sn.layer("NMU")(2, 1)
        >>> sn.penalty(unit, step=500, ramp=(0, 1000)).item() > 0
        True
        >>> sn.penalty(unit.freeze(), step=500, ramp=(0, 1000)).item()
        0.0
    """
    given = _checked(model, step, weights, ramp)
    _stand_at(model, step)
    total, seen = None, set()
    for unit, key, term in _terms(model):
        seen.add(key)
        weight = _weight(unit, key, step, given.get(key), ramp)
        if term is None and given.get(key) and "regualizer_terms" not in vars(unit):
            option = _BY_OPTION.get(key)
            remedy = f"build it with {option}=1" if option else "leave the weight out"
            raise UsageError(f"weights: {key} is switched off in {type(unit).__name__}; {remedy}")
        if term is not None and weight:
            value = weight * term()
            total = value if total is None else total + value
    for key in given.keys() - seen:
        remedy = did_you_mean(key, seen, f"there are {', '.join(sorted(seen)) or 'none'}")
        raise UsageError(f"weights: no unit of the model has the penalty {key!r}; {remedy}")
    if total is None:
        first = next(model.parameters(), torch.empty(()))
        return torch.zeros((), dtype=first.dtype, device=first.device)
    return total


def constrain(model: torch.nn.Module, loss: torch.Tensor | None = None) -> None:
    """Clamp the weights of all units in a model to their ranges; call it after `optimizer.step()`.

    Args:
        model: any module.
        loss: the loss without penalties; only gradient bandits need it.

    Examples:
        >>> unit = sn.layer("NMU")(2, 1)
        >>> unit.W.data.fill_(1.5)[0, 0].item()
        1.5
        >>> sn.constrain(unit)
        >>> unit.W[0, 0].item()
        1.0
    """
    _require_module(model)
    error = torch.zeros(()) if loss is None else loss.detach()
    for unit in _units(model, "optimize"):
        if loss is None and hasattr(unit, "running_mean_loss"):
            raise UsageError(f"loss: {type(unit).__name__} learns from it; give the loss, too")
        if overrides(unit, "optimize"):
            unit.optimize(error)
        else:
            abstract.constrain([unit], error)
            unit.stand_at(unit._iteration + 1, unit._progress)
            if (tau := unit._parameters.get("tau")) is not None:
                with torch.no_grad():
                    tau.fill_(unit.tau_at(unit._iteration))


def wrap(
    optimizer: Optimizer,
    model: torch.nn.Module,
    *,
    steps: int | None = None,
    weights: Mapping[str, float] | None = None,
    ramp: Ramp = None,
) -> Optimizer:
    """Let `optimizer.step()` add the gradients of all penalties and keep weights in range.

    It returns the optimiser, which learning-rate schedulers take as before. Its steps are counted
    in `state_dict()`, too.

    Args:
        optimizer: one of torch, without a closure.
        model: any module.
        steps: how many there will be, for units that read `progress`.
        weights: as in `penalty`.
        ramp: as in `penalty`.

    Examples:
        >>> unit = sn.layer("NMU")(2, 1)
        >>> optimizer = sn.wrap(torch.optim.SGD(unit.parameters(), lr=100.0), unit)
        >>> unit(torch.ones(1, 2) * 3).sum().backward()
        >>> optimizer.step()
        >>> unit.W.tolist()
        [[0.0, 0.0]]
    """
    if not isinstance(optimizer, torch.optim.Optimizer):
        remedy = "call sn.penalty and sn.constrain in the loop"
        raise UsageError(f"optimizer: {type(optimizer).__name__} is not one of torch; {remedy}")
    _checked(model, 0, weights, ramp)
    if steps is not None and not (isinstance(steps, int) and steps > 0):
        raise UsageError(f"steps: {steps!r} is not a number of steps; write one such as 5000")
    wrapped: list[Any] = vars(optimizer).setdefault("_models_of_units", [])
    if any(one is model for one in wrapped):
        raise UsageError("optimizer: it is wrapped for this model already; wrap it once")
    key = f"units_step_{len(wrapped)}"
    wrapped.append(model)

    def before(optimizer: Any, args: Any, named: Any) -> None:
        if any(value is not None for value in (*args[1:], *named.values())):
            remedy = "add sn.penalty(model, step) to the loss in it, and call sn.constrain(model)"
            raise UsageError(f"optimizer: a wrapped one takes no closure; {remedy}")
        at = optimizer.param_groups[0][key]
        total = penalty(model, at, weights=weights, ramp=ramp)
        try:
            total.backward() if total.requires_grad else None
        except RuntimeError as error:
            if "second time" not in str(error):
                raise
            remedy = "call loss.backward(retain_graph=True), or add sn.penalty to the loss"
            raise UsageError(f"model: its penalty z reads inputs of a graph; {remedy}") from None

    def after(optimizer: Any, *_: Any) -> None:
        constrain(model)
        optimizer.param_groups[0][key] += 1
        stand(optimizer)

    def stand(optimizer: Any) -> None:
        at = optimizer.param_groups[0].setdefault(key, 0)
        if steps is not None:
            model.progress = at / steps  # pyright: ignore[reportAttributeAccessIssue]
        _stand_at(model, at)

    stand(optimizer)
    optimizer.register_step_pre_hook(before)
    optimizer.register_step_post_hook(after)
    optimizer.register_load_state_dict_post_hook(stand)
    return optimizer


def _require_module(model: object) -> None:
    if not isinstance(model, torch.nn.Module):
        raise UsageError(f"model: {type(model).__name__} is not a module of torch; give the model")


def _checked(model: object, step: object, weights: Any, ramp: Any) -> dict[str, float]:
    """Return the weights that are given; refuse what cannot be obeyed."""
    _require_module(model)
    if not isinstance(step, Real) or not 0 <= float(step) < math.inf:
        raise UsageError(f"step: {step!r} is not a step; count steps from 0")
    given = dict(weights or {}) if isinstance(weights, Mapping | None) else {"": weights}
    for value in given.values():
        if not isinstance(value, Real) or not math.isfinite(value) or "" in given:
            raise UsageError(f'weights: {value!r} is not a weight; write {{"W": 10.0}}')
    if ramp is not None:
        good = isinstance(ramp, tuple | list) and len(ramp) == 2
        if not good or not all(isinstance(end, Real) for end in ramp) or not ramp[0] < ramp[1]:
            raise UsageError(f"ramp: {ramp!r} is not two steps; write (start, end)")
    return given


def _units(model: torch.nn.Module, method: str) -> Iterator[ExtendedTorchModule]:
    """Yield each unit in a model once; one with a method of its own acts for those within it."""
    done, due = set[torch.nn.Module](), [model]
    while due:
        module = due.pop()
        is_unit = isinstance(module, ExtendedTorchModule)
        if is_unit and module not in done:
            yield module
        if module not in done and not (is_unit and overrides(module, method)):
            due += reversed([*module.children()])
        done.add(module)


def _terms(model: torch.nn.Module) -> Iterator[tuple[Any, str, Callable[[], Any] | None]]:
    for unit in _units(model, "regualizer"):
        own = unit.regualizer_terms()
        if overrides(unit, "regualizer"):
            own = {key: lambda value=value: value for key, value in unit.regualizer().items()}
        for key, term in own.items():
            yield unit, key, term


def _stand_at(model: torch.nn.Module, step: int) -> None:
    progress = vars(model).get("progress")
    for unit in model.modules():
        if isinstance(unit, ExtendedTorchModule):
            known = isinstance(progress, Real)
            unit.stand_at(int(step), float(progress) if known else unit._progress)


@cache
def _beta(changes: int) -> float:
    """Return the NPU's factor after so many changes."""
    names = (f"regualizer_beta_{part}" for part in ("start", "end", "step", "growth"))
    beta = BetaGrowth(*(_DEFAULTS[name] for name in names))
    for change in range(1, changes + 1):
        beta.advance(change * beta.step)
    return float(beta)


def _weight(unit: Any, key: str, step: float, given: float | None, ramp: Ramp) -> float:
    """Return the weight of a penalty at a step."""
    weight = given
    if weight is None:
        own = getattr(unit, "penalty_weights", lambda step: {})(int(step))
        weight = getattr(unit, _BY_OPTION[key], 1) if key in _BY_OPTION else _FIXED.get(key, 1)
        weight = own.get(key, weight)
    if key == "inalu":
        return weight * (step > INALU_START or given is not None)
    if key.endswith("-NPU") and ramp is None:
        return weight * _beta(int(step) // _DEFAULTS["regualizer_beta_step"])
    if key in ("W", "W-NPU", "g-NPU"):
        start, end = ramp or _RAMP
        weight *= min(1.0, max(0.0, (step - start) / (end - start)))
    return weight
