"""From recorded operations of torch to nodes: one rule for each operation that is known.

Formulas and their order are those of torch. An operation without a rule raises `NotLoweredError`.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch.fx.node import map_arg

from .shapes import ShapeRules, is_mask
from .values import NotLoweredError, Tensors, Value

aten = torch.ops.aten
Rule = Callable[..., Any]


def lowered(
    recorded: torch.fx.GraphModule, inputs: Sequence[Value], tensors: Tensors
) -> tuple[list[Value], dict[int, Value]]:
    """Return the outputs of a recorded function, and the inputs that it changed in place."""
    rules = Rules(tensors)
    known: dict[torch.fx.Node, Any] = {}
    placeholders: list[torch.fx.Node] = []
    outputs: Any = ()

    def value_of(argument: Any) -> Any:
        return map_arg(argument, lambda node: known[node])

    for node in recorded.graph.nodes:
        if node.op == "placeholder":
            known[node] = inputs[len(placeholders)]
            placeholders.append(node)
        elif node.op == "get_attr":
            held = getattr(recorded, str(node.target))
            known[node] = tensors.numbers(held.detach().double().numpy())
        elif node.op == "output":
            outputs = value_of(node.args[0])
        else:
            known[node] = rules(node.target, value_of(node.args), value_of(dict(node.kwargs)))
            name = node.target.__name__.split(".")[0]
            if name.endswith("_") and not name.startswith("_"):
                known[node.args[0]] = known[node]
    changed = {k: known[p] for k, p in enumerate(placeholders) if known[p] is not inputs[k]}
    return list(outputs), changed


class Rules(ShapeRules):
    """The rules by the names of torch's operations."""

    def __call__(self, target: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        if target is operator.getitem:
            return args[0][args[1]]
        name = str(target).removeprefix("aten.")
        short = name.split(".")[0]
        if short.endswith("_") and not short.startswith("_"):
            short = short[:-1]
        if short in ELEMENTWISE:
            return self.each(ELEMENTWISE[short], *args)
        rule = getattr(self, f"rule_{short.strip('_')}", None)
        if rule is None:
            raise NotLoweredError(f"operation {name}")
        return rule(*args, **kwargs)

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

    def rule_to_copy(self, a, dtype=None, **_):
        if dtype is torch.bool:
            return a if is_mask(a) else self.each("ne", a, 0.0)
        return self._number(a)

    # Sums and products.

    def _dims(self, a: Value, dims: Any) -> list[int]:
        if dims is None or (isinstance(dims, Sequence) and not dims):
            return list(range(a.ndim))
        return [dims] if isinstance(dims, int) else list(dims)

    def rule_sum(self, a, dims=None, keepdim=False, **_):
        return self.t.reduce("sum", self._number(a), self._dims(a, dims), keepdim)

    def rule_mean(self, a, dims=None, keepdim=False, **_):
        count = math.prod(a.shape[a.dim(d)] for d in self._dims(a, dims))
        return self.each("div", self.rule_sum(a, dims, keepdim), count)

    def rule_prod(self, a, dims=None, keepdim=False, **_):
        return self.t.reduce("prod", self._number(a), self._dims(a, dims), keepdim)

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
        d = a.dim(d)
        a = self.t.written(a, d)
        graph, columns = self.graph, np.moveaxis(a.nodes, d, 0)
        best, place = columns[0], np.frompyfunc(lambda n: graph.const(0.0), 1, 1)(columns[0])
        for k, column in enumerate(columns[1:], start=1):
            better = np.frompyfunc(lambda x, y: graph.op("gt", x, y), 2, 1)(column, best)
            choose = np.frompyfunc(lambda m, x, y: graph.op("where", m, x, y), 3, 1)
            best, place = choose(better, column, best), choose(better, graph.const(float(k)), place)
        shape = (*a.shape[:d], 1, *a.shape[d + 1 :])
        nodes = np.asarray(place, object).reshape((*a.nodes.shape[:d], 1, *a.nodes.shape[d + 1 :]))
        found = Value(shape, a.axes, nodes)
        return found if keepdim else self._kept(found, [e for e in range(a.ndim) if e != d])

    def rule_var(self, a, dims=None, correction=1, keepdim=False):
        count = math.prod(a.shape[a.dim(d)] for d in self._dims(a, dims))
        centred = self.each("sub", a, self.rule_mean(a, dims, True))
        squares = self.rule_sum(self.each("mul", centred, centred), dims, keepdim)
        return self.each("div", squares, max(0, count - correction))

    def rule_std(self, a, dims=None, correction=1, keepdim=False):
        return self.each("sqrt", self.rule_var(a, dims, correction, keepdim))

    def rule_linalg_vector_norm(self, a, order=2, dims=None, keepdim=False, **_):
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

    def rule_mm(self, a, b):
        return self.t.multiplied(a, b)

    rule_bmm = rule_mm

    def rule_mv(self, a, b):
        return self._kept(self.t.multiplied(a, self.rule_unsqueeze(b, 1)), [0])

    def rule_dot(self, a, b):
        return self.rule_sum(self.each("mul", a, b))

    def rule_addmm(self, bias, a, b, beta=1, alpha=1):
        return self.each(
            "add", self.scaled(self.t.multiplied(a, b), alpha), self.scaled(bias, beta)
        )

    rule_baddbmm = rule_addmm


ELEMENTWISE = {
    **{op: op for op in ("mul", "neg", "abs", "sqrt", "exp", "expm1", "log", "log1p", "tanh")},
    **{
        op: op
        for op in ("sigmoid", "sin", "cos", "sinh", "sign", "eq", "ne", "lt", "le", "gt", "ge")
    },
    "sgn": "sign",
    "round": "rint",
    "minimum": "min",
    "maximum": "max",
    **{f"{kind}_{op}": op for kind in ("bitwise", "logical") for op in ("and", "or", "not", "xor")},
}
"""Operations that are applied to each entry, by their names in torch and here."""
