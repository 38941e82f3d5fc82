"""One iteration of one run, recorded from the layers' code as a function of all that it reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from stable_nalu.abstract import Bound, ExtendedTorchModule, RandomSource, scaled
from stable_nalu.errors import in_words
from stable_nalu.functional import product

from .lower import Lowering
from .values import NotLoweredError, Tensors, Value

FEW_FACTORS = 16


@dataclass(frozen=True)
class Draw:
    """Noise that one run draws in an iteration: the method of torch, its shape and its bounds."""

    kind: str
    shape: tuple[int, ...]
    bounds: tuple[float, float] = (0.0, 1.0)


@dataclass
class RecordedDraws(RandomSource):
    """A source that hands out noise that was drawn before, and notes which noise was asked for."""

    noise: Sequence[torch.Tensor] = ()
    draws: list[Draw] = field(default_factory=list)

    def _next(self, draw: Draw, like: torch.Tensor) -> torch.Tensor:
        self.draws.append(draw)
        place = len(self.draws) - 1
        return self.noise[place] if place < len(self.noise) else like.new_full(draw.shape, 0.5)

    def uniform(
        self, shape: tuple[int, ...], low: Bound, high: Bound, like: torch.Tensor
    ) -> torch.Tensor:
        if isinstance(low, torch.Tensor) or isinstance(high, torch.Tensor):
            return scaled(self._next(Draw("uniform", tuple(shape)), like), low, high, len(shape))
        return self._next(Draw("uniform", tuple(shape), (float(low), float(high))), like)

    def exponential(self, shape: tuple[int, ...], like: torch.Tensor) -> torch.Tensor:
        return self._next(Draw("exponential", tuple(shape)), like)

    def normal(self, shape: tuple[int, ...], like: torch.Tensor) -> torch.Tensor:
        return self._next(Draw("normal", tuple(shape)), like)


class _Product(torch.autograd.Function):
    """A product over a dimension, whose gradient does not branch on the data.

    Of a few factors it is the product of the others; of many, the product divided by each factor
    or, where one is zero, the product of the others.
    """

    @staticmethod
    def forward(ctx: Any, factors: torch.Tensor, dim: int) -> torch.Tensor:
        value = factors.prod(dim)
        ctx.save_for_backward(factors, value)
        ctx.dim = dim
        return value

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor, None]:
        (factors, value), dim = ctx.saved_tensors, ctx.dim
        if factors.shape[dim] <= FEW_FACTORS:
            return _others(factors, dim) * grads[0].unsqueeze(dim), None
        zero = factors == 0
        zeros = zero.to(factors.dtype).sum(dim, keepdim=True)
        others = torch.where(zero, 1.0, factors).prod(dim, keepdim=True)
        only = torch.where((zeros == 1) & zero, others, 0.0)
        quotient = torch.where(zeros == 0, value.unsqueeze(dim) / factors, only)
        return quotient * grads[0].unsqueeze(dim), None


def _others(factors: torch.Tensor, dim: int) -> torch.Tensor:
    """Return the product of all other factors, for each factor."""
    parts = factors.unbind(dim)
    if len(parts) == 1:
        return torch.ones_like(factors)
    before, after = [parts[0]], [parts[-1]]
    for part, opposite in zip(parts[1:-1], parts[-2:0:-1], strict=True):
        before.append(before[-1] * part)
        after.append(opposite * after[-1])
    after = after[::-1]
    inner = [a * b for a, b in zip(before[:-1], after[1:], strict=True)]
    return torch.stack([after[0], *inner, before[-1]], dim)


class _Recordable(TorchFunctionMode):
    """While this lasts, products have gradients that can be recorded."""

    def __torch_function__(self, func: Callable, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func is product:
            return _Product.apply(args[0], -2)
        if func in (torch.prod, torch.Tensor.prod):
            dim = kwargs.get("dim", args[1] if len(args) > 1 else None)
            if isinstance(dim, int) and not (kwargs.get("keepdim") or args[2:]):
                return _Product.apply(args[0], dim)
        return func(*args, **kwargs)


class Recording(torch.nn.Module):
    """A model as the child of a module whose forward pass is whatever is to be recorded.

    So `functional_call` puts recorded tensors in the place of its parameters and buffers.
    """

    def __init__(self, model: ExtendedTorchModule):
        super().__init__()
        self.model = model
        self.body: Callable[..., Any] = lambda: None

    def forward(self, *arguments: Any) -> Any:
        return self.body(*arguments)

    def lowered(
        self,
        body: Callable[..., Sequence[torch.Tensor]],
        tensors: Tensors,
        values: Sequence[Value],
        state: Mapping[str, torch.Tensor],
        *groups: Sequence[torch.Tensor],
    ) -> tuple[list[Value], dict[int, Value]]:
        """Lower `body(state, *groups)`, a list of tensors, while `state` is that of the model.

        values: of all tensors, in order. Return the values of the list, and new ones of tensors
        that were changed in place.
        """
        self.body = body
        before = self._plain_attributes()
        examples = [value for group in (list(state.values()), *groups) for value in group]
        lowering = Lowering(tensors)
        for example, value in zip(examples, values, strict=True):
            lowering.learn(example, value)
        held = {f"model.{name}": value for name, value in state.items()}
        try:
            with lowering, _Recordable():
                outputs = torch.func.functional_call(self, held, (state, *groups))
        except NotLoweredError:
            raise
        except Exception as error:  # whatever a layer does that depends on numbers
            raise NotLoweredError(
                f"a step that cannot be recorded: {in_words(error)[:120]}"
            ) from error

        changed = [
            name for name, value in self._plain_attributes().items() if before[name] != value
        ]
        if changed:
            raise NotLoweredError(f"a layer that changes its own {changed[0]} in a step")
        found = [lowering.value(example) for example in examples]
        new = {k: f for k, (f, v) in enumerate(zip(found, values, strict=True)) if f is not v}
        return [lowering.value(output) for output in outputs], new

    def _plain_attributes(self) -> dict[str, object]:
        """Return numbers and texts that modules hold: no recorded step changes them again."""
        return {
            f"{path}.{name}": value
            for path, module in self.model.named_modules()
            for name, value in {**vars(type(module)), **vars(module)}.items()
            if isinstance(value, int | float | str)
        }


@contextmanager
def drawing_from(model: ExtendedTorchModule, source: RandomSource) -> Iterator[None]:
    """Let all modules of a model draw from `source` while this lasts."""
    modules = list(model.extended_modules())
    before = [module.random for module in modules]
    for module in modules:
        module.random = source
    try:
        yield
    finally:
        for module, own in zip(modules, before, strict=True):
            module.random = own
