"""Tensors of one run as arrays of nodes: elementwise operations, sums, and parts of dimensions.

A dimension is written out, an entry each; or it is counted by an axis, and then the array has one
entry there; or it has parts, an entry each, which are at evenly spaced places; or all entries are
equal, and then there is one.
"""

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from .graph import BATCH, Graph, Node, Part

LONGEST_WRITTEN = 40
"""Dimensions up to which each number is a variable of its own; longer ones become loops."""

MOST_NODES = 20_000
"""What a compiler takes some forty seconds for."""


class NotLoweredError(Exception):
    """An operation that the engine does not know; the text names it."""


class TooLongError(NotLoweredError):
    """An operation known for dimensions that are written out, or more numbers than are."""


@dataclass(frozen=True)
class Parts:
    """Parts of a dimension: the axis of each, or None of one number, and its places."""

    axes: tuple[str | None, ...]
    places: tuple[range, ...]


Axis = str | Parts | None
"""What counts a dimension."""


def _names(axes: Iterable[Axis]) -> set[str]:
    every = (axis.axes if isinstance(axis, Parts) else (axis,) for axis in axes)
    return {name for names in every for name in names if name}


def evenly(places: Iterable[int]) -> list[range]:
    ranges: list[range] = []
    for place in places:
        last = ranges[-1] if ranges else range(0)
        if len(last) == 1 or (last and place == last[-1] + last.step):
            ranges[-1] = range(last[0], place + 1, place - last[-1])
        else:
            ranges.append(range(place, place + 1))
    return ranges


@dataclass(frozen=True)
class Value:
    """A tensor: its shape, what counts each dimension, and its nodes."""

    shape: tuple[int, ...]
    axes: tuple[Axis, ...]
    nodes: np.ndarray

    def counted_by(self, d: int) -> tuple[str | None, ...]:
        own = self.axes[d]
        return own.axes if isinstance(own, Parts) else (own,) * self.nodes.shape[d]

    def places(self, d: int) -> Sequence[range]:
        own = self.axes[d]
        if isinstance(own, Parts):
            return own.places
        if own or self.nodes.shape[d] < self.shape[d]:
            return (range(self.shape[d]),)
        return [range(k, k + 1) for k in range(self.shape[d])]

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def dim(self, d: int) -> int:
        return d % max(1, self.ndim)

    def unsqueezed(self, d: int) -> "Value":
        shape, axes = (*self.shape[:d], 1, *self.shape[d:]), (*self.axes[:d], None, *self.axes[d:])
        return Value(shape, axes, np.expand_dims(self.nodes, d))

    def without(self, dims: Collection[int]) -> "Value":
        kept = [d for d in range(self.ndim) if d not in dims]
        shape, axes = tuple(self.shape[d] for d in kept), tuple(self.axes[d] for d in kept)
        return Value(shape, axes, self.nodes.reshape([self.nodes.shape[d] for d in kept]))


