"""One iteration of one run, recorded from the layers' code and lowered to nodes.

There is one rule for each operation of torch that is known; formulas and their order are those of
torch. An operation without a rule raises `NotLoweredError`.
"""

from __future__ import annotations

import math
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.fx.node import map_aggregate
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from stable_nalu.abstract import Bound, ExtendedTorchModule, RandomSource, scaled
from stable_nalu.errors import in_words
from stable_nalu.functional import product

from .shapes import ShapeRules
from .values import NotLoweredError, Tensors, Value


class Lowering(TorchDispatchMode):
    """While this lasts, what torch computes from tensors becomes nodes as well.

    What it computes from numbers alone are numbers. dtype: of the run.
    """

    def __init__(self, tensors: Tensors, dtype: torch.dtype):
        super().__init__()
        self._rules = OperationRules(tensors)
        self._tensors = tensors
        self._dtype = dtype
        self._known: dict[int, Value] = {}
        self._counts: set[int] = set()
        self._held: list[torch.Tensor] = []

    def learn(self, tensor: torch.Tensor, value: Value) -> None:
        """Let a tensor stand for a value; it is held, so that no other gets its identity."""
        self._known[id(tensor)] = value
        self._held.append(tensor)
        is_long = tensor.dtype in (torch.int32, torch.int64)
        if is_long and int(tensor.abs().sum()) < LARGEST_WHOLE // 2:
            self._counts.add(id(tensor))

    def value(self, tensor: torch.Tensor) -> Value:
        """Return what a tensor stands for: by itself, its numbers."""
        known = self._known.get(id(tensor))
        if known is not None:
            return known
        numbers = tensor.detach().double().numpy()
        if not tensor.is_floating_point() and (np.abs(numbers) > LARGEST_WHOLE).any():
            raise NotLoweredError(f"whole numbers beyond {LARGEST_WHOLE:,}")
        return self._tensors.numbers(numbers)

    def lower(self, func, types, args=(), kwargs=None):
        """Compute an operation of torch, and lower it."""
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        if torch.Tag.nondeterministic_seeded in func.tags:
            raise NotLoweredError(f"operation {_name(func)}")
        read, made = _tensors_of((args, kwargs)), _tensors_of(result)
        if not any(id(tensor) in self._known for tensor in read):
            self._held += read + made
            return result
        if not made:
            place = _place_of_user()
            raise NotLoweredError(f"a step that depends on single numbers of a tensor{place}")
        if made[0] is args[0] and self._is_shared(made[0]):
            raise NotLoweredError("numbers that change in place and are part of others")
        self._check_types(_name(func), args[1:], read, made)
        valued = map_aggregate((args, kwargs), self._valued)
        values = self._rules(_name(func), *valued)
        values = values if isinstance(values, list) else [values]
        for tensor, value in zip(made, values, strict=True):
            if value.shape != tuple(tensor.shape):
                raise NotLoweredError(f"operation {_name(func)} of these shapes")
            self.learn(tensor, self._tensors.typed(value, truth=tensor.dtype is torch.bool))
        return result

    def _check_types(
        self,
        name: str,
        others: Sequence[Any],
        read: Sequence[torch.Tensor],
        made: Sequence[torch.Tensor],
    ) -> None:
        """Refuse what is not computed in numbers of the run, but to say yes or no, or to count."""
        short, truths = name.split(".")[0].strip("_"), all(r.dtype is torch.bool for r in read)
        exact = not any(r.is_floating_point() for r in read)
        for tensor in read:
            if tensor.ndim or id(tensor) in self._known:
                self._check_floats(tensor)
            if _is_whole(tensor) and id(tensor) in self._known and id(tensor) not in self._counts:
                raise NotLoweredError("whole numbers that a run keeps")
        for tensor in made:
            self._check_floats(tensor)
            if tensor.dtype is torch.bool and not (
                short in MOVES | OF_TRUTHS or truths and short in OF_BITS
            ):
                raise NotLoweredError(f"operation {name} of truth values")
            if _is_whole(tensor):
                is_count = short == "add" and others == (1,)
                is_count |= exact and short in MOVES or truths and short in ("sum", "to_copy")
                if not is_count and short not in PLACES:
                    raise NotLoweredError(f"numbers that are rounded to {_name(tensor.dtype)}")
                self._counts.add(id(tensor))

    def _check_floats(self, tensor: torch.Tensor) -> None:
        if not _is_whole(tensor) and tensor.dtype not in (self._dtype, torch.bool):
            raise NotLoweredError(f"numbers that are rounded to {_name(tensor.dtype)}")

    def _is_shared(self, tensor: torch.Tensor) -> bool:
        place = tensor.untyped_storage().data_ptr()
        return any(
            other is not tensor and other.untyped_storage().data_ptr() == place
            for other in self._held
        )

    def _valued(self, argument: Any) -> Any:
        if not isinstance(argument, torch.Tensor):
            return argument
        return self._tensors.typed(self.value(argument), truth=argument.dtype is torch.bool)


