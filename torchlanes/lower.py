"""One iteration of one run, recorded from the code of its modules and lowered to nodes.

Each known operation of torch has one rule, with torch's formulas in torch's order. An operation
without a rule raises `NotLoweredError`.
"""

import math
import traceback
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.fx.node import map_aggregate
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from .graph import Graph
from .values import NotLoweredError, Tensors, Value, evenly

PLACED = {"dtype", "layout", "device", "pin_memory", "memory_format", "non_blocking"}
"""Keyword arguments that say where a result lies, or its type, which it has itself."""


class Operand:
    """A tensor in a formula. What is reduced keeps its dimensions, if nothing else is said."""

    def __init__(self, rules: "OperationRules", value: Value):
        self.rules, self.value = rules, value

    def dims(self, dims: Any) -> list[int]:
        if dims is None or (isinstance(dims, Sequence) and not dims):
            return list(range(self.value.ndim))
        return [dims] if isinstance(dims, int) else list(dims)

    def count(self, dims: Any) -> int:
        return math.prod(self.value.shape[self.value.dim(d)] for d in self.dims(dims))

    def reduced(self, kind: str, dims: Any = None, keepdim: bool = True) -> Any:
        tensors = self.rules.t
        return Operand(self.rules, tensors.reduce(kind, self.value, self.dims(dims), keepdim))

    def sum(self, dims: Any = None, keepdim: bool = True) -> Any:
        return self.reduced("sum", dims, keepdim)

    def mean(self, dims: Any = None, keepdim: bool = True) -> Any:
        return applied("div", self.sum(dims, keepdim), self.count(dims))

    def __matmul__(self, other: "Operand") -> Any:
        return Operand(self.rules, self.rules.t.multiplied(self.value, other.value))


def applied(op: str, *operands: Any) -> Any:
    rules = next(one.rules for one in operands if isinstance(one, Operand))
    values = (one.value if isinstance(one, Operand) else one for one in operands)
    return Operand(rules, rules.each(op, *values))


for _sign, _op in {"add": "add", "sub": "sub", "mul": "mul", "truediv": "div"}.items():
    setattr(Operand, f"__{_sign}__", lambda a, b, op=_op: applied(op, a, b))
    setattr(Operand, f"__r{_sign}__", lambda a, b, op=_op: applied(op, b, a))
for _op in ("gt", "lt", "le", "and", "neg"):
    setattr(Operand, f"__{_op}__", lambda *operands, op=_op: applied(op, *operands))
exp, expm1, log, log1p, sqrt, sigmoid, tanh, erf, where, larger, smaller = (
    partial(applied, op)
    for op in (
        *("exp", "expm1", "log", "log1p", "sqrt", "sigmoid", "tanh", "erf", "where", "max", "min"),
    )
)

BEND = 0.044715
"""Of the cube in the approximate GELU."""
GELU = math.sqrt(2 / math.pi)


def clamp(a, min=None, max=None):
    low = a if min is None else larger(a, min)
    return low if max is None else smaller(low, max)


def bent(a, approximate):
    if approximate == "none":
        return erf(a * math.sqrt(0.5))
    return tanh((a + a * a * a * BEND) * GELU)


def gelu_backward(grad, a, approximate="none"):
    if approximate == "none":
        slope = exp(a * a * -0.5) * GELU
    else:
        steep = bent(a, approximate)
        slope = (1.0 - steep * steep) * ((1.0 + a * a * (3 * BEND)) * GELU)
    return grad * ((1.0 + bent(a, approximate) + a * slope) * 0.5)


def elu_backward(grad, alpha, scale, input_scale, is_result, a):
    below = grad * (alpha * scale * input_scale) * exp(a * input_scale)
    if is_result:
        below = grad * input_scale * (a + alpha * scale)
    return where(a <= 0.0, below, grad * scale)


def var(a, dims=None, correction=None, keepdim=False):
    centred = a - a.mean(dims)
    count = max(0, a.count(dims) - (1 if correction is None else correction))
    return (centred * centred).sum(dims, keepdim) / count


def vector_norm(a, order=2, dims=None, keepdim=False):
    if order == 1:
        return applied("abs", a).sum(dims, keepdim)
    if order != 2:
        raise NotLoweredError(f"operation linalg_vector_norm of order {order}")
    return sqrt((a * a).sum(dims, keepdim))