class Tensors:
    """Operations on values, over one graph."""

    def __init__(self, graph: Graph, longest: int | float = LONGEST_WRITTEN, cuts: bool = False):
        """cuts: whether long dimensions may be cut and joined, which sums them part by part."""
        self.graph, self.cuts, self._longest = graph, cuts, longest
        self.most: float = MOST_NODES

    def is_long(self, extent: int) -> bool:
        return extent > self._longest

    def value(self, argument: Value | float) -> Value:
        return argument if isinstance(argument, Value) else self.constant(float(argument))

    def constant(self, number: float, shape: Sequence[int] = ()) -> Value:
        nodes = np.full((1,) * len(shape), self.graph.const(number), object)
        return Value(tuple(shape), (None,) * len(shape), nodes)

    def stored(self, name: str, shape: Sequence[int], batch: int | None = None) -> Value:
        """Return a tensor that is read from memory; `batch` is its dimension of samples, if any."""
        axes: list[str | None] = []
        for d, extent in enumerate(shape):
            if d == batch:
                axes.append(BATCH)
                self.graph.extents[BATCH] = extent
            elif self.is_long(extent):
                axes.append(self.graph.axis(extent, [a for a in axes if a]))
            else:
                axes.append(None)
        nodes = np.empty([1 if a else n for a, n in zip(axes, shape, strict=True)], object)
        for place in np.ndindex(nodes.shape):
            index = tuple(a or k for a, k in zip(axes, place, strict=True))
            nodes[place] = self.graph.load(name, index)
        return Value(tuple(shape), tuple(axes), nodes)

    def numbers(self, array: np.ndarray) -> Value:
        if array.size and (array == array.flat[0]).all():
            return self.constant(float(array.flat[0]), array.shape)
        return Value(array.shape, (None,) * array.ndim, _mapped(self.graph.const, array))

    def each(self, op: str | Callable[..., Any], *values: Value) -> Value:
        if self.graph.count > self.most:
            raise TooLongError(f"more than {self.most:,} numbers that would be written out")
        make = op if callable(op) else lambda *nodes: self.graph.op(op, *nodes)
        shape = np.broadcast_shapes(*(v.shape for v in values))
        lifted = self._cut_alike([self._with_ndim(v, len(shape)) for v in values])
        axes: tuple[Axis, ...] = (None,) * len(shape)
        aligned = []
        for value in lifted:
            value = self._renamed(value, axes)
            axes = tuple(a or b for a, b in zip(axes, value.axes, strict=True))
            aligned.append(value)
        return Value(shape, axes, _mapped(make, *(v.nodes for v in aligned)))

    def typed(self, value: Value, *, truth: bool) -> Value:
        """Return a value whose nodes are truth values, or of which none is."""
        if value.nodes.size == 0 or all(node.is_mask is truth for node in value.nodes.flat):
            return value
        op, one, zero = self.graph.op, self.graph.const(1.0), self.graph.const(0.0)

        def make(node: Node) -> Node:
            if node.is_mask is truth:
                return node
            return op("ne", node, zero) if truth else op("where", node, one, zero)

        return self.each(make, value)

    def _with_ndim(self, value: Value, ndim: int) -> Value:
        more = ndim - value.ndim
        nodes = value.nodes.reshape((1,) * more + value.nodes.shape)
        return Value((1,) * more + value.shape, (None,) * more + value.axes, nodes)

    def _renamed(self, value: Value, wanted: Sequence[Axis]) -> Value:
        """Return a value whose dimensions are counted by the wanted axes, where it has any."""
        used = _names(wanted)
        taken = used | _names(value.axes)
        new: list[tuple[str | None, ...]] = []
        for d, want in enumerate(wanted):
            own = value.counted_by(d)
            wants = want.axes if isinstance(want, Parts) else (want,) * len(own)
            free: dict[str, str] = {}
            for axis in own:
                if axis in used and not want and axis not in free:
                    # The others count another dimension by it.
                    if axis == BATCH:
                        raise NotLoweredError("samples of a batch against each other")
                    free[axis] = self.graph.axis(self.graph.extents[axis], taken)
                    taken.add(free[axis])
            pairs = zip(own, wants, strict=False)
            new.append(tuple(a and (want or free.get(a, a)) for a, want in pairs))
        if all(value.counted_by(d) == axes for d, axes in enumerate(new)):
            return value
        nodes = np.empty(value.nodes.shape, object)
        memos: dict[tuple, dict[Node, Node]] = {}
        for place, node in np.ndenumerate(value.nodes):
            mapping: dict[str, Part] = {}
            for d, k in enumerate(place):
                old, name = value.counted_by(d)[k], new[d][k]
                if old and name and old != name:
                    mapping[old] = name
            memo = memos.setdefault(tuple(mapping.items()), {})
            nodes[place] = self.graph.renamed(node, mapping, memo)
        axes = (
            Parts(names, old.places) if isinstance(old, Parts) else names[0] if old else None
            for old, names in zip(value.axes, new, strict=True)
        )
        return Value(value.shape, tuple(axes), nodes)

    def _cut_alike(self, values: Sequence[Value], apart: int | None = None) -> list[Value]:
        """Return values whose dimensions, but `apart`, have the same parts."""
        values = list(values)
        for d in range(values[0].ndim):
            counted = [v for v in values if v.axes[d]]
            is_written = any(v.axes[d] is None and v.nodes.shape[d] > 1 for v in values)
            has_parts = any(isinstance(v.axes[d], Parts) for v in counted)
            if d == apart or not counted or not (is_written or has_parts):
                continue
            if is_written and (not self.cuts or counted[0].axes[d] == BATCH):
                raise TooLongError("numbers of a long dimension that differ")
            places = [v.places(d) for v in counted]
            if is_written:
                places.append([range(k, k + 1) for k in range(counted[0].shape[d])])
            values = [self._cut(v, d, places) if v.axes[d] else v for v in values]
        return values

    def _cut(self, value: Value, d: int, others: Iterable[Sequence[range]]) -> Value:
        """Return a value whose parts each lie within a part of every other list of parts."""
        own, before = value.counted_by(d), value.places(d)
        whose: dict[tuple[int, ...], list[int]] = {}
        every = [before, *others]
        for place in range(value.shape[d]):
            key = tuple(next(k for k, p in enumerate(ps) if place in p) for ps in every)
            whose.setdefault(key, []).append(place)
        cut = [(part, key[0]) for key, places in whose.items() for part in evenly(places)]
        taken = _names([*value.axes[:d], *value.axes[d + 1 :]])
        columns = np.moveaxis(value.nodes, d, 0)
        parts: list[tuple[range, str | None, np.ndarray]] = []
        for part, k in cut:
            column, name, old = columns[k], own[k], before[k]
            if name and part != old:
                first, step = (part[0] - old[0]) // old.step, part.step // old.step
                axis = self.graph.axis(len(part), taken) if len(part) > 1 else None
                to: Part = first if axis is None else (axis, first, step)
                pick = partial(self.graph.pick, axes={name: to})
                column, name = _mapped(pick, column), axis
            parts.append((part, name, column))
        return self._of_parts(value, d, parts)

    def _of_parts(
        self, value: Value, d: int, parts: Iterable[tuple[range, str | None, np.ndarray]]
    ) -> Value:
        """Return a value with these parts of a dimension."""
        parts = sorted(parts, key=lambda part: part[0][0])
        places, names, columns = zip(*parts, strict=True)
        axis: Axis = Parts(names, places) if any(names) else None
        axis = names[0] if len(names) == 1 else axis
        extent = sum(map(len, places))
        shape = (*value.shape[:d], extent, *value.shape[d + 1 :])
        axes = (*value.axes[:d], axis, *value.axes[d + 1 :])
        return Value(shape, axes, np.stack(columns, d))

    def part(self, value: Value, d: int, wanted: range) -> Value:
        """Return some places of a dimension that has axes."""
        if value.axes[d] == BATCH or not wanted:
            raise TooLongError("parts of a long dimension")
        others = [p for p in range(value.shape[d]) if p not in wanted]
        inner = [wanted] if self.is_long(len(wanted)) else [range(k, k + 1) for k in wanted]
        cut = self._cut(value, d, [[*inner, *evenly(others)]])
        parts = zip(cut.places(d), cut.counted_by(d), np.moveaxis(cut.nodes, d, 0), strict=True)
        kept = [
            (evenly(wanted.index(place) for place in places)[0], name, column)
            for places, name, column in parts
            if places[0] in wanted
        ]
        return self._of_parts(cut, d, kept)

    def joined(self, values: Sequence[Value], d: int, places: Sequence[range] = ()) -> Value:
        values = self._cut_alike(values, apart=d)
        axes: tuple[Axis, ...] = tuple(
            next((v.axes[e] for v in values if v.axes[e]), None) if e != d else None
            for e in range(values[0].ndim)
        )
        values = [self._renamed(value, axes) for value in values]
        counts = [max(v.nodes.shape[e] for v in values) for e in range(len(axes))]
        counts.pop(d)
        parts: list[tuple[range, str | None, np.ndarray]] = []
        first = 0
        for k, value in enumerate(values):
            extent = value.shape[d]
            whole = places[k] if places else range(first, first + extent)
            first += extent
            names = value.counted_by(d)
            is_written = value.axes[d] is None
            if self.cuts and is_written and self.is_long(extent) and len(names) == 1:
                names = (self.graph.axis(extent, _names(axes)),)
            elif is_written or not self.cuts:
                value = self.written(value, d)
                names = value.counted_by(d)
            columns = np.moveaxis(value.nodes, d, 0)
            for part, name, column in zip(value.places(d), names, columns, strict=True):
                (at,) = evenly(whole[place] for place in part)
                parts.append((at, name, np.broadcast_to(column, counts)))
        whole_value = Value(values[0].shape, axes, values[0].nodes)
        return self._of_parts(whole_value, d, parts)

    def reduce(self, kind: str, value: Value, dims: Sequence[int], keepdim: bool = False) -> Value:
        """Return sums, products or maxima over dimensions, first to last."""
        value = self.typed(value, truth=False)
        dims = sorted({value.dim(d) for d in dims}) if value.ndim else []
        for d in reversed(dims):
            value = self._reduced(kind, value, d)
        return value if keepdim else value.without(dims)

    def _reduced(self, kind: str, value: Value, d: int) -> Value:
        op = partial(self.graph.op, {"sum": "add", "prod": "mul", "max": "max"}[kind])
        columns = list(np.moveaxis(value.nodes, d, 0))
        if value.axes[d] is None and len(columns) < value.shape[d]:
            columns = [_mapped(partial(self.graph.repeated, kind, value.shape[d]), columns[0])]
        for k, name in enumerate(value.counted_by(d)):
            if name:
                columns[k] = _mapped(partial(self.graph.reduce, kind, name), columns[k])
        total = columns[0]
        for column in columns[1:]:
            total = _mapped(op, total, column)
        shape = (*value.shape[:d], 1, *value.shape[d + 1 :])
        axes = (*value.axes[:d], None, *value.axes[d + 1 :])
        return Value(shape, axes, np.expand_dims(total, d))

    def written(self, value: Value, d: int) -> Value:
        """Return a value with an entry for each number of a dimension; refuse one with an axis."""
        if value.axes[d]:
            raise TooLongError("parts of a long dimension")
        repeats = value.shape[d] // max(1, value.nodes.shape[d])
        return Value(value.shape, value.axes, np.repeat(value.nodes, repeats, axis=d))

    def permuted(self, value: Value, order: Sequence[int]) -> Value:
        order = [value.dim(d) for d in order]
        return Value(
            tuple(value.shape[d] for d in order),
            tuple(value.axes[d] for d in order),
            value.nodes.transpose(order),
        )

    def expanded(self, value: Value, shape: Sequence[int]) -> Value:
        """Return a value repeated along dimensions of one entry."""
        value = self._with_ndim(value, len(shape))
        full = tuple(v if n == -1 else n for n, v in zip(shape, value.shape, strict=True))
        return Value(full, value.axes, value.nodes)

    def reshaped(self, value: Value, shape: Sequence[int]) -> Value:
        """Return a value of another shape; dimensions with an axis must stay whole."""
        shape = list(shape)
        if -1 in shape:
            known = math.prod(n for n in shape if n != -1)
            shape[shape.index(-1)] = math.prod(value.shape) // known
        axes: list[Axis] = []
        counts: list[int] = []
        for old, new in _matched(value.shape, shape):
            big = [d for d in old if value.shape[d] != 1]
            if len(big) <= 1 and sum(shape[d] != 1 for d in new) <= 1:
                whole = [big and shape[d] != 1 for d in new]
                axes += [value.axes[big[0]] if same else None for same in whole]
                counts += [value.nodes.shape[big[0]] if same else 1 for same in whole]
                continue
            for d in old:
                value = self.written(value, d)
            axes += [None] * len(new)
            counts += [shape[d] for d in new]
        return Value(tuple(shape), tuple(axes), value.nodes.reshape(counts))

    def multiplied(self, a: Value, b: Value) -> Value:
        """Return the matrix product a (*, m, k) b (*, k, n): sums of products, first to last."""
        products = self.each("mul", a.unsqueezed(a.ndim), b.unsqueezed(b.ndim - 2))
        return self.reduce("sum", products, [-2])


def _matched(old: Sequence[int], new: Sequence[int]) -> Iterator[tuple[list[int], list[int]]]:
    """Yield which dimensions of two shapes hold the same numbers."""
    i = j = 0
    while i < len(old) or j < len(new):
        start, first, a, b = i, j, 1, 1
        while not (a == b and i > start and j > first) and (i < len(old) or j < len(new)):
            if i < len(old) and (a <= b or j == len(new)):
                a *= old[i]
                i += 1
            else:
                b *= new[j]
                j += 1
        yield list(range(start, i)), list(range(first, j))


def _mapped(make: Callable[..., Any], *nodes: np.ndarray) -> np.ndarray:
    """Return what is made of nodes, one by one, also where an array has no dimension."""
    values = np.empty(np.broadcast_shapes(*map(np.shape, nodes)), object)
    values[...] = np.frompyfunc(make, len(nodes), 1)(*nodes)
    return values
