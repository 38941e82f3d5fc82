"""C++ of a plan: three functions over vectors, one run in each lane.

The memory of a run is a row of numbers; the runs in the lanes of a vector share a row of vectors.
`s` holds what lasts (parameters, moments, settings), `q` what an iteration remembers, `w` values of
schedules, `z` noise, `x` and `t` samples and targets, `p` what follows from `x` alone, `o` reports
of the iteration.
"""

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from .graph import BATCH, Gather, Graph, Index, Loop, Node, Part, Plan, Statement, Store, counter

PIECE, WHOLE = 400, 4000
"""Statements of a piece, and of the longest function that is left whole."""
_NAMES = re.compile(r"\b[av]\d+\b")
_GIVEN = "s, q, w, z, x, t, p, o, first, count"


@dataclass(frozen=True)
class Declaration:
    """What declares a variable, and gives it a value if that is known.

    samples: how many are side by side, which a function may do in two ways.
    """

    name: str
    kind: str
    dims: str
    value: str
    samples: int

    def line(self, shared: Collection[str]) -> str:
        text = f"{self.name}{self.dims}{self.value and ' = '}{self.value};"
        return f"{self.kind} {text}" if self.name not in shared else text if self.value else ""


TextLine = tuple[int, str | Declaration]
"""How deep a line is, and what it says."""


def is_batch(part: Any) -> bool:
    return isinstance(part, Loop) and part.axis == BATCH


def _size(part: Any, samples: int) -> int:
    """Return how many statements there are, those for each sample as often as side by side."""
    if not isinstance(part, Loop):
        return len(part)
    inside = sum(_size(inner, samples) for inner in part.body)
    return inside * samples if is_batch(part) else inside


def cut(region: list, most: int) -> None:
    """Cut the lists of statements of a function so that each fits into a piece."""
    for part in filter(is_batch, region):
        cut(part.body, PIECE // SAMPLES)
    parts = list(region)
    region.clear()
    for part in parts:
        is_loop = isinstance(part, Loop)
        region += [part] if is_loop else [part[k : k + most] for k in range(0, len(part), most)]


@dataclass
class Pieces:
    """The pieces of a function; `prefix` begins their names."""

    prefix: str
    bodies: list[tuple[int, list[TextLine]]] = field(default_factory=list)

    def grouped(self, region: Sequence, samples: int) -> Iterator[list]:
        """Yield parts of a function, as many as fit into a piece; its loop over samples alone."""
        group: list = []
        for part in region:
            full = sum(_size(p, 1) for p in (*group, part)) > PIECE // max(1, samples)
            if group and (full or is_batch(part) or is_batch(group[0])):
                yield group
                group = []
            group.append(part)
        if group:
            yield group

    def add(self, body: list[TextLine], samples: int) -> str:
        self.bodies.append((samples, body))
        b = "b" if samples else "0"
        return f"{self.prefix}_{len(self.bodies)}({_GIVEN}, {b}, n_, m_);"

    def text(self, lines: list[TextLine]) -> tuple[str, str]:
        """Return all pieces, and the lines of the function that calls them."""
        if not self.bodies:
            return "", _text(lines, ())
        bodies = [(0, lines), *self.bodies]
        where: dict[str, int] = {}
        shared = {
            name
            for number, (_, body) in enumerate(bodies)
            for name in _names(_text(body, ()))
            if where.setdefault(name, number) != number
        }
        sizes = {"N": 1, "M": 1}
        references: dict[tuple[str, int], str] = {}
        for _, d in chain.from_iterable(body for _, body in bodies):
            if isinstance(d, Declaration) and d.name in shared:
                kind = d.kind.split()[-1]
                place = f"*({kind} (*){d.dims})({kind.lower()}_ + {sizes[kind]})"
                sizes[kind] += math.prod(map(int, re.findall(r"\d+", d.dims)))
                references[d.name, d.samples] = f"  {kind} (&{d.name}){d.dims} = {place};"

        def function(samples: int, body: list[TextLine]) -> str:
            text = _text(body, shared)
            used = sorted(_names(text) & shared)
            known = [references.get((n, samples)) or references[n, 0] for n in used]
            return "\n".join([*known, text])

        whole, *pieces = (function(*own) for own in bodies)
        before = [f"PIECE({self.prefix}_{k}) {{\n{p}\n}}\n\n" for k, p in enumerate(pieces, 1)]
        memory = [f"  static thread_local {k} {k.lower()}_[{size}];" for k, size in sizes.items()]
        return "".join(before), "\n".join([*memory, whole])


def _names(text: str) -> set[str]:
    return set(_NAMES.findall(text))


def _text(lines: Sequence[TextLine], shared: Collection[str]) -> str:
    every = ((d, n.line(shared) if isinstance(n, Declaration) else n) for d, n in lines)
    return "\n".join("  " * depth + line for depth, line in every if line)


SAMPLES = 4
"""Samples that are computed side by side. Their sums are added first to last, then to the total."""

MOST_ON_STACK = 8192
"""Vectors in the arrays of a function that lie on the stack: a mebibyte at most."""

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
    **dict.fromkeys(("cosh", "erf"), 30),
    **{"pow": 70, "atan2": 40, "sqrt": 20, "div": 4},
}
"""Operations that take longer than a sum, and about how much."""
GATHERED = {"sum": "{} + {}", "prod": "{} * {}", "max": "max_({}, {})"}


