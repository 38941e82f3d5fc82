"""C++ of a plan: three functions over vectors, one run in each lane.

Memory of a run is a row of numbers, and that of the lanes of a vector a row of vectors: `s` holds
what lasts (parameters, moments, settings), `q` what an iteration remembers, `w` what schedules say,
`z` noise, `x` and `t` samples and targets, `p` what follows from `x` alone, `o` what is reported of
the iteration.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from .graph import BATCH, Graph, Node
from .schedule import Gather, Loop, Statement, Store, planned

SAMPLES = 4
"""Samples that are computed side by side. Their sums are added first to last, then to the total."""

_READ = ", ".join(
    f"{kind} __restrict {name}"
    for kind, name in (("const N*", "s"), ("N*", "q"), ("const N*", "w"), ("const N*", "z"))
)
SIGNATURES = {
    "begin": _READ,
    "block": f"{_READ}, const N* __restrict x, const N* __restrict t, N* __restrict p, "
    "N* __restrict o, int first, int count",
    "update": f"{_READ.removeprefix('const ')}, N* __restrict o",
}
COMMENTS = {
    "begin": "What does not depend on samples.",
    "block": "Some samples: forward and backward, added to the sums.",
    "update": "What follows from the sums: gradients, clipping, the optimiser, constraints.",
}
INFIX = {
    **{"add": "+", "sub": "-", "mul": "*", "div": "/", "and": "&", "or": "|", "xor": "^"},
    **{"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="},
}
COSTS = {
    **dict.fromkeys(("exp", "expm1", "log", "log1p", "tanh", "sigmoid", "sinh", "sin", "cos"), 30),
    **{"pow": 70, "sqrt": 20, "div": 4},
}
"""Operations that take longer than a sum, and about how much."""
GATHERED = {"sum": "{} + {}", "prod": "{} * {}", "max": "max_({}, {})"}


@dataclass(frozen=True)
class Place:
    """Where a tensor lies: which memory, from where on, and the strides of its dimensions."""

    memory: str
    offset: int
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """Return how many numbers it has."""
        return math.prod(self.shape)


@dataclass
class Memory:
    """Places of named tensors, one after another in each memory."""

    places: dict[str, Place] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)

    def add(self, memory: str, name: str, shape: Sequence[int]) -> Place:
        """Return a new place."""
        place = Place(memory, self.sizes.get(memory, 0), tuple(shape))
        self.sizes[memory] = place.offset + place.size
        self.places[name] = place
        return place


@dataclass(frozen=True)
class EmittedSource:
    """Emitted functions and how much of `q` they need.

    passes: how often they go through all samples. work: about how many operations a sample takes.
    """

    text: str
    scratch: int
    passes: int
    work: int


def emitted(
    graph: Graph, stores: Sequence[Store], memory: Memory, prefix: str, batch: int
) -> EmittedSource:
    """Return the functions that write all stores."""
    return _Emitter(graph, stores, memory, prefix, batch).source()


class _Emitter:
    def __init__(
        self, graph: Graph, stores: Sequence[Store], memory: Memory, prefix: str, batch: int
    ):
        self.graph = graph
        self.plan = planned(stores)
        self.memory = memory
        self.prefix = prefix
        self.batch = batch
        self.numbers = {node: k for k, node in enumerate(self.plan.home)}
        self.scratch = 0
        self.lasting: dict[Node, int] = {}
        for node, (axes, lasting) in self.plan.kept.items():
            if lasting:
                self.lasting[node] = self.scratch
                self.scratch += math.prod(self.graph.extents[a] for a in axes)
        self.lines: list[str] = []
        self.depth = 1
        self.path: tuple = ()
        self.copies = 1

    def source(self) -> EmittedSource:
        text = [self._function(name) for name in ("begin", "block", "update")]
        return EmittedSource(
            "\n\n".join(text), max(1, self.scratch), self.plan.passes, self._work()
        )

    def _work(self) -> int:
        samples = [node for node in self.plan.home if BATCH in node.axes]
        extents = [[self.graph.extents[a] for a in node.axes - {BATCH}] for node in samples]
        costs = [COSTS.get(node.op, 1) for node in samples]
        return sum(c * math.prod(e) for c, e in zip(costs, extents, strict=True))

    def _function(self, name: str) -> str:
        self.lines, self.path = [], (name,)
        if name == "begin":
            for node, offset in self.lasting.items():
                if node.op == "reduce" and node.axis == BATCH:
                    count = math.prod(self.graph.extents[a] for a in self.plan.kept[node][0])
                    start = self._literal(Graph.IDENTITY[node.name])
                    self._line(f"for (int k = 0; k < {count}; k++) q[{offset} + k] = V({start});")
        self._declare(self.plan.functions[name], within_batch=False)
        self._region(self.plan.functions[name])
        body = "\n".join(self.lines)
        return (
            f"// {COMMENTS[name]}\n"
            f'extern "C" void {self.prefix}_{name}({SIGNATURES[name]}) {{\n{body}\n}}'
        )

    def _line(self, text: str) -> None:
        self.lines.append("  " * self.depth + text)

    def _declare(self, region: Sequence, *, within_batch: bool) -> None:
        """Declare the arrays of nodes that are computed in loops of a region and read outside."""
        for node, (axes, lasting) in self.plan.kept.items():
            home = self.plan.home[node]
            if lasting or home[0] != self.path[0]:
                continue
            in_batch = any(isinstance(p, Loop) and p.axis == BATCH for p in home)
            if in_batch != within_batch or (
                in_batch and self._batch_loop(home) is not self.path[-1]
            ):
                continue
            dims = "".join(f"[{self.graph.extents[a]}]" for a in axes)
            copies = f"[{self.copies}]" if in_batch else ""
            kind = "M" if node.is_mask else "N"
            self._line(f"{kind} a{self.numbers[node]}{dims}{copies};")

    def _batch_loop(self, home: tuple) -> Loop | None:
        return next((p for p in home if isinstance(p, Loop) and p.axis == BATCH), None)

    def _region(self, region: Sequence) -> None:
        for part in region:
            if isinstance(part, Loop):
                self._loop(part)
            else:
                for copy in range(self.copies):
                    for statement in part:
                        self._statement(statement, copy)

    def _loop(self, loop: Loop) -> None:
        if loop.axis == BATCH:
            self._batch(loop)
            return
        for reduce in loop.sums:
            self._start(reduce)
        extent = self.graph.extents[loop.axis]
        self._line(f"for (int {loop.axis} = 0; {loop.axis} < {extent}; {loop.axis}++) {{")
        self._inside(loop)
        self._line("}")
        for reduce in loop.sums:
            if reduce in self.plan.kept and not self.plan.kept[reduce][0]:
                for copy in range(self._copies_of(reduce)):
                    total = self._variable(reduce, copy)
                    self._line(f"{self._memory_of(reduce, copy)} = {total};")

    def _inside(self, loop: Loop) -> None:
        before = self.path
        self.path, self.depth = (*before, loop), self.depth + 1
        if loop.axis == BATCH:
            self._declare(loop.body, within_batch=True)
        self._region(loop.body)
        self.path, self.depth = before, self.depth - 1

    def _start(self, reduce: Node) -> None:
        """Begin a sum over an axis of inputs or outputs."""
        zero = f"V({self._literal(Graph.IDENTITY[reduce.name])})"
        axes = self.plan.kept.get(reduce, ((), False))[0]
        left = [a for a in axes if a in reduce.axes and a not in self._counters()]
        if left:
            for axis in left:
                self._line(f"for (int {axis} = 0; {axis} < {self.graph.extents[axis]}; {axis}++)")
            for copy in range(self._copies_of(reduce)):
                self._line(f"  {self._array(reduce, copy)} = {zero};")
            if self._copies_of(reduce) > 1:
                first = len(self.lines) - self._copies_of(reduce)
                self.lines[first:] = ["{", *self.lines[first:], "}"]
            return
        for copy in range(self._copies_of(reduce)):
            self._line(f"N {self._variable(reduce, copy)} = {zero};")

    def _counters(self) -> set[str]:
        return {p.axis for p in self.path if isinstance(p, Loop)}

    def _copies_of(self, node: Node) -> int:
        return self.copies if BATCH in node.axes else 1

    def _batch(self, loop: Loop) -> None:
        whole = [r for r in loop.sums if not self.plan.kept[r][0]]
        for reduce in whole:
            self._line(f"N {self._variable(reduce, 0)} = {self._array(reduce, 0)};")
        self._line("int b = 0;" if "int b = 0;" not in " ".join(self.lines) else "b = 0;")
        for copies in (SAMPLES, 1):
            if copies == 1 and self.batch % SAMPLES == 0:
                continue
            self.copies = copies
            self._line(f"for (; b + {copies} <= count; b += {copies}) {{")
            self._inside(loop)
            self._line("}")
        self.copies = 1
        for reduce in whole:
            self._line(f"{self._array(reduce, 0)} = {self._variable(reduce, 0)};")

    def _statement(self, statement: Statement, copy: int) -> None:
        if isinstance(statement, Store):
            place = self.memory.places[statement.name]
            target = self._at(place, statement.index, copy)
            if copy == 0 or BATCH in statement.axes:
                self._line(f"{target} = {self._vector(statement.node, copy)};")
        elif isinstance(statement, Gather):
            self._gather(statement.reduce, copy)
        elif copy == 0 or BATCH in statement.axes:
            if statement.op == "reduce":
                return
            kind = "M" if statement.is_mask else "N"
            name = self._variable(statement, copy)
            self._line(f"const {kind} {name} = {self._expression(statement, copy)};")
            if statement in self.plan.kept:
                lasting = statement.is_mask and self.plan.kept[statement][1]
                known = f"{name} ? V(1) : V(0)" if lasting else name
                self._line(f"{self._memory_of(statement, copy)} = {known};")

    def _gather(self, reduce: Node, copy: int) -> None:
        (arg,) = reduce.args
        form = GATHERED[reduce.name]
        if reduce.axis != BATCH:
            target = self._target(reduce, copy)
            self._line(f"{target} = {form.format(target, self._vector(arg, copy))};")
            return
        if copy < self.copies - 1:
            return
        total = self._vector(arg, 0)
        for other in range(1, self.copies):
            total = form.format(f"({total})" if other > 1 else total, self._vector(arg, other))
        target = self._target(reduce, 0)
        self._line(f"{target} = {form.format(target, f'({total})' if self.copies > 1 else total)};")

    def _target(self, reduce: Node, copy: int) -> str:
        axes = self.plan.kept.get(reduce, ((), False))[0]
        left = [a for a in axes if a in reduce.axes]
        inner = any(a in left for a in axes) and bool(left)
        return self._array(reduce, copy) if inner else self._variable(reduce, copy)

    def _expression(self, node: Node, copy: int) -> str:
        if node.op in INFIX:
            a, b = node.args
            left, right = self._operand(a, copy), self._operand(b, copy)
            if a.op == "const" and b.op == "const":
                left = self._vector(a, copy)
            return f"{left} {INFIX[node.op]} {right}"
        args = [self._vector(a, copy) for a in node.args]
        if node.op == "where":
            return f"{args[0]} ? {args[1]} : {args[2]}"
        if node.op in ("neg", "not"):
            return f"{'-' if node.op == 'neg' else '~'}{args[0]}"
        return f"{node.op}_({', '.join(args)})"

    def _operand(self, node: Node, copy: int) -> str:
        return self._literal(node.value) if node.op == "const" else self._vector(node, copy)

    def _vector(self, node: Node, copy: int) -> str:
        if node.op == "const":
            return f"V({self._literal(node.value)})"
        if node.op == "load":
            return self._at(self.memory.places[node.name], node.index, copy)
        home = self.plan.home[node]
        if node in self.plan.kept and (self.path[: len(home)] != home or node.op == "reduce"):
            if (
                node.op == "reduce"
                and not self.plan.kept[node][0]
                and self.path[: len(home)] == home
            ):
                return self._variable(node, copy)
            return self._array(node, copy)
        return self._variable(node, copy)

    def _variable(self, node: Node, copy: int) -> str:
        return f"v{self.numbers[node]}" + (f"_{copy}" if BATCH in node.axes else "")

    def _array(self, node: Node, copy: int) -> str:
        text = self._memory_of(node, copy)
        return f"({text} != T(0))" if node.is_mask and self.plan.kept[node][1] else text

    def _memory_of(self, node: Node, copy: int) -> str:
        axes, lasting = self.plan.kept[node]
        if not lasting:
            index = "".join(f"[{a}]" for a in axes)
            return f"a{self.numbers[node]}{index}" + (f"[{copy}]" if BATCH in node.axes else "")
        shape = [self.graph.extents[a] for a in axes]
        return f"q[{self._offset(self.lasting[node], shape, axes, copy)}]"

    def _at(self, place: Place, index: Sequence[int | str], copy: int) -> str:
        return (
            f"{place.memory}[{self._offset(place.offset, place.shape, index, copy, place.memory)}]"
        )

    def _offset(
        self,
        start: int,
        shape: Sequence[int],
        index: Sequence[int | str],
        copy: int,
        memory: str = "q",
    ) -> str:
        terms: dict[str, int] = {}
        for d, part in enumerate(index):
            stride = math.prod(shape[d + 1 :])
            if isinstance(part, int):
                start += part * stride
                continue
            terms[part] = terms.get(part, 0) + stride
            if part == BATCH:
                start += copy * stride
        text = [
            f"{a if a != BATCH or memory in 'xtp' else '(first + b)'} * {n}"
            if n != 1
            else (a if a != BATCH or memory in "xtp" else "first + b")
            for a, n in terms.items()
        ]
        return " + ".join([*text, *([str(start)] if start or not text else [])])

    def _literal(self, value: float) -> str:
        if math.isnan(value):
            return "NAN_"
        if math.isinf(value):
            return "INF_" if value > 0 else "-INF_"
        return (
            f"T({value!r})"
            if not float(value).is_integer() or abs(value) > 1e15
            else f"T({value:.1f})"
        )


def named(text: str, places: Mapping[str, Place]) -> str:
    """Return a comment that says where parameters lie."""
    rows = [
        f"//   {p.memory}[{p.offset}]"
        + (f" to {p.memory}[{p.offset + p.size - 1}]" if p.size > 1 else "")
        + f"  {re.sub(r'[^ -~]', '?', name)} {list(p.shape)}"
        for name, p in places.items()
    ]
    return "\n".join(["// Where numbers lie:", *rows, "", text])
