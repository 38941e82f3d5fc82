"""Scalar operations of one run, over named axes, and where each is computed.

Every `Node` is one number of one run: a constant, a number read from memory, an operation on other
nodes, or a sum (product, maximum) over an axis. Its `axes` say on which loop counters it depends:
`b` counts the samples of a batch; other axes count inputs or outputs too many to write out.

An iteration is three functions. `begin` computes what does not depend on samples, `block` goes
through samples, several times where a sum over all of them is needed before the rest, and `update`
computes what follows from the sums. In each, nodes of equal axes share a loop, unless one of them
waits for its end. What is read elsewhere is remembered.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeGuard

BATCH = "b"

Part = int | str | tuple[str, int, int]
"""A number, a counter, or a counter with the first place and the step from each to the next."""

Index = tuple[Part, ...]


def counter(part: Part) -> str | None:
    return part if isinstance(part, str) else part[0] if isinstance(part, tuple) else None


def _moved(part: Part, axes: Mapping[str, Part]) -> Part:
    name = counter(part)
    if name is None or name not in axes:
        return part
    to = axes[name]
    first, step = part[1:] if isinstance(part, tuple) else (0, 1)
    if isinstance(to, int):
        return first + step * to
    other, more, by = to if isinstance(to, tuple) else (to, 0, 1)
    first, step = first + step * more, step * by
    return other if (first, step) == (0, 1) else (other, first, step)


def counters(index: Iterable[Part]) -> frozenset[str]:
    return frozenset(name for part in index if (name := counter(part)))


@dataclass(frozen=True, eq=False)
class Node:
    """One number. `op` is `const`, `load`, `reduce`, `pick` or the name of an operation.

    is_mask: a truth value. name, index: what a load reads. axis, name: what a reduce goes over, and
    how. index: of a pick, what is in the place of its argument's axes, in their order. value: of a
    constant.
    """

    op: str
    args: "tuple[Node, ...]" = ()
    axes: frozenset[str] = frozenset()
    is_mask: bool = False
    name: str = ""
    index: Index = ()
    axis: str = ""
    value: float = 0.0

    @property
    def picked(self) -> dict[str, Part]:
        return dict(zip(sorted(self.args[0].axes), self.index, strict=True))


FREE = ("const", "load")
MASKS = {"eq", "ne", "lt", "le", "gt", "ge", "and", "or", "not", "xor"}


class Graph:
    """Makes nodes, each once, and knows how long axes are."""

    IDENTITY: ClassVar[dict[str, float]] = {"sum": 0.0, "prod": 1.0, "max": -math.inf}

    def __init__(self):
        self.extents: dict[str, int] = {}
        self._nodes: dict[object, Node] = {}

    @property
    def count(self) -> int:
        return len(self._nodes)

    def _once(self, key: object, *args: Any, **more: Any) -> Node:
        if key not in self._nodes:
            self._nodes[key] = Node(*args, **more)
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
        value = float(value)
        return self._once(("const", value, math.copysign(1, value)), "const", value=value)

    def load(self, name: str, index: Index) -> Node:
        own = {"axes": counters(index), "name": name, "index": index}
        return self._once(("load", name, index), "load", **own)

    def op(self, op: str, *args: Node) -> Node:
        """Return an operation on numbers, or what it comes to where that is known exactly."""
        known = _simplified(op, args)
        if known is not None:
            return known
        axes = frozenset().union(*(arg.axes for arg in args))
        return self._once((op, args), op, args, axes, op in MASKS)

    def reduce(self, kind: str, axis: str, arg: Node) -> Node:
        """Return the sum, product or maximum over an axis, first to last."""
        if axis not in arg.axes:
            return self.repeated(kind, self.extents[axis], arg)
        own = {"axes": arg.axes - {axis}, "name": kind, "axis": axis}
        return self._once((kind, axis, arg), "reduce", (arg,), **own)

    def repeated(self, kind: str, count: int, arg: Node) -> Node:
        """Return the sum, product or maximum of `count` equal numbers."""
        if kind == "max" or count == 1:
            return arg
        return self.op("mul" if kind == "sum" else "pow", arg, self.const(count))

    def pick(self, node: Node, axes: Mapping[str, Part]) -> Node:
        """Return a number at other places, of those that are computed once for all."""
        if node.op in FREE or not node.axes & axes.keys():
            return self.renamed(node, axes, {})
        return self._picked(node, tuple(axes.get(axis, axis) for axis in sorted(node.axes)))

    def _picked(self, node: Node, index: Index) -> Node:
        if index == tuple(sorted(node.axes)):
            return node
        own = counters(index), node.is_mask
        return self._once(("pick", node, index), "pick", (node,), *own, index=index)

    def renamed(self, node: Node, axes: Mapping[str, Part], memo: dict[Node, Node]) -> Node:
        """Return the same number with other counters, or at one place."""
        if not node.axes & axes.keys():
            return node
        if node not in memo:
            index = tuple(_moved(part, axes) for part in node.index)
            if node.op == "load":
                memo[node] = self.load(node.name, index)
            elif node.op == "pick":
                memo[node] = self._picked(node.args[0], index)
            elif node.op == "reduce":
                memo[node] = self._renamed_reduce(node, axes, memo)
            else:
                memo[node] = self.op(node.op, *(self.renamed(a, axes, memo) for a in node.args))
        return memo[node]

    def _renamed_reduce(self, node: Node, axes: Mapping[str, Part], memo: dict[Node, Node]) -> Node:
        (arg,) = node.args
        inner: dict[str, Part] = {a: axes.get(a, a) for a in node.axes}
        after = counters(inner.values())
        bound = node.axis
        if bound in after:
            bound = self.axis(self.extents[bound], after | node.axes)
        inner = {a: to for a, to in {**inner, node.axis: bound}.items() if a != to}
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
    stack = [(root, False) for root in reversed(list(roots))]
    while stack:
        node, expanded = stack.pop()
        if expanded:
            seen.setdefault(node)
        elif node not in seen:
            stack.append((node, True))
            stack += [(arg, False) for arg in reversed(node.args) if arg not in seen]
    return list(seen)


@dataclass(eq=False)
class Store:
    """A number that is written to memory."""

    name: str
    index: Index
    node: Node

    @property
    def args(self) -> tuple[Node, ...]:
        return (self.node,)

    @property
    def axes(self) -> frozenset[str]:
        return counters(self.index)


@dataclass(eq=False)
class Gather:
    """What a loop adds to a sum: `reduce` is the sum, whose loop this statement is in."""

    reduce: Node

    @property
    def args(self) -> tuple[Node, ...]:
        return self.reduce.args

    @property
    def axes(self) -> frozenset[str]:
        return self.args[0].axes


Statement = Node | Store | Gather


@dataclass(eq=False)
class Loop:
    """A loop over an axis: sums that begin before it, and its body."""

    axis: str
    sums: list[Node] = field(default_factory=list)
    body: list[list] = field(default_factory=list)
    """Lists of statements, and loops, in order."""
    statements: list[Statement] = field(default_factory=list)


class Plan:
    """The statements of the functions that write all stores, and how each node is remembered.

    home: the function and the loops in which a node is computed. kept: the axes over which a node
    needs an array, and whether that must outlive the function (or the pass over the samples).
    """

    def __init__(self, stores: Sequence[Store]):
        self.nodes = [n for n in ordered(s.node for s in stores) if n.op not in FREE]
        self.stage: dict[Node, int] = {}
        self.home: dict[Node, tuple] = {}
        self.places: list[tuple[Statement, tuple]] = []
        for node in self.nodes:
            self.stage[node] = self._stage_of(node)
        # Nothing is kept for what ends a training iteration: it comes last of all.
        last = max([1, *self.stage.values()])
        last += last % 2
        by_stage: defaultdict[int, list[Statement]] = defaultdict(list)
        for node in self.nodes:
            if node.axis == BATCH:
                by_stage[self.stage[node] - 1].append(Gather(node))
            else:
                by_stage[self.stage[node]].append(node)
        for store in stores:
            is_of_samples = BATCH in store.axes
            by_stage[self._known(store.node) | 1 if is_of_samples else last].append(store)
        self.functions: dict[str, list] = {"begin": [], "block": [], "update": []}
        for stage in sorted(by_stage):
            function = "begin" if stage == 0 else "update" if stage == last else "block"
            self.functions[function] += self._region(by_stage[stage], frozenset(), (function,))
        self.kept = self._kept()
        self.passes = (last + 1) // 2

    def _known(self, node: Node) -> int:
        if node.op in FREE:
            return 1 if BATCH in node.axes else 0
        return self.stage[node]

    def _stage_of(self, node: Node) -> int:
        if node.axis == BATCH:
            return (self._known(node.args[0]) | 1) + 1
        stages = [self._known(arg) for arg in node.args]
        if BATCH not in node.axes:
            return max(stages, default=0)
        return max([1, *(stage | 1 for stage in stages)])

    def _region(self, statements: list[Statement], inside: frozenset[str], path: tuple) -> list:
        """Return statements and loops in order; `inside` are the counters of the loops around."""
        region = _Region(inside)
        for statement in _copies_first(statements):
            if region.sums_here(statement):
                region.begin_sum(statement)
                self.home[statement] = path
            elif region.place(statement):
                self.places.append((statement, path))
                if isinstance(statement, Node):
                    self.home[statement] = path
        result: list = []
        for number in sorted({*region.scalars, *(number for number, _ in region.loops)}):
            if number in region.scalars:
                result.append(region.scalars[number])
            for (at, axis), loop in region.loops.items():
                if at == number:
                    loop.body = self._region(loop.statements, inside | {axis}, (*path, loop))
                    for reduce in loop.sums:
                        self.home.setdefault(reduce, path)
                    result.append(loop)
        return result

    def _kept(self) -> dict[Node, tuple[tuple[str, ...], bool]]:
        """Return which nodes are read outside of the loops that compute them."""
        kept: dict[Node, tuple[tuple[str, ...], bool]] = {}
        for node in self.nodes:
            if node.op == "reduce":
                inside = {loop.axis for loop in self.home[node] if isinstance(loop, Loop)}
                left = tuple(sorted(node.axes - inside))
                if left or node.axis == BATCH:
                    kept[node] = (left, node.axis == BATCH)
        for statement, path in self.places:
            for arg in statement.args:
                home = self.home.get(arg)
                if home is None or path[: len(home)] == home:
                    continue
                pairs = enumerate(zip(home, path, strict=False))
                shared = next((k for k, (own, other) in pairs if own != other), len(path))
                axes = [loop.axis for loop in home[shared:] if isinstance(loop, Loop)]
                axes = [a for a in axes if a in arg.axes]
                if arg.op == "reduce":
                    axes += [a for a in kept.get(arg, ((), False))[0] if a not in axes]
                lasting = home[0] != path[0] or BATCH in axes
                before, was_lasting = kept.get(arg, ((), False))
                if len(axes) >= len(before):
                    before = tuple(dict.fromkeys([*axes, *before]))
                kept[arg] = before, lasting or was_lasting
        return kept


class _Region:
    """The order of statements within the same loops: numbered phases, each of single numbers first.

    What a loop sums is known in the next phase.
    """

    def __init__(self, inside: frozenset[str]):
        self.inside = inside
        self.scalars: dict[int, list[Statement]] = {}
        self.loops: dict[tuple[int, str], Loop] = {}
        self._phase: dict[Node, tuple[int, str | None]] = {}
        self._uses: dict[str, list[tuple[int, str | None, tuple]]] = {}

    def _outer(self, axes: frozenset[str]) -> str | None:
        return min(axes - self.inside, key=lambda axis: (axis != BATCH, axis), default=None)

    def _earliest(self, node: Node, outer: str | None, *, elsewhere: bool = False) -> int:
        number, axis = self._phase.get(node, (0, None))
        return number if axis is None or (axis == outer and not elsewhere) else number + 1

    def _note_reads(self, args: Iterable[Node], number: int, outer: str | None) -> None:
        for arg in args:
            if arg.op == "load":
                self._uses.setdefault(arg.name, []).append((number, outer, arg.index))

    def sums_here(self, statement: Statement) -> TypeGuard[Node]:
        """Return whether it is a sum over the loop that stands outermost in this region."""
        if not isinstance(statement, Node) or statement.axis in ("", BATCH):
            return False
        return self._outer(statement.args[0].axes) == statement.axis

    def begin_sum(self, reduce: Node) -> None:
        """Let a loop of this region sum, which is known after it."""
        (arg,) = reduce.args
        number = self._earliest(arg, reduce.axis)
        loop = self.loops.setdefault((number, reduce.axis), Loop(reduce.axis))
        loop.sums.append(reduce)
        loop.statements.append(Gather(reduce))
        self._note_reads([arg], number, reduce.axis)
        self._phase[reduce] = (number + 1, None)

    def place(self, statement: Statement) -> bool:
        """Put a statement as early as its arguments allow; return whether it needs no loop."""
        outer, elsewhere = self._outer(statement.axes), False
        if isinstance(statement, Node) and statement.op == "pick":
            elsewhere = statement.picked.get(outer or "", outer) != outer
        numbers = (self._earliest(arg, outer, elsewhere=elsewhere) for arg in statement.args)
        number = max([0, *numbers])
        if isinstance(statement, Store):
            # It may overwrite a number once nobody reads the old one any more.
            for read, loop, index in self._uses.get(statement.name, ()):
                at_once = loop == outer and (outer is None or index == statement.index)
                number = max(number, read + (not at_once and (loop or outer) is not None))
        self._note_reads(statement.args, number, outer)
        if isinstance(statement, Node):
            self._phase[statement] = (number, outer)
        if outer is None:
            self.scalars.setdefault(number, []).append(statement)
            return True
        loop = self.loops.setdefault((number, outer), Loop(outer))
        loop.statements.append(statement)
        if isinstance(statement, Gather) and statement.reduce.axis == outer:
            loop.sums.append(statement.reduce)
        return False


def _copies_first(statements: Sequence[Statement]) -> list[Statement]:
    """Return nodes, then stores; first those that copy a number which a later one overwrites."""
    copied = {s.node.name for s in statements if isinstance(s, Store) and s.node.op == "load"}

    def rank(statement: Statement) -> int:
        if not isinstance(statement, Store):
            return 0
        return 1 + (statement.node.op != "load") + (statement.name in copied)

    return sorted(statements, key=rank)