@dataclass(frozen=True)
class Place:
    """Where a tensor lies: which memory, from where on, and what C++ calls that place."""

    memory: str
    offset: int
    shape: tuple[int, ...]
    label: str = ""

    @property
    def size(self) -> int:
        return math.prod(self.shape)


@dataclass
class Memory:
    """Places of named tensors, one after another in each memory."""

    places: dict[str, Place] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)

    def add(self, memory: str, name: str, shape: Sequence[int]) -> Place:
        label = re.sub(r"\W", "_", f"at_{name}", flags=re.ASCII)
        while any(place.label == label for place in self.places.values()):
            label += "_"
        place = Place(memory, self.sizes.get(memory, 0), tuple(shape), label)
        self.sizes[memory] = place.offset + place.size
        self.places[name] = place
        return place


@dataclass(frozen=True)
class EmittedSource:
    """Emitted functions and how much of `q` they need.

    passes: how often they go through all samples. work: about how many operations a sample takes.
    sums: how many are over samples.
    """

    text: str
    scratch: int
    passes: int
    work: int
    sums: int


class Emitter:
    """Writes the functions that write all stores."""

    most_on_stack: float = MOST_ON_STACK
    unrolled = ""
    in_pieces = True

    def __init__(
        self, graph: Graph, stores: Sequence[Store], memory: Memory, prefix: str, batch: int
    ):
        self.graph = graph
        self.plan = Plan(stores)
        self.memory, self.prefix, self.batch = memory, prefix, batch
        self.numbers = {node: k for k, node in enumerate(self.plan.home)}
        self.scratch = 0
        self.lasting: dict[Node, int] = {}
        self._remember()
        self.lines: list[TextLine] = []
        self.path: tuple = ()
        self.depth, self.samples, self.sample, self.on_stack = 1, 0, "k", 0
        self.shared: set[Node] = set()
        self.long: set[str] = set()
        for name, function in self.plan.functions.items():
            if self.in_pieces and sum(_size(part, SAMPLES) for part in function) > WHOLE:
                self.long.add(name)
                cut(function, PIECE)
            self._share(function, {})

    def _count(self, axes: Iterable[str]) -> int:
        return math.prod(self.graph.extents[axis] for axis in axes)

    def _remember(self) -> None:
        """Give places in memory to what lasts."""
        for node, (axes, lasting) in self.plan.kept.items():
            if lasting:
                self.lasting[node] = self._reserved(axes)

    def _reserved(self, axes: Sequence[str]) -> int:
        self.scratch += self._count(axes)
        return self.scratch - self._count(axes)

    def source(self) -> EmittedSource:
        text = "\n\n".join(map(self._function, ("begin", "block", "update")))
        samples = [node for node in self.plan.home if BATCH in node.axes]
        work = sum(COSTS.get(n.op, 1) * self._count(n.axes - {BATCH}) for n in samples)
        sums = sum(self._count(self.plan.kept[n][0]) for n in self.lasting if n.axis == BATCH)
        return EmittedSource(text, max(1, self.scratch), self.plan.passes, work, sums)

    def _share(self, region: Sequence, beside: dict[Node, Sequence]) -> None:
        for part in region:
            if isinstance(part, Loop):
                self._share(part.body, beside)
                continue
            for statement in part:
                apart = isinstance(statement, Gather) and statement.reduce.axis == BATCH
                self.shared.update(a for a in statement.args if apart or beside.get(a) is not part)
                if isinstance(statement, Node):
                    beside[statement] = part

    def _function(self, name: str) -> str:
        self.lines, self.path, self.on_stack = [], (name,), 0
        self.pieces = Pieces(f"{self.prefix}_{name}")
        if name == "begin":
            self._begin_sums()
        self._declare(within_batch=False)
        self._region(self.plan.functions[name])
        before, body = self.pieces.text(self.lines)
        return f"{before}// {COMMENTS[name]}\nMODEL_FUNCTION({self.prefix}_{name}) {{\n{body}\n}}"

    def _begin_sums(self) -> None:
        for node, offset in self.lasting.items():
            if node.axis == BATCH:
                count = self._count(self.plan.kept[node][0])
                start = self._literal(Graph.IDENTITY[node.name])
                loop = f"for (int k = 0; k < {count}; k++) " if count > 1 else ""
                at = f"{offset} + k" if count > 1 else offset
                self._line(f"{loop}q[{at}] = V({start});")

    def _line(self, text: str) -> None:
        self.lines.append((self.depth, text))

    def _declared(self, name: str, kind: str, dims: str = "", value: str = "") -> None:
        self.lines.append((self.depth, Declaration(name, kind, dims, value, self.samples)))

    def _declare(self, *, within_batch: bool) -> None:
        """Declare the arrays of nodes that are computed in loops and read outside of these."""
        for node, (axes, lasting) in self.plan.kept.items():
            home = self.plan.home[node]
            if lasting or home[0] != self.path[0]:
                continue
            batches = [p for p in home if isinstance(p, Loop) and p.axis == BATCH]
            if bool(batches) != within_batch or (batches and batches[0] is not self.path[-1]):
                continue
            dims = "".join(f"[{self.graph.extents[a]}]" for a in axes)
            samples = f"[{self.samples}]" if batches else ""
            size = self._count(axes) * max(1, self.samples)
            fits = self.on_stack + size <= self.most_on_stack
            self.on_stack += size if fits else 0
            kind = f"{'' if fits else 'static thread_local '}{_type(node)}"
            self._declared(f"a{self.numbers[node]}", kind, dims + samples)

    @contextmanager
    def _each_sample(self) -> Iterator[None]:
        """Let what is emitted be done for each of the samples side by side, if there are any."""
        if self.samples:
            self._line(f"EACH_OF({self.samples}) {{")
            self.depth += 1
        yield
        if self.samples:
            self.depth -= 1
            self._line("}")

    def _region(self, region: Sequence) -> None:
        if self.path[0] not in self.long or not (len(self.path) == 1 or is_batch(self.path[-1])):
            self._parts_of(region)
            return
        for parts in self.pieces.grouped(region, self.samples):
            if is_batch(parts[0]):
                self._loop(parts[0])
                continue
            before, depth, self.lines, self.depth = self.lines, self.depth, [], 1
            self._parts_of(parts)
            call = self.pieces.add(self.lines, self.samples)
            self.lines, self.depth = before, depth
            self._line(call)

    def _parts_of(self, region: Sequence) -> None:
        lists = [part for part in region if not isinstance(part, Loop)]
        for node in (s for part in lists for s in part if self.samples and s in self.shared):
            self._declared(f"v{self.numbers[node]}", _type(node), f"[{self.samples}]")
        for part in region:
            if isinstance(part, Loop):
                self._loop(part)
                continue
            sums = [s for s in part if isinstance(s, Gather) and s.reduce.axis == BATCH]
            if len(sums) < len(part):
                with self._each_sample():
                    for statement in part:
                        self._statement(statement)
            for statement in sums:
                self._add_samples(statement.reduce)

    def _loop(self, loop: Loop) -> None:
        if loop.axis == BATCH:
            self._batch(loop)
            return
        for reduce in loop.sums:
            self._start(reduce)
        axis, extent = loop.axis, self.graph.extents[loop.axis]
        self._inside(f"{self.unrolled}for (int {axis} = 0; {axis} < {extent}; {axis}++)", loop)
        kept = [reduce for reduce in loop.sums if self.plan.kept.get(reduce, ((0,), 0))[0] == ()]
        if kept:
            with self._each_sample():
                for reduce in kept:
                    self._line(f"{self._memory_of(reduce)} = {self._variable(reduce)};")

    def _inside(self, head: str, loop: Loop) -> None:
        before = self.path
        self._line(f"{head} {{")
        self.path, self.depth = (*before, loop), self.depth + 1
        if loop.axis == BATCH:
            self._declare(within_batch=True)
        self._region(loop.body)
        self.path, self.depth = before, self.depth - 1
        self._line("}")

    def _start(self, reduce: Node) -> None:
        zero = f"V({self._literal(Graph.IDENTITY[reduce.name])})"
        name, target = self._variable(reduce), self._target(reduce)
        if target == name and not self.samples:
            self._declared(name, "N", value=zero)
            return
        if target == name:
            self._declared(f"v{self.numbers[reduce]}", "N", f"[{self.samples}]")
        counters = {p.axis for p in self.path if isinstance(p, Loop)}
        for axis in self.plan.kept.get(reduce, ((), False))[0]:
            if axis in reduce.axes - counters:
                self._line(f"for (int {axis} = 0; {axis} < {self.graph.extents[axis]}; {axis}++)")
        each = f"EACH_OF({self.samples}) " if self.samples else ""
        self._line(f"{each}{target} = {zero};")

    def _batch(self, loop: Loop) -> None:
        whole = [r for r in loop.sums if not self.plan.kept[r][0]]
        for reduce in whole:
            self._declared(self._variable(reduce), "N", value=self._array(reduce))
        for number in (SAMPLES, 1) if self.batch % SAMPLES else (SAMPLES,):
            self.samples = number
            first = "0" if number > 1 else f"count - count % {SAMPLES}"
            self._inside(f"for (int b = {first}; b + {number} <= count; b += {number})", loop)
        self.samples = 0
        for reduce in whole:
            self._line(f"{self._array(reduce)} = {self._variable(reduce)};")

    def _statement(self, statement: Statement) -> None:
        if isinstance(statement, Store):
            target = self._at(self.memory.places[statement.name], statement.index)
            self._line(f"{target} = {self._vector(statement.node)};")
        elif isinstance(statement, Gather):
            if statement.reduce.axis != BATCH:
                self._add(statement.reduce, self._vector(*statement.args))
        elif statement.op != "reduce":
            name = self._variable(statement)
            value = self._expression(statement)
            if name.endswith("]"):
                self._line(f"{name} = {value};")
            else:
                self._declared(name, f"const {_type(statement)}", value=value)
            if statement in self.plan.kept:
                lasting = statement.is_mask and self.plan.kept[statement][1]
                known = f"{name} ? V(1) : V(0)" if lasting else name
                self._line(f"{self._memory_of(statement)} = {known};")

    def _add(self, reduce: Node, term: str) -> None:
        target = self._target(reduce)
        self._line(f"{target} = {GATHERED[reduce.name].format(target, term)};")

    def _add_samples(self, reduce: Node) -> None:
        """Add samples that are side by side to the total."""
        self._add(reduce, self._of_samples(reduce))

    def _of_samples(self, reduce: Node) -> str:
        """Return the sum of samples that are side by side, first to last."""
        form, total = GATHERED[reduce.name], ""
        for k in range(self.samples):
            self.sample = str(k)
            own = self._vector(reduce.args[0])
            total = form.format(f"({total})" if k > 1 else total, own) if k else own
        self.sample = "k"
        return f"({total})" if self.samples > 1 else total

    def _target(self, reduce: Node) -> str:
        inner = reduce.axes.intersection(self.plan.kept.get(reduce, ((), False))[0])
        return self._array(reduce) if inner else self._variable(reduce)

    def _expression(self, node: Node) -> str:
        if node.op == "pick":
            return self._array(node.args[0], node.picked)
        if node.op in INFIX:
            a, b = node.args
            left = self._vector(a) if b.op == "const" else self._operand(a)
            return f"{left} {INFIX[node.op]} {self._operand(b)}"
        args = [self._vector(a) for a in node.args]
        if node.op == "where":
            return f"{args[0]} ? {args[1]} : {args[2]}"
        if node.op in ("neg", "not"):
            return f"{'-' if node.op == 'neg' else '~'}{args[0]}"
        return f"{node.op}_({', '.join(args)})"

    def _operand(self, node: Node) -> str:
        return self._literal(node.value) if node.op == "const" else self._vector(node)

    def _vector(self, node: Node) -> str:
        if node.op == "const":
            return f"V({self._literal(node.value)})"
        if node.op == "load":
            return self._at(self.memory.places[node.name], node.index)
        home, kept = self.plan.home[node], self.plan.kept.get(node)
        is_here = self.path[: len(home)] == home and not (kept and kept[0] and node.op == "reduce")
        return self._variable(node) if kept is None or is_here else self._array(node)

    def _variable(self, node: Node) -> str:
        number = f"v{self.numbers[node]}"
        is_array = BATCH in node.axes and (node.op == "reduce" or node in self.shared)
        return f"{number}[{self.sample}]" if is_array else number

    def _array(self, node: Node, places: Mapping[str, Part] = {}) -> str:
        text = self._memory_of(node, places)
        return f"({text} != T(0))" if node.is_mask and self.plan.kept[node][1] else text

    def _memory_of(self, node: Node, places: Mapping[str, Part] = {}) -> str:
        axes, lasting = self.plan.kept[node]
        parts = [places.get(a, a) for a in axes]
        if not lasting:
            index = "".join(f"[{self._offset('', (1,), (part,))}]" for part in parts)
            sample = f"[{self.sample}]" if BATCH in node.axes else ""
            return f"a{self.numbers[node]}{index}{sample}"
        shape = [self.graph.extents[a] for a in axes]
        return f"q[{self._offset(str(self.lasting[node]), shape, parts)}]"

    def _at(self, place: Place, index: Index) -> str:
        label = "" if place.memory in "xt" else place.label
        offset = self._offset(label, place.shape, index, within=place.memory in "xtp")
        return f"{place.memory}[{offset}]"

    def _offset(
        self, start: str, shape: Sequence[int], index: Sequence[Part], *, within: bool = False
    ) -> str:
        """Return a place in memory; `within`: the count of samples starts with this call."""
        terms: dict[str, int] = {}
        more = 0
        for d, part in enumerate(index):
            stride = math.prod(shape[d + 1 :])
            if isinstance(part, int):
                more += part * stride
            elif (name := counter(part)) is not None:
                first, step = part[1:] if isinstance(part, tuple) else (0, 1)
                terms[name] = terms.get(name, 0) + step * stride
                more += first * stride
        text = [start] if start else []
        for axis, stride in terms.items():
            sample = f"b + {self.sample}" if within else f"first + b + {self.sample}"
            name = sample if axis == BATCH else axis
            text.append(f"({name}) * {stride}" if stride != 1 else name)
        return " + ".join([*text, *([str(more)] if more or not text else [])])

    def _literal(self, value: float) -> str:
        if not math.isfinite(value):
            return "NAN_" if math.isnan(value) else "INF_" if value > 0 else "-INF_"
        is_short = value.is_integer() and abs(value) <= 1e15
        return f"T({value:.1f})" if is_short else f"T({value!r})"


def _type(node: Node) -> str:
    return "M" if node.is_mask else "N"


def named(text: str, places: Mapping[str, Place]) -> str:
    """Return a text behind the places of all numbers that it reads or writes."""
    rows = [
        f"constexpr int {p.label} = {p.offset};  // {p.memory}: "
        f"{re.sub(r'[^ -~]', '?', name)} {list(p.shape)}"
        for name, p in places.items()
    ]
    return "\n".join(["// Where numbers lie.", *rows, "", text])