def layer_norm(a, shape, weight, bias, epsilon):
    dims = list(range(-len(shape), 0))
    mean, scale = a.mean(dims), 1.0 / sqrt(var(a, dims, 0, True) + epsilon)
    y = (a - mean) * scale
    y = y if weight is None else y * weight
    return [y if bias is None else y + bias, mean, scale]


def layer_norm_backward(grad, a, shape, mean, scale, weight, bias, wanted):
    dims = list(range(-len(shape), 0))
    others = list(range(a.value.ndim - len(shape)))
    centred = (a - mean) * scale
    inner = grad if weight is None else grad * weight
    along = (inner * centred).mean(dims)
    every = [
        lambda: scale * (inner - inner.mean(dims) - centred * along),
        lambda: (grad * centred).sum(others, False),
        lambda: grad.sum(others, False),
    ]
    return [make() for make, is_wanted in zip(every, wanted, strict=True) if is_wanted]


def softmax(a, d, half):
    powers = exp(a - a.reduced("max", d))
    return powers / powers.sum(d)


def log_softmax(a, d, half):
    centred = a - a.reduced("max", d)
    return centred - log(exp(centred).sum(d))


def reduced_loss(a, kind):
    return (a, a.mean(None, False), a.sum(None, False))[kind]


def share(a, kind):
    return a.count(None) if kind == 1 else 1


FORMULAS: dict[str, Callable[..., Any]] = {
    "add": lambda a, b, alpha=1: a + b * alpha,
    "sub": lambda a, b, alpha=1: a - b * alpha,
    "rsub": lambda a, b, alpha=1: b - a * alpha,
    "reciprocal": lambda a: 1.0 / a,
    "square": lambda a: a * a,
    "rsqrt": lambda a: 1.0 / sqrt(a),
    "lerp": lambda a, b, weight: a + weight * (b - a),
    "addcmul": lambda a, b, c, value=1: a + b * value * c,
    "addcdiv": lambda a, b, c, value=1: a + b * value / c,
    "to_copy": lambda a: a,
    "clamp": clamp,
    "clip": clamp,
    "clamp_min": lambda a, low: larger(a, low),
    "clamp_max": lambda a, high: smaller(a, high),
    "hardtanh": lambda a, low=-1.0, high=1.0: clamp(a, low, high),
    "hardtanh_backward": lambda grad, a, low, high: where((a > low) & (a < high), grad, 0.0),
    "relu": lambda a: larger(a, 0.0),
    "threshold_backward": lambda grad, a, threshold: where(a <= threshold, 0.0, grad),
    "elu": lambda a, alpha=1.0, scale=1.0, input_scale=1.0: where(
        a > 0.0, a * scale, expm1(a * input_scale) * (alpha * scale)
    ),
    "elu_backward": elu_backward,
    "sigmoid_backward": lambda grad, y: grad * ((1.0 - y) * y),
    "tanh_backward": lambda grad, y: grad * (1.0 - y * y),
    "leaky_relu": lambda a, slope=0.01: where(a > 0.0, a, a * slope),
    "leaky_relu_backward": lambda grad, a, slope, is_result: where(a > 0.0, grad, grad * slope),
    "silu": lambda a: a * sigmoid(a),
    "silu_backward": lambda grad, a: grad * (sigmoid(a) * (1.0 + a * (1.0 - sigmoid(a)))),
    "gelu": lambda a, approximate="none": a * 0.5 * (1.0 + bent(a, approximate)),
    "gelu_backward": gelu_backward,
    "softplus": lambda a, beta=1.0, threshold=20.0: where(
        a * beta > threshold, a, log1p(exp(a * beta)) / beta
    ),
    "softplus_backward": lambda grad, a, beta, threshold: where(
        a * beta > threshold, grad, grad * exp(a * beta) / (exp(a * beta) + 1.0)
    ),
    "where": lambda mask, a, b: where(mask, a, b),
    "masked_fill": lambda a, mask, value: where(mask, value, a),
    "sum": lambda a, dims=None, keepdim=False: a.sum(dims, keepdim),
    "mean": lambda a, dims=None, keepdim=False: a.mean(dims, keepdim),
    "prod": lambda a, dims=None, keepdim=False: a.reduced("prod", dims, keepdim),
    "amax": lambda a, dims=None, keepdim=False: a.reduced("max", dims, keepdim),
    "amin": lambda a, dims=None, keepdim=False: -(-a).reduced("max", dims, keepdim),
    "min": lambda a: -(-a).reduced("max", None, False),
    "var": var,
    "std": lambda a, dims=None, correction=None, keepdim=False: sqrt(
        var(a, dims, correction, keepdim)
    ),
    "mse_loss": lambda a, b, kind=1: reduced_loss((a - b) * (a - b), kind),
    "mse_loss_backward": lambda grad, a, b, kind: grad * ((a - b) * (2.0 / share(a, kind))),
    "linalg_vector_norm": vector_norm,
    "softmax": softmax,
    "log_softmax": log_softmax,
    "softmax_backward_data": lambda grad, y, d, dtype: grad * y - y * (grad * y).sum(d),
    "log_softmax_backward_data": lambda grad, y, d, dtype: grad - exp(y) * grad.sum(d),
    "native_layer_norm": layer_norm,
    "native_layer_norm_backward": layer_norm_backward,
    "mm": lambda a, b: a @ b,
    "bmm": lambda a, b: a @ b,
    "dot": lambda a, b: (a * b).sum(None, False),
    "addmm": lambda bias, a, b, beta=1, alpha=1: (a @ b) * alpha + bias * beta,
    "baddbmm": lambda bias, a, b, beta=1, alpha=1: (a @ b) * alpha + bias * beta,
    **{
        op: partial(applied, op)
        for op in (
            *("mul", "neg", "abs", "sqrt", "exp", "expm1", "log", "log1p", "tanh", "sigmoid"),
            *("sin", "cos", "sinh", "cosh", "erf", "sign", "atan2"),
            *("eq", "ne", "lt", "le", "gt", "ge"),
        )
    },
    **{
        name: partial(applied, op)
        for name, op in {"sgn": "sign", "round": "rint", "minimum": "min", "maximum": "max"}.items()
    },
    **{
        f"{kind}_{op}": partial(applied, op)
        for kind in ("bitwise", "logical")
        for op in ("and", "or", "not", "xor")
    },
}
"""Operations as formulas of tensors and numbers."""


