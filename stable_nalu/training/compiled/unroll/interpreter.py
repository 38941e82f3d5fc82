"""Running a recorded graph on cells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import torch
from torch.utils._pytree import tree_leaves

from ..plain_operations import PLAIN_FUNCTIONS, plain
from .cells import Cells, UnrollingError
from .shapes import Shapes
from .sums import Sums
from .wide import Wide, WideTensors

aten = torch.ops.aten


def unrolled(recorded: torch.fx.GraphModule, runs: int, batch: int) -> Callable:
    """Return a function like `recorded` that works on cells and changes nothing in place."""
    return lambda *arguments: _Interpreter(recorded, runs, batch).run(*arguments)


def _outputs(node: torch.fx.Node) -> Sequence[torch.fx.Node]:
    return cast("Sequence[torch.fx.Node]", node.args[0])


class _Interpreter(Shapes, Sums, WideTensors):
    """An interpreter that calls the method of each operation's name.

    Other elementwise operations are called on single cells.
    """

    def __init__(self, recorded: torch.fx.GraphModule, runs: int, batch: int):
        super().__init__(runs, batch)
        self.graph = recorded.graph
        self.values: dict[torch.fx.Node, Any] = {}

    def run(self, *arguments):
        flat = iter(tree_leaves(arguments))
        needed = _needed(self.graph)
        for node in self.graph.nodes:
            if node.op == "placeholder":
                value = next(flat)
                wide = self._is_wide(value.shape)
                self.values[node] = Wide(value) if wide else self._split(value)
                self.has_wide |= wide
            elif node.op == "output":
                return tuple(map(self._output, map(self._value, _outputs(node))))
            elif node.op == "get_attr":
                raise UnrollingError("a constant tensor")
            elif node in needed:
                self.values[node] = self._call(node)
            self._refuse_ambiguous(self.values.get(node))
        raise UnrollingError("no output")

    def _output(self, value) -> torch.Tensor:
        return value.tensor.contiguous() if isinstance(value, Wide) else self._join(value)

    def _refuse_ambiguous(self, value) -> None:
        """Refuse other dimensions as long as the batch, which is told from them by its size."""
        if isinstance(value, Cells):
            batch_axis = None if value.batch is None else len(value.shape) + value.batch
            if any(
                size == self.batch and axis != batch_axis
                for axis, size in enumerate(value.shape)
                if axis > 0
            ):
                raise UnrollingError("a dimension as long as the batch")

    def _value(self, argument) -> Any:
        if isinstance(argument, torch.fx.Node):
            return self.values[argument]
        if isinstance(argument, (list, tuple)):
            return type(argument)(self._value(item) for item in argument)
        return argument

    def _call(self, node: torch.fx.Node):
        target = node.target
        if not isinstance(target, torch._ops.OpOverload):
            raise UnrollingError(f"a call of {target}")
        name = target._schema.name.removeprefix("aten::")
        arguments = [self._value(a) for a in node.args]
        if name.endswith("_"):
            return self._in_place(node, name, arguments)
        made = node.meta.get("val")
        if any(isinstance(a, Wide) for a in arguments) or (
            isinstance(made, torch.Tensor) and self._is_wide(made.shape)
        ):
            return self._on_wide(node, name.strip("_"), arguments)
        handler = getattr(self, f"_{name.strip('_')}", None)
        if handler is not None:
            return handler(node, *arguments, **node.kwargs)
        if name in PLAIN_FUNCTIONS and isinstance(arguments[0], Cells):
            return self._function(getattr(plain, name), arguments[0])
        if torch.Tag.pointwise in target.tags:
            return self._pointwise(target, arguments, node.kwargs)
        raise UnrollingError(f"operation {name}")

    def _in_place(self, node, name: str, arguments: Sequence):
        """Change an intermediate value; arguments of the iteration are never changed."""
        changed = node.args[0]
        if changed.op == "placeholder":
            raise UnrollingError(f"an argument changed by {name}")
        functional = getattr(getattr(aten, name[:-1]), node.target._overloadname)
        if isinstance(arguments[0], Wide):
            result = functional(*map(self._as_tensor, arguments), **node.kwargs)
            self.values[changed] = Wide(result)
        else:
            self.values[changed] = self._pointwise(functional, arguments, node.kwargs)
        return self.values[changed]


def _needed(graph: torch.fx.Graph) -> set[torch.fx.Node]:
    """Return the nodes that an output depends on."""
    needed: set[torch.fx.Node] = set()
    for node in reversed(graph.nodes):
        if node.op == "output" or node in needed:
            needed.add(node)
            needed.update(node.all_input_nodes)
    return needed