def _tensors_of(arguments: Any) -> list[torch.Tensor]:
    found: list[torch.Tensor] = []
    map_aggregate(arguments, lambda a: found.append(a) if isinstance(a, torch.Tensor) else None)
    return found


def _is_whole(tensor: torch.Tensor) -> bool:
    kind = tensor.dtype
    return not (kind.is_floating_point or kind.is_complex or kind is torch.bool)


# Not in the body of the class, where torch wraps a method of this name by one that imports its
# compiler, which takes two seconds.
Lowering.__torch_dispatch__ = Lowering.lower


def _place_of_user() -> str:
    """Return the line of a layer of the user that is at work, in words; of others, nothing."""
    passed = Path(torch.__file__).parent, Path(__file__).parent
    for frame in reversed(traceback.extract_stack()):
        path = Path(frame.filename)
        if not any(map(path.is_relative_to, passed)):
            own = path.is_relative_to(passed[1].parent)
            return "" if own else f" ({path.name}, line {frame.lineno}: {frame.line})"
    return ""


def _name(operation: Any) -> str:
    return str(operation).removeprefix("aten.").removeprefix("torch.")


LARGEST_WHOLE = 2**24
"""The whole numbers up to it are numbers of float32."""
MOVES = {"alias", "cat", "clone", "contiguous", "copy", "detach", "expand", "permute", "reshape"}
MOVES |= {"select", "slice", "split", "squeeze", "stack", "t", "transpose", "unbind"}
MOVES |= {"unsafe_view", "unsqueeze", "view"}
"""Operations that leave numbers as they are."""
PLACES = {"argmax"}
OF_TRUTHS = {"eq", "ne", "lt", "le", "gt", "ge", "to_copy", "where", "zeros_like", "ones_like"}
OF_TRUTHS |= {f"logical_{op}" for op in ("and", "or", "not", "xor")}
OF_BITS = {f"bitwise_{op}" for op in ("and", "or", "not", "xor")}
"""Operations whose results, of truth values, are truth values."""
PLACED = {"dtype", "layout", "device", "pin_memory", "memory_format", "non_blocking"}
"""Keyword arguments that say where a result lies, or its type, which it has itself."""