PLAIN: dict[str, Callable[..., Value]] = {
    "ones_like": lambda tensors, a: tensors.constant(1.0, a.shape),
    "zeros_like": lambda tensors, a: tensors.constant(0.0, a.shape),
    "full_like": lambda tensors, a, number: tensors.constant(number, a.shape),
    "new_zeros": lambda tensors, a, shape: tensors.constant(0.0, shape),
    "new_ones": lambda tensors, a, shape: tensors.constant(1.0, shape),
    "new_full": lambda tensors, a, shape, number: tensors.constant(number, shape),
    **dict.fromkeys(
        ("detach", "alias", "clone", "contiguous", "lift_fresh", "lift_fresh_copy"),
        lambda tensors, a: a,
    ),
    "fill": lambda tensors, a, number: tensors.expanded(tensors.value(number), a.shape),
    "copy": lambda tensors, a, b, *_: tensors.expanded(tensors.value(b), a.shape),
    "unsqueeze": lambda tensors, a, d: a.unsqueezed(d % (a.ndim + 1)),
    "t": lambda tensors, a: tensors.permuted(a, range(a.ndim)[::-1]),
    "permute": lambda tensors, a, order: tensors.permuted(a, order),
    "expand": lambda tensors, a, shape, implicit=False: tensors.expanded(a, shape),
    **dict.fromkeys(
        ("view", "reshape", "unsafe_view"), lambda tensors, a, shape: tensors.reshaped(a, shape)
    ),
}
"""Rules for tensors of known numbers, copies and views."""


