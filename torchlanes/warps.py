"""C++ of a plan for a GPU, of which a warp trains a run; see warps.h."""

import math
from collections.abc import Collection, Mapping, Sequence

from .emit import GATHERED, SAMPLES, EmittedSource, Emitter, Place
from .graph import BATCH, Gather, Graph, Index, Loop, Node, Statement, Store
from .values import NotLoweredError

GROUP = 32 * SAMPLES
"""Samples that the threads of a warp have at once."""


def padded(samples: int) -> int:
    """Return how many samples there is memory for."""
    return -(-samples // GROUP) * GROUP


class WarpEmitter(Emitter):
    """Writes functions of which all threads of a warp do their part.

    Each thread has some samples; what it adds to sums lies in `part` until all are added in the
    order in which a processor adds them. Of loops over other axes each thread has every 32nd place;
    what they sum is added by all threads once they are done. All else is computed by all threads.
    """

    most_on_stack = math.inf
    unrolled = "SOME_UNROLLED "
    _terms: Mapping[Node, int] = {}

    def source(self) -> EmittedSource:
        """Return the functions."""
        if self.batch % SAMPLES:
            raise NotLoweredError(f"a batch that is no multiple of {SAMPLES}")
        return super().source()

    def _is_long(self, body: Sequence) -> bool:
        return False

    @property
    def sums(self) -> int:
        """Return how many sums over samples there are: they come first in memory."""
        own = [n for n in self.lasting if n.op == "reduce" and n.axis == BATCH]
        return sum(math.prod(self.graph.extents[a] for a in self.plan.kept[n][0]) for n in own)

    def _remember(self) -> None:
        for node, (axes, lasting) in self.plan.kept.items():
            home = self.plan.home[node]
            whole = len(home) > 1 and home[1].axis in axes and home[1].axis != BATCH
            if not lasting and whole:
                self.plan.kept[node] = axes, True
            if node.op == "reduce" and node.axis != BATCH and axes and len(home) == 1:
                raise NotLoweredError("sums side by side over what is no sample")
        kept = self.plan.kept.items()
        kinds = [{n: k for n, k in kept if k[1] and self._is_sum(n, kind)} for kind in GATHERED]
        rest = {n: k for n, k in kept if k[1] and not any(n in own for own in kinds)}
        for own in (*kinds, rest):
            self.lasting |= {node: self._reserved(axes) for node, (axes, _) in own.items()}

    def _is_sum(self, node: Node, kind: str) -> bool:
        return node.op == "reduce" and node.axis == BATCH and node.name == kind

    def _begin_sums(self) -> None:
        for kind in GATHERED:
            start = f"q[k] = V({self._literal(Graph.IDENTITY[kind])});"
            for first, end in self._ranges(kind, self.lasting):
                self._line(f"for (int k = {first} + lane; k < {end}; k += WARP) {start}")

    def _ranges(self, kind: str, among: Collection[Node]) -> list[tuple[int, int]]:
        """Return from where to where sums of a kind lie, among some."""
        found: list[tuple[int, int]] = []
        for node in (n for n in self.lasting if n in among and self._is_sum(n, kind)):
            count = math.prod(self.graph.extents[a] for a in self.plan.kept[node][0])
            first = self.lasting[node]
            if found and found[-1][1] == first:
                first = found.pop()[0]
            found.append((first, self.lasting[node] + count))
        return found

    def _batch(self, loop: Loop) -> None:
        self.samples = SAMPLES
        self._line("for (int round = 0; round < count; round += WARP * 4) {")
        self._line("const int b = round + 4 * lane;")
        self._line("if (b < count) {")
        self._inside(loop)
        self._line("}")
        self.samples = 0
        own = [s.reduce for s in loop.statements if isinstance(s, Gather)]
        if own:
            self._line("SYNC();")
        for kind, form in GATHERED.items():
            for first, end in self._ranges(kind, own):
                self._line(f"FOLD({first}, {end}, {form.format('all', 'one')});")
        self._line("SYNC();")
        self._line("}")

    def _add_samples(self, reduce: Node) -> None:
        axes = self.plan.kept[reduce][0]
        shape = [self.graph.extents[a] for a in axes]
        at = self._offset(str(self.lasting[reduce]), shape, axes)
        self._line(f"PART({at}) = {self._of_samples(reduce)};")

    def _loop(self, loop: Loop) -> None:
        if loop.axis == BATCH or len(self.path) > 1:
            super()._loop(loop)
            return
        extent = self.graph.extents[loop.axis]
        self._terms = {reduce: self._reserved([loop.axis]) for reduce in loop.sums}
        self._line(f"for (int {loop.axis} = lane; {loop.axis} < {extent}; {loop.axis} += WARP) {{")
        self._inside(loop)
        self._line("}")
        self._line("SYNC();")
        for reduce in loop.sums:
            self._start(reduce)
        if loop.sums:
            self._line(f"for (int k = 0; k < {extent}; k++) {{")
            for reduce, first in self._terms.items():
                name = self._variable(reduce)
                term = GATHERED[reduce.name].format(name, f"q[{first} + k]")
                self._line(f"{name} = {term};")
            self._line("}")
        for reduce in loop.sums:
            if reduce in self.plan.kept:
                self._line(f"{self._memory_of(reduce)} = {self._variable(reduce)};")

    def _vector(self, node: Node) -> str:
        if node.op == "reduce" and node.axis == BATCH:
            return self._array(node)
        return super()._vector(node).replace("OF_SAMPLE", "READ_SAMPLE")

    def _statement(self, statement: Statement) -> None:
        if isinstance(statement, Gather) and statement.reduce in self._terms:
            term = f"q[{self._terms[statement.reduce]} + {statement.reduce.axis}]"
            self._line(f"{term} = {self._vector(statement.node)};")
            return
        if isinstance(statement, Store) and len(self.path) == 1:
            self._line("SYNC();")
        super()._statement(statement)

    def _at(self, place: Place, index: Index) -> str:
        if place.memory not in "xtp":
            return super()._at(place, index)
        if index[0] != BATCH:
            raise NotLoweredError("a sample by its number")
        stride, rest = math.prod(place.shape[1:]), self._offset("", place.shape[1:], index[1:])
        first = place.offset // self.batch * padded(self.batch) if place.memory == "p" else 0
        memory = f"{place.memory} + {first}" if first else place.memory
        return f"OF_SAMPLE({memory}, {stride}, {rest})"