class OperationRules(ShapeRules):
    """The rules by the names of torch's operations."""

    def __call__(self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        short = name.split(".")[0]
        if short.endswith("_") and not short.startswith("_"):
            short = short[:-1]
        kwargs = {key: value for key, value in kwargs.items() if key not in PLACED}
        elementwise = ELEMENTWISE.get(short)
        rule = getattr(self, f"rule_{short.strip('_')}", None)
        if rule is None and elementwise is None:
            raise NotLoweredError(f"operation {name}")
        unknown = [k for k in kwargs if elementwise or k not in signature(rule).parameters]
        if unknown:
            raise NotLoweredError(f"operation {name} with {', '.join(unknown)}")
        return self.each(elementwise, *args) if elementwise else rule(*args, **kwargs)

    # Arithmetic.

    def rule_add(self, a, b, alpha=1):
        return self.each("add", a, self.scaled(b, alpha))

    def rule_sub(self, a, b, alpha=1):
        return self.each("sub", a, self.scaled(b, alpha))

    def rule_rsub(self, a, b, alpha=1):
        return self.each("sub", b, self.scaled(a, alpha))

    def rule_div(self, a, b, rounding_mode=None):
        if rounding_mode is not None:
            raise NotLoweredError(f"operation div with rounding_mode {rounding_mode}")
        return self.each("div", a, b)

    def rule_reciprocal(self, a):
        return self.each("div", 1.0, a)

    def rule_square(self, a):
        return self.each("mul", a, a)

    def rule_rsqrt(self, a):
        return self.each("div", 1.0, self.each("sqrt", a))

    def rule_pow(self, a, b):
        if not isinstance(b, Value):
            known = self._power(a, float(b))
            if known is not None:
                return known
        return self.each("pow", a, b)

    def _power(self, a: Any, exponent: float) -> Value | None:
        if exponent in (1.0, 2.0, 3.0):
            value = power = self.value(a)
            for _ in range(int(exponent) - 1):
                power = self.each("mul", power, value)
            return power
        if exponent == 0.0:
            return self.t.constant(1.0, self.value(a).shape)
        if exponent == -1.0:
            return self.each("div", 1.0, a)
        return self.each("sqrt", a) if exponent == 0.5 else None

    def rule_lerp(self, a, b, weight):
        return self.each("add", a, self.each("mul", weight, self.each("sub", b, a)))

    def rule_addcmul(self, a, b, c, value=1):
        return self.each("add", a, self.each("mul", self.scaled(b, value), c))

    def rule_addcdiv(self, a, b, c, value=1):
        return self.each("add", a, self.each("div", self.scaled(b, value), c))

    # Choices.

    def rule_clamp(self, a, min=None, max=None):
        value = self.value(a)
        if min is not None:
            value = self.each("max", value, min)
        return value if max is None else self.each("min", value, max)

    rule_clip = rule_clamp

    def rule_clamp_min(self, a, low):
        return self.each("max", a, low)

    def rule_clamp_max(self, a, high):
        return self.each("min", a, high)

    def rule_hardtanh(self, a, low=-1.0, high=1.0):
        return self.rule_clamp(a, low, high)

    def rule_hardtanh_backward(self, grad, a, low, high):
        inside = self.each("and", self.each("gt", a, low), self.each("lt", a, high))
        return self.each("where", inside, grad, 0.0)

    def rule_relu(self, a):
        return self.each("max", a, 0.0)

    def rule_threshold_backward(self, grad, a, threshold):
        return self.each("where", self.each("le", a, threshold), 0.0, grad)

    def rule_elu(self, a, alpha=1.0, scale=1.0, input_scale=1.0):
        negative = self.each("mul", self.each("expm1", self.scaled(a, input_scale)), alpha * scale)
        return self.each("where", self.each("gt", a, 0.0), self.scaled(a, scale), negative)

    def rule_elu_backward(self, grad, alpha, scale, input_scale, is_result, a):
        slope = alpha * scale * input_scale
        if is_result:
            below = self.each(
                "mul", self.each("mul", grad, input_scale), self.each("add", a, alpha * scale)
            )
        else:
            below = self.each(
                "mul", self.each("mul", grad, slope), self.each("exp", self.scaled(a, input_scale))
            )
        return self.each("where", self.each("le", a, 0.0), below, self.scaled(grad, scale))

    def rule_sigmoid_backward(self, grad, y):
        return self.each("mul", grad, self.each("mul", self.each("sub", 1.0, y), y))

    def rule_tanh_backward(self, grad, y):
        return self.each("mul", grad, self.each("sub", 1.0, self.each("mul", y, y)))

    def rule_leaky_relu(self, a, slope=0.01):
        return self.each("where", self.each("gt", a, 0.0), a, self.each("mul", a, slope))

    def rule_leaky_relu_backward(self, grad, a, slope, is_result):
        return self.each("where", self.each("gt", a, 0.0), grad, self.each("mul", grad, slope))

    def rule_silu(self, a):
        return self.each("mul", a, self.each("sigmoid", a))

    def rule_silu_backward(self, grad, a):
        s = self.each("sigmoid", a)
        inner = self.each("add", 1.0, self.each("mul", a, self.each("sub", 1.0, s)))
        return self.each("mul", grad, self.each("mul", s, inner))

    def rule_gelu(self, a, approximate="none"):
        return self.each(
            "mul", self.scaled(a, 0.5), self.each("add", 1.0, self._bent(a, approximate))
        )

    def rule_gelu_backward(self, grad, a, approximate="none"):
        bent = self._bent(a, approximate)
        square = self.each("mul", a, a)
        if approximate == "none":
            bell = self.each("exp", self.scaled(square, -0.5))
            slope = self.scaled(bell, math.sqrt(2 / math.pi))
        else:
            inner = self.each("add", 1.0, self.scaled(square, 3 * BEND))
            steep = self.each("sub", 1.0, self.each("mul", bent, bent))
            slope = self.each("mul", steep, self.scaled(inner, math.sqrt(2 / math.pi)))
        whole = self.each("add", self.each("add", 1.0, bent), self.each("mul", a, slope))
        return self.each("mul", grad, self.scaled(whole, 0.5))

    def _bent(self, a: Value, approximate: str) -> Value:
        if approximate == "none":
            return self.each("erf", self.scaled(a, math.sqrt(0.5)))
        cube = self.each("mul", self.each("mul", a, a), a)
        inner = self.each("add", a, self.scaled(cube, BEND))
        return self.each("tanh", self.scaled(inner, math.sqrt(2 / math.pi)))

    def rule_softplus(self, a, beta=1.0, threshold=20.0):
        scaled = self.scaled(a, beta)
        soft = self.each("div", self.each("log1p", self.each("exp", scaled)), beta)
        return self.each("where", self.each("gt", scaled, threshold), a, soft)

    def rule_softplus_backward(self, grad, a, beta, threshold):
        scaled = self.scaled(a, beta)
        z = self.each("exp", scaled)
        slope = self.each("div", self.each("mul", grad, z), self.each("add", z, 1.0))
        return self.each("where", self.each("gt", scaled, threshold), grad, slope)

    def rule_where(self, mask, a, b):
        return self.each("where", mask, a, b)

    def rule_masked_fill(self, a, mask, value):
        return self.each("where", mask, value, a)

    def rule_to_copy(self, a):
        return a

    # Sums and products.

    def _dims(self, a: Value, dims: Any) -> list[int]:
        if dims is None or (isinstance(dims, Sequence) and not dims):
            return list(range(a.ndim))
        return [dims] if isinstance(dims, int) else list(dims)

    def rule_sum(self, a, dims=None, keepdim=False):
        return self.t.reduce("sum", a, self._dims(a, dims), keepdim)

    def rule_mean(self, a, dims=None, keepdim=False):
        count = math.prod(a.shape[a.dim(d)] for d in self._dims(a, dims))
        return self.each("div", self.rule_sum(a, dims, keepdim), count)

    def rule_prod(self, a, dims=None, keepdim=False):
        return self.t.reduce("prod", a, self._dims(a, dims), keepdim)

    def rule_amax(self, a, dims=None, keepdim=False):
        return self.t.reduce("max", a, self._dims(a, dims), keepdim)

    def rule_max(self, a, b=None, keepdim=False):
        if isinstance(b, Value):
            return self.each("max", a, b)
        if b is not None:
            raise NotLoweredError("operation max with places")
        return self.rule_amax(a)

    def rule_amin(self, a, dims=None, keepdim=False):
        return self.each("neg", self.rule_amax(self.each("neg", a), dims, keepdim))

    rule_min = lambda self, a: self.rule_amin(a)  # noqa: E731

    def rule_argmax(self, a, d=None, keepdim=False):
        if d is None:
            raise NotLoweredError("operation argmax of a whole tensor")
        best, *others = self.rule_unbind(a, d)
        place = self.t.constant(0.0, best.shape)
        for k, other in enumerate(others, start=1):
            # What is no number counts as the largest, the first one of them.
            is_none = self.each("and", self.each("ne", other, other), self.each("eq", best, best))
            better = self.each("or", self.each("gt", other, best), is_none)
            best = self.each("where", better, other, best)
            place = self.each("where", better, float(k), place)
        return self.rule_unsqueeze(place, a.dim(d)) if keepdim else place

    def rule_var(self, a, dims=None, correction=None, keepdim=False):
        correction = 1 if correction is None else correction
        count = math.prod(a.shape[a.dim(d)] for d in self._dims(a, dims))
        centred = self.each("sub", a, self.rule_mean(a, dims, True))
        squares = self.rule_sum(self.each("mul", centred, centred), dims, keepdim)
        return self.each("div", squares, max(0, count - correction))

    def rule_std(self, a, dims=None, correction=None, keepdim=False):
        return self.each("sqrt", self.rule_var(a, dims, correction, keepdim))

    def rule_linalg_vector_norm(self, a, order=2, dims=None, keepdim=False):
        dims = self._dims(a, dims)
        if order == 1:
            return self.rule_sum(self.each("abs", a), dims, keepdim)
        if order != 2:
            raise NotLoweredError(f"operation linalg_vector_norm of order {order}")
        return self.each("sqrt", self.rule_sum(self.each("mul", a, a), dims, keepdim))

    def rule_softmax(self, a, d, half):
        e = self.each("exp", self.each("sub", a, self.t.reduce("max", a, [d], True)))
        return self.each("div", e, self.t.reduce("sum", e, [d], True))

    def rule_log_softmax(self, a, d, half):
        centred = self.each("sub", a, self.t.reduce("max", a, [d], True))
        total = self.t.reduce("sum", self.each("exp", centred), [d], True)
        return self.each("sub", centred, self.each("log", total))

    def rule_softmax_backward_data(self, grad, y, d, dtype):
        product = self.each("mul", grad, y)
        return self.each(
            "sub", product, self.each("mul", y, self.t.reduce("sum", product, [d], True))
        )

    def rule_log_softmax_backward_data(self, grad, y, d, dtype):
        total = self.t.reduce("sum", grad, [d], True)
        return self.each("sub", grad, self.each("mul", self.each("exp", y), total))

    def rule_native_layer_norm(self, a, shape, weight, bias, epsilon):
        dims = list(range(a.ndim - len(shape), a.ndim))
        mean = self.rule_mean(a, dims, True)
        scale = self.rule_rsqrt(self.each("add", self.rule_var(a, dims, 0, True), epsilon))
        y = self.each("mul", self.each("sub", a, mean), scale)
        y = y if weight is None else self.each("mul", y, weight)
        return [y if bias is None else self.each("add", y, bias), mean, scale]

    def rule_native_layer_norm_backward(self, grad, a, shape, mean, scale, weight, bias, wanted):
        dims = list(range(a.ndim - len(shape), a.ndim))
        centred = self.each("mul", self.each("sub", a, mean), scale)
        inner = grad if weight is None else self.each("mul", grad, weight)
        along = self.rule_mean(self.each("mul", inner, centred), dims, True)
        rest = self.each("sub", inner, self.rule_mean(inner, dims, True))
        found = self.each("mul", scale, self.each("sub", rest, self.each("mul", centred, along)))
        others = list(range(a.ndim - len(shape)))
        every = [
            lambda: found,
            lambda: self.rule_sum(self.each("mul", grad, centred), others),
            lambda: self.rule_sum(grad, others),
        ]
        return [make() for make, is_wanted in zip(every, wanted, strict=True) if is_wanted]

    def rule_mm(self, a, b):
        return self.t.multiplied(a, b)

    rule_bmm = rule_mm

    def rule_mv(self, a, b):
        return self.t.multiplied(a, self.rule_unsqueeze(b, 1)).without({1})

    def rule_dot(self, a, b):
        return self.rule_sum(self.each("mul", a, b))

    def rule_addmm(self, bias, a, b, beta=1, alpha=1):
        return self.each(
            "add", self.scaled(self.t.multiplied(a, b), alpha), self.scaled(bias, beta)
        )

    rule_baddbmm = rule_addmm


ELEMENTWISE = {
    **{op: op for op in ("mul", "neg", "abs", "sqrt", "exp", "expm1", "log", "log1p", "tanh")},
    **{op: op for op in ("sigmoid", "sin", "cos", "sinh", "cosh", "erf", "sign", "atan2")},
    **{op: op for op in ("eq", "ne", "lt", "le", "gt", "ge")},
    "sgn": "sign",
    "round": "rint",
    "minimum": "min",
    "maximum": "max",
    **{f"{kind}_{op}": op for kind in ("bitwise", "logical") for op in ("and", "or", "not", "xor")},
}
"""Operations that are applied to each entry, by their names in torch and here."""


BEND = 0.044715
"""Of the cube in the approximate GELU."""

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

    def __init__(self, model: ExtendedTorchModule, dtype: torch.dtype):
        super().__init__()
        self.model = model
        self.dtype = dtype
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
        examples = [value for group in (list(state.values()), *groups) for value in group]
        lowering = Lowering(tensors, self.dtype)
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
        found = [lowering.value(example) for example in examples]
        new = {k: f for k, (f, v) in enumerate(zip(found, values, strict=True)) if f is not v}
        return [lowering.value(output) for output in outputs], new


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