class OperationRules:
    """The rules by the names of torch's operations, over one set of tensors."""

    def __init__(self, tensors: Tensors):
        self.t = tensors
        self.graph: Graph = tensors.graph

    def each(self, op: str, *arguments: Any) -> Value:
        values = [self.t.value(a) for a in arguments]
        truths = len(values) if op in ("and", "or", "xor", "not") else op == "where"
        return self.t.each(op, *(self.t.typed(v, truth=k < truths) for k, v in enumerate(values)))

    def __call__(self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        short = name.split(".")[0].strip("_")
        kwargs = {key: value for key, value in kwargs.items() if key not in PLACED}
        formula = FORMULAS.get(short)
        rule = formula or getattr(self, f"rule_{short}", None)
        if short in PLAIN:
            rule = partial(PLAIN[short], self.t)
        if rule is None:
            raise NotLoweredError(f"operation {name}")
        if unknown := [key for key in kwargs if key not in signature(rule).parameters]:
            raise NotLoweredError(f"operation {name} with {', '.join(unknown)}")
        if formula is None:
            return rule(*args, **kwargs)
        results = formula(
            *map(self._operand, args), **{k: self._operand(v) for k, v in kwargs.items()}
        )
        if isinstance(results, list):
            return [one.value for one in results]
        return results.value

    def _operand(self, argument: Any) -> Any:
        return Operand(self, argument) if isinstance(argument, Value) else argument

    def rule_div(self, a, b, rounding_mode=None):
        if rounding_mode is not None:
            raise NotLoweredError(f"operation div with rounding_mode {rounding_mode}")
        return self.each("div", a, b)

    def rule_pow(self, a, b):
        if isinstance(b, Value):
            return self.each("pow", a, b)
        if b in (1, 2, 3):
            value = power = self.t.value(a)
            for _ in range(int(b) - 1):
                power = self.each("mul", power, value)
            return power
        if b == 0:
            return self.t.constant(1.0, self.t.value(a).shape)
        if b == -1:
            return self.each("div", 1.0, a)
        return self.each("sqrt", a) if b == 0.5 else self.each("pow", a, b)

    def rule_max(self, a, b=None, keepdim=False):
        if isinstance(b, Value):
            return self.each("max", a, b)
        if b is not None:
            raise NotLoweredError("operation max with places")
        return self.t.reduce("max", a, range(a.ndim))

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
        return place.unsqueezed(a.dim(d)) if keepdim else place

    def rule_mv(self, a, b):
        return self.t.multiplied(a, b.unsqueezed(1)).without({1})

    def rule_stack(self, parts, d=0):
        return self.rule_cat([part.unsqueezed(d % (part.ndim + 1)) for part in parts], d)

    def rule_transpose(self, a, d, e):
        order = list(range(a.ndim))
        order[a.dim(d)], order[a.dim(e)] = order[a.dim(e)], order[a.dim(d)]
        return self.t.permuted(a, order)

    def rule_squeeze(self, a, dims=None):
        dims = range(a.ndim) if dims is None else [dims] if isinstance(dims, int) else dims
        return a.without({a.dim(d) for d in dims if a.ndim and a.shape[a.dim(d)] == 1})

    def rule_slice(self, a, d=0, start=None, end=None, step=1):
        d = a.dim(d)
        wanted = range(a.shape[d])[start:end:step]
        if len(wanted) == a.shape[d]:
            return a
        if a.axes[d] and self.t.cuts:
            return self.t.part(a, d, wanted)
        shape = (*a.shape[:d], len(wanted), *a.shape[d + 1 :])
        return Value(shape, a.axes, np.take(self.t.written(a, d).nodes, wanted, axis=d))

    def rule_select(self, a, d, place):
        d = a.dim(d)
        place = place % a.shape[d]
        return self.rule_slice(a, d, place, place + 1).without({d})

    def rule_split(self, a, size, d=0):
        d = a.dim(d)
        return [self.rule_slice(a, d, k, k + size) for k in range(0, a.shape[d], size)]

    def rule_unbind(self, a, d=0):
        return [self.rule_select(a, d, k) for k in range(a.shape[a.dim(d)])]

    def rule_select_backward(self, grad, shape, d, place):
        d = d % len(shape)
        place = place % shape[d]  # of -1, too
        return self.rule_slice_backward(grad.unsqueezed(d), shape, d, place, place + 1, 1)

    def rule_slice_backward(self, grad, shape, d, start, end, step):
        d = d % len(shape)
        places = range(shape[d])[start:end:step]
        if len(places) == shape[d]:
            return grad
        around = evenly(place for place in range(shape[d]) if place not in places)
        zeros = (self.t.constant(0.0, (*shape[:d], len(r), *shape[d + 1 :])) for r in around)
        return self.t.joined([grad, *zeros], d, [places, *around])

    def rule_cat(self, parts, d=0):
        if not all(part.nodes.size and part.nodes.flat[0].is_mask for part in parts):
            parts = [self.t.typed(part, truth=False) for part in parts]
        return self.t.joined(parts, parts[0].dim(d))

    def rule_scatter(self, a, d, index, number):
        if isinstance(number, Value):
            raise NotLoweredError("operation scatter of a tensor")
        return self.each("where", self._is_place(a, a.dim(d), index), number, a)

    def rule_gather(self, a, d, index, sparse_grad=False):
        chosen = self.each("where", self._is_place(a, a.dim(d), index), a, 0.0)
        return self.t.reduce("sum", chosen, [d], True)

    def _is_place(self, a: Value, d: int, index: Value) -> Value:
        """Return where the one place lies that is asked for along a dimension."""
        if index.shape != (*a.shape[:d], 1, *a.shape[d + 1 :]):
            raise NotLoweredError("operations on several places")
        places = np.arange(a.shape[d], dtype=np.float64).reshape(-1, *[1] * (a.ndim - 1 - d))
        return self.each("eq", index, self.t.numbers(places))


FEW_FACTORS = 16


class RecordableProduct(torch.autograd.Function):
    """The function, whose gradient does not branch on the data.

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


class Scheduled(float):
    """An example of a number that differs between runs and iterations: nothing is decided by it.

    It does not equal 0: code that skips a product with 0 computes the same by that product.
    """

    def __eq__(self, other: object) -> bool:
        return self._decides() if other != 0 else False

    def __ne__(self, other: object) -> bool:
        return not self == other

    def _decides(self, *_: object) -> bool:
        raise NotLoweredError("a step that depends on a scheduled number")

    __lt__ = __le__ = __gt__ = __ge__ = __bool__ = _decides
    __hash__ = float.__hash__


class Lowering(TorchDispatchMode):
    """While this lasts, what torch computes from tensors becomes nodes as well.

    What it computes from numbers alone are numbers. dtype: of the run. scheduled: values by the
    examples that stand for them.
    """

    def __init__(self, tensors: Tensors, dtype: torch.dtype, scheduled: Mapping[float, Value] = {}):
        super().__init__()
        self._tensors, self._dtype, self._scheduled = tensors, dtype, scheduled
        self._rules = OperationRules(tensors)
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
        """Return the value of a tensor: its numbers, unless it is known already."""
        if (known := self._known.get(id(tensor))) is not None:
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
            said = f"a step that depends on single numbers of a tensor{_place_of_user()}"
            raise NotLoweredError(said)
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
        self, name: str, others: Sequence[Any], read: list[torch.Tensor], made: list[torch.Tensor]
    ) -> None:
        """Refuse what is not computed in numbers of the run, but to say yes or no, or to count."""
        short, truths = name.split(".")[0].strip("_"), all(r.dtype is torch.bool for r in read)
        exact = not any(r.is_floating_point() for r in read)
        for tensor in (*(r for r in read if r.ndim or id(r) in self._known), *made):
            if not _is_whole(tensor) and tensor.dtype not in (self._dtype, torch.bool):
                raise NotLoweredError(f"numbers that are rounded to {_name(tensor.dtype)}")
        for tensor in read:
            if _is_whole(tensor) and id(tensor) in self._known and id(tensor) not in self._counts:
                raise NotLoweredError("whole numbers that a run keeps")
        for tensor in made:
            if tensor.dtype is torch.bool and not (
                short in MOVES | OF_TRUTHS or truths and short in OF_BITS
            ):
                raise NotLoweredError(f"operation {name} of truth values")
            if _is_whole(tensor):
                is_count = short == "add" and others == (1,)
                is_count |= exact and short in MOVES or truths and short in ("sum", "to_copy")
                if not is_count and short != "argmax":
                    raise NotLoweredError(f"numbers that are rounded to {_name(tensor.dtype)}")
                self._counts.add(id(tensor))

    def _is_shared(self, tensor: torch.Tensor) -> bool:
        place = tensor.untyped_storage().data_ptr()
        return any(
            other is not tensor and other.untyped_storage().data_ptr() == place
            for other in self._held
        )

    def _valued(self, argument: Any) -> Any:
        if not isinstance(argument, torch.Tensor):
            is_number = isinstance(argument, float)
            return self._scheduled.get(argument, argument) if is_number else argument
        return self._tensors.typed(self.value(argument), truth=argument.dtype is torch.bool)


def _tensors_of(arguments: Any) -> list[torch.Tensor]:
    tensors: list[torch.Tensor] = []
    map_aggregate(arguments, lambda a: tensors.append(a) if isinstance(a, torch.Tensor) else None)
    return tensors


def _is_whole(tensor: torch.Tensor) -> bool:
    kind = tensor.dtype
    return not (kind.is_floating_point or kind.is_complex or kind is torch.bool)


# Not in the body of the class, where torch wraps a method of this name by one that imports its
# compiler, which takes two seconds.
Lowering.__torch_dispatch__ = Lowering.lower


def _place_of_user() -> str:
    """Return the line that is at work of the code that is recorded, in words."""
    passed = Path(torch.__file__).parent, Path(__file__).parent
    for frame in reversed(traceback.extract_stack()):
        path = Path(frame.filename)
        if not any(map(path.is_relative_to, passed)):
            return f" ({path.name}, line {frame.lineno}: {frame.line})"
    return ""


def _name(operation: Any) -> str:
    return str(operation).removeprefix("aten.").removeprefix("torch.")


LARGEST_WHOLE = 2**24
"""The whole numbers up to it are numbers of float32."""
MOVES = {"alias", "cat", "clone", "contiguous", "copy", "detach", "expand", "permute", "reshape"}
MOVES |= {"select", "slice", "split", "squeeze", "stack", "t", "transpose", "unbind"}
MOVES |= {"unsafe_view", "unsqueeze", "view"}
"""Operations that leave numbers as they are."""
OF_TRUTHS = {"eq", "ne", "lt", "le", "gt", "ge", "to_copy", "where", "zeros_like", "ones_like"}
OF_TRUTHS |= {f"logical_{op}" for op in ("and", "or", "not", "xor")}
OF_BITS = {f"bitwise_{op}" for op in ("and", "or", "not", "xor")}
"""Operations whose results, of truth values, are truth values."""


class _Recordable(TorchFunctionMode):
    """While this lasts, products have gradients that can be recorded.

    functions: what computes further functions, instead of themselves.
    """

    def __init__(self, functions: Mapping[Callable, Callable]):
        super().__init__()
        self._functions = functions

    def __torch_function__(self, func: Callable, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func in self._functions:
            return self._functions[func](*args, **kwargs)
        if func in (torch.prod, torch.Tensor.prod):
            dim = kwargs.get("dim", args[1] if len(args) > 1 else None)
            if isinstance(dim, int) and not (kwargs.get("keepdim") or args[2:]):
                return RecordableProduct.apply(args[0], dim)
        return func(*args, **kwargs)


Given = Mapping[str, tuple[torch.Tensor, Value]]
"""Examples of tensors by their names, and what they stand for."""


class Recording(torch.nn.Module):
    """A model as the child of a module whose forward pass is whatever is to be recorded.

    So `functional_call` puts recorded tensors in the place of its parameters and buffers.

    functions: what is recorded instead of functions that can be overridden like torch's own.
    """

    def __init__(
        self,
        model: torch.nn.Module,
        dtype: torch.dtype,
        functions: Mapping[Callable, Callable] = {},
    ):
        super().__init__()
        self.model, self.dtype, self._functions = model, dtype, functions

    def forward(self, body: Callable[..., Any], *arguments: Any) -> Any:
        return body(*arguments)

    def lowered(
        self,
        body: Callable[..., Mapping[str, torch.Tensor]],
        tensors: Tensors,
        state: Given,
        given: Given,
        scheduled: Mapping[float, Value] = {},
    ) -> tuple[dict[str, Value], dict[str, Value]]:
        """Lower `body(state, given)`, tensors by names, while the model has this state.

        scheduled: of examples of numbers. Return the values of the tensors, and new ones of the
        given ones that were changed in place.
        """
        lowering, every = Lowering(tensors, self.dtype, scheduled), {**state, **given}
        for example, value in every.values():
            lowering.learn(example, value)
        own, more = ({name: one for name, (one, _) in of.items()} for of in (state, given))
        held = {f"model.{name}": value for name, value in own.items()}
        try:
            with lowering, _Recordable(self._functions):
                outputs = torch.func.functional_call(self, held, (body, own, more))
        except NotLoweredError:
            raise
        except Exception as error:  # whatever a layer does that depends on numbers
            said = traceback.format_exception_only(error)[-1].splitlines()[0].rstrip(" .")[:120]
            raise NotLoweredError(f"a step that cannot be recorded: {said}") from error
        after = {name: (lowering.value(example), value) for name, (example, value) in every.items()}
        changed = {name: new for name, (new, old) in after.items() if new is not old}
        return {name: lowering.value(output) for name, output in outputs.items()}, changed
