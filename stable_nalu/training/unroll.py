"""Write a recorded iteration of many runs as one flat loop over (run, sample).

A compiler fuses and vectorises long, equal loops well, and badly those over two inputs or one
output. Here every tensor `(runs, batch, in, …)` becomes an array of cells, one for each index of
its small dimensions; a cell is a tensor `(runs, batch)`, or `(runs, 1)` for what does not depend on
the sample. Operations on small dimensions happen while recording; what is left is elementwise, but
for reductions over the batch, which are left to torch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
from torch.utils._pytree import tree_leaves

from .batch_sum import batch_sum, is_known_order
from .plain_operations import PLAIN_FUNCTIONS, plain

aten = torch.ops.aten
MAX_CELLS = 256
WHOLE_VECTORS = 64
"""Functions of batches of a multiple of this size need no scalar code, which rounds differently."""
INNER_AS_SUM = 4
"""Matrix products over at most this many inputs round like a sum in order."""


class UnrollingError(Exception):
    """The recorded operations are not of the kind that can be unrolled."""


@dataclass(frozen=True)
class Cells:
    """A tensor of `shape`: `cells` has its dimensions, runs and batch shrunk to 1.

    `batch` is the index of the batch dimension counted from the right (negative), or None.
    """

    cells: np.ndarray
    shape: tuple[int, ...]
    batch: int | None

    def __post_init__(self):
        if self.cells.size > MAX_CELLS:
            raise UnrollingError(f"{self.cells.size} cells")


def unrolled(recorded: torch.fx.GraphModule, runs: int, batch: int) -> Callable:
    """A function of the arguments and results of `recorded`; changes nothing in place."""
    return lambda *arguments: _Interpreter(recorded, runs, batch).run(*arguments)


def _outputs(node: torch.fx.Node) -> Sequence[torch.fx.Node]:
    return cast("Sequence[torch.fx.Node]", node.args[0])


class _Interpreter:
    def __init__(self, recorded: torch.fx.GraphModule, runs: int, batch: int):
        self.graph = recorded.graph
        self.runs = runs
        self.batch = batch
        self.values: dict[torch.fx.Node, object] = {}

    def run(self, *arguments):
        flat = iter(tree_leaves(arguments))
        needed = _needed(self.graph)
        for node in self.graph.nodes:
            if node.op == "placeholder":
                self.values[node] = self._split(next(flat))
            elif node.op == "output":
                return tuple(self._join(self._value(v)) for v in _outputs(node))
            elif node.op == "get_attr":
                raise UnrollingError("a constant tensor")
            elif node in needed:
                self.values[node] = self._call(node)
            self._refuse_ambiguous(self.values.get(node))
        raise UnrollingError("no output")

    def _refuse_ambiguous(self, value) -> None:
        """Sizes tell the batch from other dimensions, so none may be as long."""
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

    def _split(self, tensor: torch.Tensor) -> Cells | torch.Tensor:
        if tensor.ndim == 0:
            return tensor
        shape = tuple(tensor.shape)
        if shape[0] != self.runs:
            raise UnrollingError(f"an input of shape {shape}")
        has_batch = len(shape) == 3 and shape[1] == self.batch
        small = (1, 1, *shape[2:]) if has_batch else (1, *shape[1:])
        cells = np.empty(small, dtype=object)
        for index in np.ndindex(*small):
            if has_batch:
                cells[index] = tensor[(slice(None), slice(None), *index[2:])]
            else:
                cells[index] = tensor[(slice(None), *index[1:])].unsqueeze(1)
        return Cells(cells, shape, -2 if has_batch else None)

    def _join(self, value: Cells | torch.Tensor) -> torch.Tensor:
        if isinstance(value, torch.Tensor):
            return value
        if value.batch is not None:
            raise UnrollingError("an output with a batch")
        parts = [cell.expand(self.runs, 1) for cell in value.cells.flat]
        return torch.cat(parts, dim=1).reshape(value.shape)

    def _call(self, node: torch.fx.Node):
        target = node.target
        if not isinstance(target, torch._ops.OpOverload):
            raise UnrollingError(f"a call of {target}")
        name = target._schema.name.removeprefix("aten::")
        arguments = [self._value(a) for a in node.args]
        if name.endswith("_"):
            return self._in_place(node, name, arguments)
        handler = getattr(self, f"_{name.strip('_')}", None)
        if handler is not None:
            return handler(node, *arguments, **node.kwargs)
        if name in PLAIN_FUNCTIONS and isinstance(arguments[0], Cells):
            return self._function(getattr(plain, name), arguments[0])
        if torch.Tag.pointwise in target.tags:
            return self._pointwise(target, arguments, node.kwargs)
        raise UnrollingError(f"operation {name}")

    def _in_place(self, node, name: str, arguments: Sequence):
        """A change of an intermediate value; arguments of the iteration are never changed."""
        changed = node.args[0]
        if changed.op == "placeholder":
            raise UnrollingError(f"an argument changed by {name}")
        functional = getattr(getattr(aten, name[:-1]), node.target._overloadname)
        self.values[changed] = self._pointwise(functional, arguments, node.kwargs)
        return self.values[changed]

    def _pointwise(self, target, arguments: Sequence, keywords: dict):
        operands = [a for a in arguments if isinstance(a, Cells)]
        if not operands:
            return target(*arguments, **keywords)
        small = np.broadcast_shapes(*(o.cells.shape for o in operands))
        ndim = len(small)
        if any(o.cells.ndim != ndim for o in operands):
            raise UnrollingError("operands of different rank")
        batches = {o.batch for o in operands} - {None}
        if len(batches) > 1:
            raise UnrollingError("two batch dimensions")
        grids = [
            np.broadcast_to(a.cells, small) if isinstance(a, Cells) else None for a in arguments
        ]
        cells = np.empty(small, dtype=object)
        for index in np.ndindex(*small):
            values = [a if g is None else g[index] for a, g in zip(arguments, grids, strict=True)]
            cells[index] = target(*values, **keywords)
        shape = np.broadcast_shapes(*(o.shape for o in operands))
        return Cells(cells, tuple(shape), batches.pop() if batches else None)

    def _clone(self, node, value, **_):
        return value

    _detach = _alias = _clone

    def _function(self, function: Callable, value: Cells) -> Cells:
        """Apply a function of single elements."""
        if value.batch is None:
            return self._parts(function(self._join(value)))
        if self.batch % WHOLE_VECTORS:
            return self._plainly(function, value)
        return self._cells_of_rows(function(self._rows(value)), value)

    def _plainly(self, function: Callable, *operands: Cells) -> Cells:
        """Apply a function of whole tensors."""
        shape = torch.broadcast_shapes(*(operand.shape for operand in operands))
        result = function(*(self._whole(operand) for operand in operands))
        with_batch = any(operand.batch is not None for operand in operands)
        return self._parts_of_batch(result, shape) if with_batch else self._parts(result)

    def _pow(self, node, base, exponent):
        if isinstance(base, Cells) and isinstance(exponent, Cells):
            return self._plainly(plain.power, base, exponent)
        return self._pointwise(node.target, [base, exponent], {})

    def _to_copy(self, node, value, *, dtype=None, **_):
        if dtype is None:
            return value
        return self._pointwise(aten._to_copy.default, [value], {"dtype": dtype})

    def _filled(self, value, number: float, dtype):
        if isinstance(value, torch.Tensor):
            return torch.full_like(value, number, dtype=dtype)
        one = torch.full((self.runs, 1), number, dtype=dtype or value.cells.flat[0].dtype)
        cells = np.empty(value.cells.shape, dtype=object)
        for index in np.ndindex(*cells.shape):
            cells[index] = one if value.batch is None else one.expand(self.runs, self.batch)
        return Cells(cells, value.shape, value.batch)

    def _ones_like(self, node, value, *, dtype=None, **_):
        return self._filled(value, 1.0, dtype)

    def _zeros_like(self, node, value, *, dtype=None, **_):
        return self._filled(value, 0.0, dtype)

    def _full_like(self, node, value, number, *, dtype=None, **_):
        return self._filled(value, number, dtype)

    def _scalar_tensor(self, node, number, **keywords):
        return torch.scalar_tensor(number, dtype=keywords.get("dtype"))

    def _unsqueeze(self, node, value, dim):
        axis = dim % (len(value.shape) + 1)
        if axis == 0:
            raise UnrollingError("a dimension before the runs")
        batch = value.batch
        if batch is not None and axis > len(value.shape) + batch:
            batch -= 1
        shape = (*value.shape[:axis], 1, *value.shape[axis:])
        return Cells(np.expand_dims(value.cells, axis), shape, batch)

    def _squeeze(self, node, value, dims):
        dims = [dims] if isinstance(dims, int) else dims
        ndim = len(value.shape)
        axes = sorted((d % ndim for d in dims if value.shape[d] == 1), reverse=True)
        cells, shape, batch = value.cells, list(value.shape), value.batch
        for axis in axes:
            if batch is not None and axis > len(shape) + batch:
                batch += 1
            cells = np.squeeze(cells, axis)
            del shape[axis]
        return Cells(cells, tuple(shape), batch)

    def _permute(self, node, value, dims):
        ndim = len(value.shape)
        dims = [d % ndim for d in dims]
        if dims[0] != 0:
            raise UnrollingError("runs moved")
        batch = None if value.batch is None else dims.index(ndim + value.batch) - ndim
        shape = tuple(value.shape[d] for d in dims)
        return Cells(value.cells.transpose(dims), shape, batch)

    def _transpose(self, node, value, first, second):
        dims = list(range(len(value.shape)))
        dims[first], dims[second] = dims[second], dims[first]
        return self._permute(node, value, dims)

    def _expand(self, node, value, sizes, **_):
        shape = tuple(node.meta["val"].shape)
        if isinstance(value, torch.Tensor):
            if shape[0] != self.runs or len(shape) != 1:
                raise UnrollingError(f"a number expanded to {shape}")
            cells = np.empty((1,), dtype=object)
            cells[0] = value.expand(self.runs, 1)
            return Cells(cells, shape, None)
        if len(shape) != len(value.shape):
            raise UnrollingError("new dimensions")
        grown = [
            axis
            for axis, (old, new) in enumerate(zip(value.shape, shape, strict=True))
            if old != new
        ]
        batch_axes = [axis for axis in grown if shape[axis] == self.batch]
        if len(batch_axes) > 1 or (batch_axes and value.batch is not None):
            raise UnrollingError("an ambiguous batch dimension")
        small = [
            1 if axis == 0 or axis in batch_axes or axis - len(shape) == value.batch else size
            for axis, size in enumerate(shape)
        ]
        cells = np.broadcast_to(value.cells, small)
        if not batch_axes:
            return Cells(cells, shape, value.batch)
        spread = np.empty(cells.shape, dtype=object)
        for index in np.ndindex(*cells.shape):
            spread[index] = cells.item(index).expand(self.runs, self.batch)
        return Cells(spread, shape, batch_axes[0] - len(shape))

    def _view(self, node, value, sizes):
        shape = tuple(node.meta["val"].shape)
        if isinstance(value, torch.Tensor) or shape == value.shape:
            return value
        if not shape or shape[0] != self.runs:
            raise UnrollingError(f"a view of {value.shape} as {shape}")
        batch_axis = None
        if value.batch is not None:
            after = math.prod(value.shape[len(value.shape) + value.batch + 1 :])
            candidates = [
                axis
                for axis in range(1, len(shape))
                if shape[axis] == self.batch and math.prod(shape[axis + 1 :]) == after
            ]
            if len(candidates) != 1:
                raise UnrollingError(f"a view of {value.shape} as {shape}")
            batch_axis = candidates[0]
        small = [1 if axis in (0, batch_axis) else size for axis, size in enumerate(shape)]
        batch = None if batch_axis is None else batch_axis - len(shape)
        return Cells(value.cells.reshape(small), shape, batch)

    _reshape = _unsafe_view = _view

    def _cat(self, node, values, dim=0):
        ndim = len(values[0].shape)
        axis = dim % ndim
        if axis == 0 or any(v.batch != values[0].batch for v in values):
            raise UnrollingError("runs or batches joined")
        cells = np.concatenate([v.cells for v in values], axis)
        return Cells(cells, tuple(node.meta["val"].shape), values[0].batch)

    def _stack(self, node, values, dim=0):
        axis = dim % (len(values[0].shape) + 1)
        return self._cat(node, [self._unsqueeze(node, v, axis) for v in values], axis)

    def _slice(self, node, value, dim=0, start=None, end=None, step=1):
        axis = dim % len(value.shape)
        shape = tuple(node.meta["val"].shape)
        if shape == value.shape:
            return value
        if axis == 0 or axis - len(shape) == value.batch:
            raise UnrollingError("part of the runs or of a batch")
        index = [slice(None)] * len(shape)
        index[axis] = slice(start, end, step)
        return Cells(value.cells[tuple(index)], shape, value.batch)

    def _reduce(self, node, value, dims, combine: Callable):
        """Combine cells along small dimensions, in order."""
        ndim = len(value.shape)
        axes = {d % ndim for d in ([dims] if isinstance(dims, int) else dims)}
        batch_axis = None if value.batch is None else ndim + value.batch
        if 0 in axes or batch_axis in axes:
            raise UnrollingError("a reduction over runs or a batch")
        cells = value.cells
        for axis in sorted(axes, reverse=True):
            parts = [cells.take([k], axis) for k in range(cells.shape[axis])]
            total = parts[0]
            for part in parts[1:]:
                total = _zip_cells(combine, total, part)
            cells = total
        shape = tuple(node.meta["val"].shape)
        if len(shape) == ndim:
            return Cells(cells, shape, value.batch)
        kept = [axis for axis in range(ndim) if axis not in axes]
        batch = None if batch_axis is None else kept.index(batch_axis) - len(kept)
        return Cells(cells.reshape([cells.shape[a] for a in kept]), shape, batch)

    def _rows(self, value: Cells) -> torch.Tensor:
        """Its cells, `(runs, cells, batch)`: quicker to write and read than the tensor itself."""
        cells = [cell.expand(self.runs, self.batch) for cell in value.cells.flat]
        return torch.stack(cells, dim=1)

    def _cells_of_rows(self, rows: torch.Tensor, like: Cells) -> Cells:
        cells = np.empty(like.cells.shape, dtype=object)
        for k in range(cells.size):
            cells.flat[k] = rows[:, k]
        return Cells(cells, like.shape, like.batch)

    def _whole(self, value: Cells) -> torch.Tensor:
        """The tensor itself; its batch, if any, must come right after the runs."""
        if value.batch is None:
            return self._join(value)
        if len(value.shape) + value.batch != 1:
            raise UnrollingError("a batch that is not the second dimension")
        return self._rows(value).mT.reshape(value.shape)

    def _parts(self, tensor: torch.Tensor) -> Cells:
        """Cells of a tensor without a batch."""
        shape = tuple(tensor.shape)
        cells = np.empty((1, *shape[1:]), dtype=object)
        for index in np.ndindex(*cells.shape):
            cells[index] = tensor[(slice(None), *index[1:])].unsqueeze(1)
        return Cells(cells, shape, None)

    def _parts_of_batch(self, tensor: torch.Tensor, shape: tuple[int, ...]) -> Cells:
        """Cells of a tensor whose second dimension is the batch."""
        cells = np.empty((1, 1, *shape[2:]), dtype=object)
        for index in np.ndindex(*cells.shape):
            cells[index] = tensor[(slice(None), slice(None), *index[2:])]
        return Cells(cells, tuple(shape), 1 - len(shape))

    def _tanh_backward(self, node, grad, y):
        return self._plainly(plain.tanh_backward, grad, y)

    def _sigmoid_backward(self, node, grad, y):
        """(grad (1 - y)) y, in torch's own order; compilers use another."""
        rest = self._pointwise(aten.rsub.Scalar, [y, 1.0], {})
        product = self._pointwise(aten.mul.Tensor, [grad, rest], {})
        return self._pointwise(aten.mul.Tensor, [product, y], {})

    def _sum(self, node, value, dims=None, keepdim=False, **_):
        if isinstance(value, Cells) and value.cells.flat[0].dtype == torch.bool:
            value = self._to_copy(node, value, dtype=torch.int64)  # true and true count two
        if dims is None:
            # The sum of all runs' losses: only the shape of its gradient, one, is of interest.
            if any(user.target is not aten.ones_like.default for user in node.users):
                raise UnrollingError("a sum over everything")
            return value.cells.flat[0].new_zeros(())
        dims = [dims] if isinstance(dims, int) else list(dims)
        if value.batch is None or value.batch not in [d % -len(value.shape) for d in dims]:
            return self._reduce(node, value, dims, torch.add)
        count, dtype = value.cells.size, value.cells.flat[0].dtype
        if len(dims) == 1 and is_known_order(self.runs, self.batch, count, dtype):
            return self._parts(batch_sum(self._rows(value)).reshape(node.meta["val"].shape))
        return self._parts(plain.sum(self._whole(value), dims, keepdim))

    def _mean(self, node, value, dims=None, keepdim=False, **_):
        if dims is None:
            raise UnrollingError("a mean over everything")
        dims = [dims] if isinstance(dims, int) else dims
        count = math.prod(value.shape[d] for d in dims)
        total = self._sum(node, value, dims, keepdim)
        return self._pointwise(aten.div.Scalar, [total, count], {})

    def _prod(self, node, value, dim=None, keepdim=False, **_):
        if dim is None:
            raise UnrollingError("a product over everything")
        return self._reduce(node, value, dim, torch.mul)

    def _linalg_vector_norm(self, node, value, order=2, dims=None, keepdim=False, **_):
        if dims is None or value.batch is not None:
            raise UnrollingError("a norm over everything or over a batch")
        return self._parts(plain.norm(self._join(value), order, list(dims), keepdim))

    def _bmm(self, node, left, right):
        shape = tuple(node.meta["val"].shape)
        if left.batch == -1 and right.batch == -2:
            return self._parts(plain.batch_product(self._rows(left), self._whole(right)))
        if left.batch == -2 and right.batch is None:
            return self._rows_product(left, right, shape)
        raise UnrollingError("a matrix product of another form")

    def _rows_product(self, left, right, shape) -> Cells:
        _, _, inner = left.cells.shape
        columns = right.cells.shape[2]
        cells = np.empty((1, 1, columns), dtype=object)
        if inner > INNER_AS_SUM:
            weights = self._join(Cells(right.cells.transpose(0, 2, 1), _swapped(right.shape), None))
            product = plain.linear_product(self._whole(left), weights)
            for j in range(columns):
                cells[0, 0, j] = product[:, :, j]
            return Cells(cells, shape, -2)
        for j in range(columns):
            terms = [left.cells[0, 0, k] * right.cells[0, k, j] for k in range(inner)]
            total = terms[0]
            for term in terms[1:]:
                total = total + term
            cells[0, 0, j] = total
        return Cells(cells, shape, -2)


def _swapped(shape: tuple[int, ...]) -> tuple[int, ...]:
    return (*shape[:-2], shape[-1], shape[-2])


def _needed(graph: torch.fx.Graph) -> set[torch.fx.Node]:
    """Nodes that an output depends on."""
    needed: set[torch.fx.Node] = set()
    for node in reversed(graph.nodes):
        if node.op == "output" or node in needed:
            needed.add(node)
            needed.update(node.all_input_nodes)
    return needed


def _zip_cells(function: Callable, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    result = np.empty(left.shape, dtype=object)
    for index in np.ndindex(*left.shape):
        result[index] = function(left[index], right[index])
    return result
