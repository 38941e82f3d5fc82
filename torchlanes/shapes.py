"""Rules for what makes, moves, cuts and joins numbers without changing them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .graph import Graph
from .values import NotLoweredError, Tensors, Value, evenly, is_mask


class ShapeRules:
    """The rules, and what all rules are written with, over one set of tensors."""

    def __init__(self, tensors: Tensors):
        self.t = tensors
        self.graph: Graph = tensors.graph

    def value(self, argument: Any) -> Value:
        """Return a tensor or a number as a value."""
        return argument if isinstance(argument, Value) else self.t.constant(float(argument))

    def each(self, op: str, *arguments: Any) -> Value:
        values = [self.value(a) for a in arguments]
        truths = len(values) if op in ("and", "or", "xor", "not") else op == "where"
        return self.t.each(op, *(self.t.typed(v, truth=k < truths) for k, v in enumerate(values)))

    # Tensors of known numbers, copies and views.

    def rule_ones_like(self, a):
        return self.t.constant(1.0, a.shape)

    def rule_zeros_like(self, a):
        return self.t.constant(0.0, a.shape)

    def rule_full_like(self, a, number):
        return self.t.constant(number, a.shape)

    rule_new_zeros = lambda self, a, shape: self.t.constant(0.0, shape)  # noqa: E731
    rule_new_ones = lambda self, a, shape: self.t.constant(1.0, shape)  # noqa: E731
    rule_new_full = lambda self, a, shape, number: self.t.constant(number, shape)  # noqa: E731

    def rule_lift_fresh_copy(self, a):
        return a

    rule_detach = rule_alias = rule_clone = rule_contiguous = rule_lift_fresh = (  # noqa: E731
        lambda self, a: a
    )

    def rule_fill(self, a, number):
        return self.t.expanded(self.value(number), a.shape)

    def rule_copy(self, a, b, *_):
        return self.t.expanded(self.value(b), a.shape)

    def rule_t(self, a):
        return self.t.permuted(a, range(a.ndim)[::-1])

    def rule_transpose(self, a, d, e):
        order = list(range(a.ndim))
        order[a.dim(d)], order[a.dim(e)] = order[a.dim(e)], order[a.dim(d)]
        return self.t.permuted(a, order)

    def rule_permute(self, a, order):
        return self.t.permuted(a, order)

    def rule_unsqueeze(self, a, d):
        d = d % (a.ndim + 1)
        return Value(
            (*a.shape[:d], 1, *a.shape[d:]),
            (*a.axes[:d], None, *a.axes[d:]),
            np.expand_dims(a.nodes, d),
        )

    def rule_squeeze(self, a, dims=None):
        dims = range(a.ndim) if dims is None else [dims] if isinstance(dims, int) else dims
        return a.without({a.dim(d) for d in dims if a.ndim and a.shape[a.dim(d)] == 1})

    def rule_expand(self, a, shape, implicit=False):
        return self.t.expanded(a, shape)

    def rule_view(self, a, shape):
        return self.t.reshaped(a, shape)

    rule_reshape = rule_unsafe_view = rule_view

    def rule_slice(self, a, d=0, start=None, end=None, step=1):
        d = a.dim(d)
        wanted = range(a.shape[d])[start:end:step]
        if len(wanted) == a.shape[d]:
            return a
        if a.axes[d] and self.t.cuts:
            return self.t.part(a, d, wanted)
        a = self.t.written(a, d)
        return self._taken(a, d, wanted)

    def _taken(self, a: Value, d: int, places: Sequence[int]) -> Value:
        shape = (*a.shape[:d], len(places), *a.shape[d + 1 :])
        return Value(shape, a.axes, np.take(a.nodes, places, axis=d))

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
        return self.rule_slice_backward(self.rule_unsqueeze(grad, d), shape, d, place, place + 1, 1)

    def rule_slice_backward(self, grad, shape, d, start, end, step):
        d = d % len(shape)
        places = range(shape[d])[start:end:step]
        if len(places) == shape[d]:
            return grad
        if self.t.cuts and (grad.axes[d] or self.t.is_long(shape[d])):
            around = evenly(place for place in range(shape[d]) if place not in places)
            zeros = (self.t.constant(0.0, (*shape[:d], len(r), *shape[d + 1 :])) for r in around)
            return self.t.joined([grad, *zeros], d, [places, *around])
        grad = self.t.written(grad, d)
        zero = self.graph.const(0.0)
        nodes = np.empty((*grad.nodes.shape[:d], shape[d], *grad.nodes.shape[d + 1 :]), object)
        nodes[...] = zero
        target = np.moveaxis(nodes, d, 0)
        for k, place in enumerate(places):
            target[place] = np.moveaxis(grad.nodes, d, 0)[k]
        return Value(tuple(shape), grad.axes, nodes)

    def rule_cat(self, parts, d=0):
        if not all(map(is_mask, parts)):
            parts = [self.t.typed(part, truth=False) for part in parts]
        return self.t.joined(parts, parts[0].dim(d))

    def rule_stack(self, parts, d=0):
        return self.rule_cat([self.rule_unsqueeze(p, d) for p in parts], d)

    def rule_scatter(self, a, d, index, number):
        d = a.dim(d)
        self._check_one_place(a, d, index)
        if isinstance(number, Value):
            raise NotLoweredError("operation scatter of a tensor")
        places = self._places(a, d)
        return self.each("where", self.each("eq", index, places), number, a)

    def rule_gather(self, a, d, index, sparse_grad=False):
        d = a.dim(d)
        self._check_one_place(a, d, index)
        chosen = self.each("where", self.each("eq", index, self._places(a, d)), a, 0.0)
        return self.t.reduce("sum", chosen, [d], True)

    def _check_one_place(self, a: Value, d: int, index: Value) -> None:
        if index.shape != (*a.shape[:d], 1, *a.shape[d + 1 :]):
            raise NotLoweredError("operations on several places")

    def _places(self, a: Value, d: int) -> Value:
        places = self.t.numbers(np.arange(a.shape[d], dtype=np.float64))
        for _ in range(a.ndim - 1 - d):
            places = self.rule_unsqueeze(places, places.ndim)
        return places
