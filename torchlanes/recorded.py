"""A recorded model: its C++, where its numbers lie, and what it needs from outside."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from .emit import COSTS, EmittedSource, Emitter, Memory, Place, named
from .graph import BATCH, Graph, Node, Store, ordered
from .values import LONGEST_WRITTEN, NotLoweredError, Tensors, TooLongError, Value

LONG = 30
"""From how many operations on what is computed apart for all that can share it."""

ATTEMPTS = ((LONGEST_WRITTEN, False), (math.inf, False), (8, True), (2, True))
"""Up to which extent dimensions are written out, and whether others may be cut and joined. The
first attempt that comes to an end counts: others would sum in another order."""


@dataclass(frozen=True)
class Draw:
    """Noise that one run draws in an iteration: the method of torch, its shape and its bounds."""

    kind: str
    shape: tuple[int, ...]
    bounds: tuple[float, float] = (0.0, 1.0)


@dataclass(frozen=True)
class Logged:
    """A value that a logged iteration gives under a tag: its kind, and its name in `o`.

    of_modules: whether modules observe it of their inputs; else it is a penalty.
    """

    kind: str
    tag: str
    name: str
    of_modules: bool


@dataclass(eq=False)
class Program:
    """C++ of a model, where its numbers lie, and what it needs from outside.

    graph, stores, batch: what the text was made of. draws: the noise of an iteration and, if
    `draws_in_evaluation`, of an evaluation. trained: parameters that an update changes. logged:
    what a logged iteration gives.
    """

    text: str
    memory: Memory
    sources: Mapping[str, EmittedSource]
    draws: Sequence[Draw]
    trained: Sequence[str]
    logged: Sequence[Logged]
    dtype: torch.dtype
    draws_in_evaluation: bool
    graph: Graph
    stores: Mapping[str, Sequence[Store]]
    batch: int

    @property
    def numpy_type(self) -> np.dtype:
        return np.dtype(str(self.dtype).removeprefix("torch."))

    @property
    def work(self) -> int:
        """Return how many operations a sample takes."""
        return self.sources["run"].work

    @property
    def places(self) -> Mapping[str, Place]:
        return self.memory.places


def first_built(build: Callable[[float, bool], Program]) -> Program:
    """Return what is built at the first attempt that comes to an end, or raise NotLoweredError."""
    refused = NotLoweredError()
    for longest, cuts in ATTEMPTS:
        try:
            return build(longest, cuts)
        except NotLoweredError as error:
            if not cuts:
                refused = error
                if not isinstance(error, TooLongError):
                    raise
    raise refused


class ProgramBuilder:
    """Where the tensors of a model lie, and what is stored of them: from this, its program.

    longest, cuts: see `Tensors`.
    """

    draws: Sequence[Draw] = ()
    trained: Sequence[str] = ()
    logged: Sequence[Logged] = ()
    evaluation_draws = False

    def __init__(self, dtype: torch.dtype, batch: int, longest: float, cuts: bool):
        self.dtype, self.batch = dtype, batch
        self.graph, self.memory = Graph(), Memory()
        self.tensors = Tensors(self.graph, longest, cuts)

    def stored(
        self, memory: str, name: str, shape: Sequence[int], batch: int | None = None
    ) -> Value:
        """Return a tensor with a place of its own in memory; batch: its dimension of samples."""
        self.memory.add(memory, name, shape)
        return self.tensors.stored(name, shape, batch)

    def outputs(self, name: str, value: Value) -> list[Store]:
        """Return what stores a tensor where it is read from outside."""
        self.memory.add("o", name, value.shape)
        return self.stores(name, value)

    def stores(self, name: str, value: Value) -> list[Store]:
        """Return what stores a tensor at its place."""
        batch = value.axes.index(BATCH) if BATCH in value.axes else None
        place = self.tensors.stored(name, value.shape, batch)
        value = self.tensors.typed(value, truth=False)
        made = self.tensors.each(lambda own, node: Store(name, own.index, node), place, value)
        stores: list[Store] = [*made.nodes.flat]
        if any(store.node.axes - store.axes for store in stores):
            raise NotLoweredError("a batch of one sample")
        return stores

    def program(
        self, stores: list[Store], logged: list[Store], evaluation: list[Store] | None
    ) -> Program:
        """Return the program of what an iteration, a logged one besides and an evaluation store."""
        stores, logged, of_inputs = self._apart(stores, logged)
        every = {"run": stores}
        every |= {"log": [*stores, *logged]} if logged else {}
        every |= {"prepare": of_inputs} if of_inputs else {}
        every |= {} if evaluation is None else {"eval": evaluation}
        graph, memory = self.graph, self.memory
        parts = {
            name: Emitter(graph, own, memory, name, self.batch).source()
            for name, own in every.items()
        }
        text = named("\n\n".join(part.text for part in parts.values()), memory.places)
        outside = self.draws, self.trained, self.logged, self.dtype, self.evaluation_draws
        return Program(text, memory, parts, *outside, graph, every, self.batch)

    def _apart(
        self, outputs: list[Store], logged: list[Store]
    ) -> tuple[list[Store], list[Store], list[Store]]:
        """Return what is stored, and apart what takes long and follows from inputs alone.

        That is computed once for all runs of a program which have the same inputs.
        """
        of_inputs: set[Node] = set()
        after: dict[Node, Node] = {}
        apart: list[Store] = []
        for node in ordered(store.node for store in (*outputs, *logged)):
            args = [after[arg] for arg in node.args]
            after[node] = node
            if node.op == "reduce":
                after[node] = self.graph.reduce(node.name, node.axis, *args)
            elif node.op == "pick":
                after[node] = self.graph.pick(args[0], node.picked)
            elif node.op == "const" or (node.op == "load" and node.name == "x"):
                of_inputs.add(node)
            elif args and of_inputs.issuperset(node.args):
                of_inputs.add(node)
                if COSTS.get(node.op, 1) >= LONG and BATCH in node.axes:
                    index = (BATCH, *sorted(node.axes - {BATCH}))
                    name = f"of inputs:{len(apart)}"
                    self.memory.add("p", name, [self.graph.extents[axis] for axis in index])
                    apart.append(Store(name, index, node))
                    after[node] = self.graph.load(name, index)
            elif args:
                after[node] = self.graph.op(node.op, *args)
        outputs, logged = (
            [Store(s.name, s.index, after[s.node]) for s in stores] for stores in (outputs, logged)
        )
        read = {node.name for node in ordered(s.node for s in (*outputs, *logged))}
        return outputs, logged, [store for store in apart if store.name in read]
