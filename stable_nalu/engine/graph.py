"""Scalar operations of one run, over named axes: what a recorded iteration is lowered to.

Every `Node` is one number of one run: a constant, a number read from memory, an operation on other
nodes, or a sum (product, maximum) over an axis. Its `axes` say on which loop counters it depends:
`b` counts the samples of a batch; other axes count inputs or outputs too many to write out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

BATCH = "b"

Index = tuple["int | str", ...]


@dataclass(frozen=True, eq=False)
class Node:
    """One number. `op` is `const`, `load`, `reduce` or the name of an operation.

    is_mask: a truth value. name, index: what a load reads; index holds numbers and axes. axis,
    name: what a reduce goes over, and how. value: of a constant.
    """

    op: str
    args: tuple[Node, ...] = ()
    axes: frozenset[str] = frozenset()
    is_mask: bool = False
    name: str = ""
    index: Index = ()
    axis: str = ""
    value: float = 0.0


MASKS = {"eq", "ne", "lt", "le", "gt", "ge", "and", "or", "not", "xor"}


class Graph:
    """Makes nodes, each once, and knows how long axes are."""

    IDENTITY: ClassVar[dict[str, float]] = {"sum": 0.0, "prod": 1.0, "max": -math.inf}

    def __init__(self):
        self.extents: dict[str, int] = {}
        self._nodes: dict[object, Node] = {}

    @property
    def count(self) -> int:
        """Return how many nodes there are."""
        return len(self._nodes)

    def _once(self, key: object, make: Callable[[], Node]) -> Node:
        if key not in self._nodes:
            self._nodes[key] = make()
        return self._nodes[key]

    def axis(self, extent: int, taken: Iterable[str] = ()) -> str:
        """Return the axis of an extent; a further one where the first is taken."""
        taken = set(taken)
        for letter in "ijklmn":
            name = f"{letter}{extent}"
            if name not in taken:
                self.extents[name] = extent
                return name
        raise ValueError(f"a tensor has more than six dimensions of {extent}")

    def const(self, value: float) -> Node:
        """Return a constant."""
        value = float(value)
        key = ("const", value, math.copysign(1, value))
        return self._once(key, lambda: Node("const", value=value))

    def load(self, name: str, index: Index) -> Node:
        """Return a number that is read from memory."""
        axes = frozenset(part for part in index if isinstance(part, str))
        return self._once(
            ("load", name, index), lambda: Node("load", axes=axes, name=name, index=index)
        )

    def op(self, op: str, *args: Node) -> Node:
        """Return an operation on numbers, or what it comes to where that is known exactly."""
        known = _simplified(op, args)
        if known is not None:
            return known
        axes = frozenset().union(*(arg.axes for arg in args))
        is_mask = op in MASKS
        return self._once((op, args), lambda: Node(op, args, axes, is_mask))

    def reduce(self, kind: str, axis: str, arg: Node) -> Node:
        """Return the sum, product or maximum over an axis, first to last."""
        if axis not in arg.axes:
            return self._repeated(kind, self.extents[axis], arg)
        axes = arg.axes - {axis}
        return self._once(
            (kind, axis, arg), lambda: Node("reduce", (arg,), axes, name=kind, axis=axis)
        )

    def _repeated(self, kind: str, count: int, arg: Node) -> Node:
        if kind == "sum":
            return self.op("mul", arg, self.const(count))
        return arg if kind == "max" else self.op("pow", arg, self.const(count))

    def repeated(self, kind: str, count: int, arg: Node) -> Node:
        """Return the sum, product or maximum of `count` equal numbers."""
        return self._repeated(kind, count, arg) if count > 1 else arg

    def renamed(self, node: Node, axes: Mapping[str, str], memo: dict[Node, Node]) -> Node:
        """Return the same number with other counters."""
        if not node.axes & axes.keys():
            return node
        if node not in memo:
            if node.op == "load":
                index = tuple(axes.get(p, p) if isinstance(p, str) else p for p in node.index)
                memo[node] = self.load(node.name, index)
            elif node.op == "reduce":
                memo[node] = self._renamed_reduce(node, axes, memo)
            else:
                memo[node] = self.op(node.op, *(self.renamed(a, axes, memo) for a in node.args))
        return memo[node]

    def _renamed_reduce(self, node: Node, axes: Mapping[str, str], memo: dict[Node, Node]) -> Node:
        (arg,) = node.args
        after = {axes.get(a, a) for a in node.axes}
        bound = node.axis
        if bound in after:
            bound = self.axis(self.extents[bound], after | node.axes)
        inner = {a: axes.get(a, a) for a in node.axes} | {node.axis: bound}
        inner = {a: to for a, to in inner.items() if a != to}
        return self.reduce(node.name, bound, self.renamed(arg, inner, {}))


def _simplified(op: str, args: tuple[Node, ...]) -> Node | None:
    """Return the argument that an operation comes to, to the bit, if any."""
    values = [a.value if a.op == "const" else None for a in args]
    if op == "mul" and 1.0 in values:
        return args[1 - values.index(1.0)]
    if op == "div" and values[1] == 1.0:
        return args[0]
    if op == "where" and args[1] is args[2]:
        return args[1]
    return None


def ordered(roots: Iterable[Node]) -> list[Node]:
    """Return all nodes that roots need, arguments first."""
    seen: dict[Node, None] = {}
    done: set[Node] = set()
    stack = [(root, False) for root in reversed(list(roots))]
    while stack:
        node, expanded = stack.pop()
        if expanded:
            seen.setdefault(node)
            done.add(node)
        elif node not in done:
            stack.append((node, True))
            stack += [(arg, False) for arg in reversed(node.args) if arg not in done]
    return list(seen)
