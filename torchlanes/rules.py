"""One rule for each operation of torch that is known; formulas and their order are those of torch.

An operation without a rule raises `NotLoweredError`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from inspect import signature
from typing import Any

from .shapes import ShapeRules
from .values import NotLoweredError, Value

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
        rule = partial(self.each, elementwise) if elementwise else self._rule(short)
        if rule is None:
            raise NotLoweredError(f"operation {name}")
        unknown = [k for k in kwargs if elementwise or k not in signature(rule).parameters]
        if unknown:
            raise NotLoweredError(f"operation {name} with {', '.join(unknown)}")
        return rule(*args, **kwargs)

    def _rule(self, short: str) -> Callable[..., Any] | None:
        return getattr(self, f"rule_{short.strip('_')}", None)

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
