"""Tensors with a dimension too long for cells: a hundred inputs or hidden units, and their weights.

They stay whole, and so does the code over them; a compiler fuses it as it stands. A product over a
wide dimension gives cells unless its outputs are many, too, and so does a sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import torch
from torch.fx.experimental.proxy_tensor import disable_proxy_modes_tracing

from stable_nalu import native
from stable_nalu.functional.linear import computes_few_outputs

from ..plain_operations import PLAIN_FUNCTIONS, as_bits, plain
from .batch_sum import FEWEST_SUMS, Random, randomly
from .cells import Cells, UnrollingError
from .elements import Elements
from .products import FEW, Layout, Products, known_order, product_of, turns_over
from .sums import whole_sum

aten = torch.ops.aten
WIDEST_CELLS = 32
"""The longest dimension of cells; compilers take too long over more, which are no faster either."""

MOVES = frozenset(
    (
        *("alias", "clone", "detach", "expand", "permute", "reshape", "squeeze"),
        *("t", "transpose", "unsafe_view", "unsqueeze", "view"),
    )
)
"""Operations that move numbers at most."""

FILLS = frozenset(["full_like", "ones_like", "zeros_like", "new_zeros", "to_copy"])


@dataclass(frozen=True)
class Wide:
    """A tensor kept whole."""

    tensor: torch.Tensor

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.tensor.shape)


class WideTensors(Products, Elements):
    """Operations on wide tensors, alone or with cells that do not depend on the sample."""

    has_wide = False

    def _is_wide(self, shape: Sequence[int]) -> bool:
        return any(size > WIDEST_CELLS and size != self.batch for size in shape[1:])

    def _on_wide(self, node, name: str, arguments: Sequence):
        """Return the result of an operation that reads or makes a wide tensor."""
        if name == "bmm":
            return self._wide_product(*node.args, *arguments)
        if name == "baddbmm":
            return self._baddbmm(node, *arguments, **node.kwargs)
        tensors = [self._as_tensor(argument) for argument in arguments]
        return self._settled(self._wide_operation(node, name, tensors))

    def _as_tensor(self, value):
        if isinstance(value, Wide):
            return value.tensor
        if isinstance(value, Cells):
            if value.batch is not None:
                raise UnrollingError("a wide tensor with cells of samples")
            return self._join(value)
        return value

    def _settled(self, tensor: torch.Tensor):
        if self._is_wide(tensor.shape):
            return Wide(tensor)
        if self.batch in tensor.shape[1:]:
            raise UnrollingError("a batch of wide tensors that is wide no more")
        return self._parts(tensor)

    def _wide_operation(self, node, name: str, tensors: Sequence) -> torch.Tensor:
        target = node.target
        if name in MOVES or name in FILLS:
            return target(*tensors, **node.kwargs)
        if name in PLAIN_FUNCTIONS:
            return getattr(plain, name)(tensors[0])
        if name == "tanh_backward":
            return plain.tanh_backward(*tensors)
        if name == "sigmoid_backward":
            gradient, y = tensors
            return gradient * (1.0 - y) * y
        if name in ("sum", "mean", "linalg_vector_norm"):
            return self._wide_reduction(name, *tensors)
        if name == "pow" and isinstance(tensors[1], torch.Tensor):
            return plain.power(*tensors)
        if torch.Tag.pointwise in target.tags:
            return target(*tensors, **node.kwargs)
        raise UnrollingError(f"operation {name} on wide tensors")

    def _wide_reduction(self, name: str, x: torch.Tensor, *arguments) -> torch.Tensor:
        order, *arguments = arguments if name == "linalg_vector_norm" else (None, *arguments)
        dims, keepdim = [*arguments, *(None, False)[len(arguments) :]][:2]
        if not dims:
            raise UnrollingError("a reduction over everything")
        dims = [dims] if isinstance(dims, int) else dims
        bits = as_bits(dims, x.ndim)
        if order is not None:
            return plain.norm(x, order, bits, keepdim)
        total = whole_sum(x, dims, keepdim)
        if name == "sum":
            return total
        count = 1
        for dim in dims:
            count *= x.shape[dim]
        return aten.div.Scalar(total, count)

    def _wide_product(self, x_node, y_node, left, right):
        """Return inputs times weights, or a gradient of either: by torch, or as it does."""
        _refuse_unless(native.calls_torch())
        own = self._product_of_few_outputs(x_node, y_node, left, right)
        if own is not None:
            return own
        x, y = Layout.of(x_node), Layout.of(y_node)
        shape = (*x.sizes[:2], y.sizes[2])
        if self._is_wide(shape):
            return Wide(self._wide_result(x, y, left, right))
        product = product_of(self._in_memory(left, x), x, self._in_memory(right, y), y)
        if shape[1] == self.batch:
            return self._parts_of_batch(product, shape)
        _refuse_unless(shape[2] != self.batch)
        return self._parts(product)

    def _product_of_few_outputs(self, x_node, y_node, left, right) -> Cells | Wide | None:
        """Return what training itself computes without torch, None for other products."""
        if not isinstance(left, Wide):
            return None
        if isinstance(right, Wide):
            x, W = left.tensor, right.tensor.mT
            lie = _lies_by_rows(x_node, 1, 2) and _lies_by_rows(y_node, 2, 1)
            if lie and _few_outputs(x, W):
                return self._cells_of_batch(plain.wide_product(x, W), (*x.shape[:2], W.shape[1]))
        elif right.batch == -2:
            x, rows = left.tensor.mT, self._rows(right)
            lie = _lies_by_rows(x_node, 2, 1) and _lies_by_rows(y_node, 1, 2)
            if lie and _few_outputs(x, rows):
                return Wide(plain.wide_gradient(x, rows).mT)
        return None

    def _wide_result(self, x: Layout, y: Layout, left, right) -> torch.Tensor:
        inner = x.sizes[2]
        combine = known_order(x, y) if inner <= FEW else None
        if combine is not None:  # the compiler computes it together with what follows
            pairs = ((self._column(left, k), self._row(right, k)) for k in range(inner))
            return combine([column * row for column, row in pairs])
        if isinstance(left, Wide) and isinstance(right, Cells) and turns_over(x, y):
            # A row times a matrix is several times quicker than a matrix times a column.
            row, matrix = self._rows(right), left.tensor.mT.contiguous()
            return product_of(row, row, matrix, matrix).mT
        return product_of(self._in_memory(left, x), x, self._in_memory(right, y), y)

    def _column(self, matrix: Cells | Wide, k: int) -> torch.Tensor:
        if isinstance(matrix, Cells) and matrix.batch == -2:
            return matrix.cells[0, 0, k].unsqueeze(2)
        return self._as_tensor(matrix)[:, :, k : k + 1]

    def _row(self, matrix: Cells | Wide, k: int) -> torch.Tensor:
        return self._as_tensor(matrix)[:, k : k + 1]

    def _in_memory(self, matrix: Cells | Wide, layout: Layout) -> torch.Tensor:
        if isinstance(matrix, Wide):
            return matrix.tensor.mT if layout.by_columns else matrix.tensor
        return super()._in_memory(matrix, layout)

    def _baddbmm(self, node, bias, left, right, **options):
        """Return a product and a bias, of wide inputs or of what comes of them."""
        _, x_node, y_node = node.args
        x, y = Layout.of(x_node), Layout.of(y_node)
        if not self.has_wide:  # their numbers are those of the compiler
            raise UnrollingError("operation baddbmm")
        if options or not _adds_bias_last(x, y):
            raise UnrollingError("a bias that is not added last")
        if isinstance(left, Wide) or isinstance(right, Wide):
            product = self._wide_product(x_node, y_node, left, right)
        else:
            product = self._linear_product(left, right, x, y)
        if isinstance(product, Wide):
            return Wide(product.tensor + self._as_tensor(bias))
        return self._pointwise(aten.add.Tensor, [product, bias], {})


@cache
def _adds_bias_last(x: Layout, y: Layout) -> bool:
    """Return whether torch adds a bias to products x y as it adds two numbers."""
    runs, batch, inputs = x.sizes
    outputs = y.sizes[2]

    def same(random: Random) -> bool:
        left, right = x.lay(random(batch, inputs)), y.lay(random(inputs, outputs))
        bias = random(1, outputs)
        return torch.equal(torch.baddbmm(bias, left, right), torch.bmm(left, right) + bias)

    return randomly(same, runs, x.dtype, FEWEST_SUMS // (runs * batch) + 1)


def _few_outputs(x: torch.Tensor, rows: torch.Tensor) -> bool:
    """Return whether the products of x with as many rows are computed without torch."""
    with disable_proxy_modes_tracing():
        return computes_few_outputs(x, rows.shape[1])


def _refuse_unless(*holds: bool) -> None:
    if not all(holds):
        raise UnrollingError("a wide matrix product that C++ does not compute")


def _lies_by_rows(node: torch.fx.Node, rows: int, columns: int) -> bool:
    """Return whether the dimension `columns` of matrices is contiguous, then `rows`, then runs."""
    value = node.meta["val"]
    sizes, strides = value.shape, value.stride()
    expected = {0: sizes[1] * sizes[2], rows: sizes[columns], columns: 1}
    return all(sizes[d] == 1 or strides[d] == expected[d] for d in range(3))
