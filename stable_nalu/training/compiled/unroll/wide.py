"""Tensors with a dimension too long for cells: a hundred inputs, and the weights that meet them.

They stay whole, and so does the code over them; a compiler fuses it as it stands. A product of wide
inputs gives cells, and so does a sum over a wide dimension.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from ..plain_operations import PLAIN_FUNCTIONS, as_bits, plain
from .cells import Cells, Conversions, UnrollingError

aten = torch.ops.aten
WIDEST_CELLS = 32
"""The longest dimension of cells; compilers take too long over more, which are no faster either."""

MOVES = frozenset(
    "alias clone detach expand permute reshape squeeze t transpose unsafe_view unsqueeze view".split()
)
"""Operations that move numbers at most."""

FILLS = frozenset("full_like ones_like zeros_like to_copy".split())


@dataclass(frozen=True)
class Wide:
    """A tensor kept whole."""

    tensor: torch.Tensor

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.tensor.shape)


class WideTensors(Conversions):
    """Operations on wide tensors, alone or with cells that do not depend on the sample."""

    def _is_wide(self, shape: Sequence[int]) -> bool:
        return any(size > WIDEST_CELLS and size != self.batch for size in shape[1:])

    def _on_wide(self, node, name: str, arguments: Sequence):
        """Return the result of an operation that reads or makes a wide tensor."""
        if name == "bmm":
            return self._wide_product(node, *arguments)
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
        total = plain.sum(x, bits, keepdim)
        if name == "sum":
            return total
        count = 1
        for dim in dims:
            count *= x.shape[dim]
        return aten.div.Scalar(total, count)

    def _wide_product(self, node, left, right):
        """Return inputs times weights, or the gradient of the weights."""
        if isinstance(left, Wide) and isinstance(right, Wide):
            x, W = left.tensor, right.tensor.mT
            _refuse_unless(_lies_by_rows(node.args[0], 1, 2), _lies_by_rows(node.args[1], 2, 1))
            rows = plain.wide_product(x, W)
            like_shape = (*x.shape[:2], W.shape[1])
            return self._cells_of_batch(rows, like_shape)
        if isinstance(left, Wide) and isinstance(right, Cells) and right.batch == -2:
            x = left.tensor.mT
            _refuse_unless(_lies_by_rows(node.args[0], 2, 1), _lies_by_rows(node.args[1], 1, 2))
            return Wide(plain.wide_gradient(x, self._rows(right)).mT)
        raise UnrollingError("a wide matrix product of another form")


def _refuse_unless(*holds: bool) -> None:
    if not all(holds):
        raise UnrollingError("wide matrices in another layout")


def _lies_by_rows(node: torch.fx.Node, rows: int, columns: int) -> bool:
    """Return whether the dimension `columns` of matrices is contiguous, then `rows`, then runs."""
    value = node.meta["val"]
    sizes, strides = value.shape, value.stride()
    expected = {0: sizes[1] * sizes[2], rows: sizes[columns], columns: 1}
    return all(sizes[d] == 1 or strides[d] == expected[d] for d in range(3))
