"""Matrix products, written as sums that a compiler can fuse where torch's order is known.

The order depends on how both matrices lie in memory, so they are laid out as in plain training. A
product with one output may sum its inputs one after another. Over eight inputs and more it may sum
in lanes instead: eight lanes of every eighth input are added in pairs, and the inputs that are left
over follow one after another. Processor, library and version decide too, so an order counts as
known when real products agree with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import torch

from ..plain_operations import plain
from .batch_sum import FEWEST_SUMS, Random, randomly, sum_in_turn
from .cells import Cells, Conversions, UnrollingError

Terms = Sequence[torch.Tensor]

LANES = 8
PAIRED_LANES = ((0, 4), (2, 6), (1, 5), (3, 7))
FEW = 4
"""The most inputs for which products with several outputs may sum one after another, too, and the
most rows for which turning a matrix costs more than it gains."""


@dataclass(frozen=True)
class Layout:
    """The layout of matrices `(runs, m, n)` in memory, row after row or column after column."""

    sizes: tuple[int, int, int]
    strides: tuple[int, int, int]
    dtype: torch.dtype

    @staticmethod
    def of(node: torch.fx.Node) -> Layout:
        """Return the layout of a tensor in plain training, which was recorded."""
        value = node.meta["val"]
        runs, m, n = sizes = tuple(value.shape)
        strides = tuple(value.stride())
        by_rows = (m * n, n, 1)
        # Torch copies any other layout before it multiplies. Strides over one element do not tell
        # how numbers lie, but decide on the way torch chooses.
        dense = any(
            all(size == 1 or a == b for size, a, b in zip(sizes, strides, ordered, strict=True))
            for ordered in (by_rows, (m * n, 1, m))
        )
        return Layout(sizes, strides if dense else by_rows, value.dtype)

    @property
    def by_columns(self) -> bool:
        """Return whether columns come one after another; False if the order is the same by rows."""
        _, m, n = self.sizes
        return m > 1 and n > 1 and self.strides[1] == 1

    def by_rows(self) -> Layout:
        """Return the layout of the same sizes, row after row."""
        _, m, n = self.sizes
        return Layout(self.sizes, (m * n, n, 1), self.dtype)

    def lay(self, numbers: torch.Tensor) -> torch.Tensor:
        """Return matrices made of numbers that come in the order of memory."""
        return numbers.as_strided(self.sizes, self.strides)


class Products(Conversions):
    """Matrix products, each a method of the operation's name."""

    def _bmm(self, node, left, right):
        x, y = Layout.of(node.args[0]), Layout.of(node.args[1])
        if left.batch == -1 and right.batch == -2:
            return self._parts(self._batch_product(left, right, x, y))
        if left.batch == -2 and right.batch is None:
            return self._linear_product(left, right, x, y)
        raise UnrollingError("a matrix product of another form")

    def _batch_product(self, left: Cells, right: Cells, x: Layout, y: Layout) -> torch.Tensor:
        if x.sizes[1] > FEW and turns_over(x, y):
            # A row times a matrix is quicker than a matrix times a column.
            row, matrix = self._rows(right), self._whole(_transposed(left))
            return product_of(row, row, matrix, matrix).mT
        if lies_either_way(x, y):
            x = x.by_rows()
        return product_of(self._in_memory(left, x), x, self._in_memory(right, y), y)

    def _linear_product(self, left: Cells, right: Cells, x: Layout, y: Layout) -> Cells:
        _, inner, columns = y.sizes
        combine = known_order(x, y) if columns == 1 or inner <= FEW else None
        if combine is None:
            product = product_of(self._in_memory(left, x), x, self._in_memory(right, y), y)
            outputs = list(product.unbind(2))
        else:
            outputs = [
                combine([left.cells[0, 0, k] * right.cells[0, k, j] for k in range(inner)])
                for j in range(columns)
            ]
        cells = np.empty((1, 1, columns), dtype=object)
        cells[0, 0, :] = outputs
        return Cells(cells, (*x.sizes[:2], columns), -2)

    def _in_memory(self, matrix: Cells, layout: Layout) -> torch.Tensor:
        """Return its numbers in the order of memory."""
        lying = _transposed(matrix) if layout.by_columns else matrix
        return self._rows(lying) if lying.batch == -1 else self._whole(lying)


def product_of(x: torch.Tensor, x_layout, y: torch.Tensor, y_layout) -> torch.Tensor:
    """Multiply matrices whose numbers come in the order of memory as torch does, laid out so."""

    def placed(numbers: torch.Tensor, layout: Layout | torch.Tensor):
        if isinstance(layout, Layout):
            return numbers, *layout.sizes, *layout.strides
        return numbers, *layout.shape, *layout.stride()

    return plain.product(*placed(x, x_layout), *placed(y, y_layout))


def _transposed(matrix: Cells) -> Cells:
    axes = (*range(len(matrix.shape) - 2), -1, -2)
    shape = (*matrix.shape[:-2], matrix.shape[-1], matrix.shape[-2])
    batch = None if matrix.batch is None else -3 - matrix.batch
    return Cells(matrix.cells.transpose(axes), shape, batch)


def sum_in_lanes(terms: Terms) -> torch.Tensor:
    """Sum eight lanes, then their pairs, then what is left over."""
    in_lanes = len(terms) // LANES * LANES
    if not in_lanes:
        return sum_in_turn(terms)
    lanes = [sum_in_turn(terms[lane:in_lanes:LANES]) for lane in range(LANES)]
    first, second, third, fourth = (lanes[a] + lanes[b] for a, b in PAIRED_LANES)
    return sum_in_turn([(first + second) + (third + fourth), *terms[in_lanes:]])


@cache
def known_order(x: Layout, y: Layout) -> Callable[[Terms], torch.Tensor] | None:
    """Return how torch sums products of x `(runs, batch, inner)` and y `(runs, inner, columns)`."""
    _, batch, inner = x.sizes
    columns = y.sizes[2]

    def agrees(combine: Callable[[Terms], torch.Tensor]) -> bool:
        def same(random: Random) -> bool:
            left, right = x.lay(random(batch, inner)), y.lay(random(inner, columns))
            products = left.unsqueeze(3) * right.unsqueeze(1)
            return torch.equal(torch.bmm(left, right), combine(products.unbind(2)))

        return _randomly(same, x, y)

    return next(filter(agrees, (sum_in_turn, sum_in_lanes)), None)


@cache
def lies_either_way(x: Layout, y: Layout) -> bool:
    """Return whether x times y rounds as if x were laid by rows."""

    def same(random: Random) -> bool:
        left, right = x.lay(random(*x.sizes[1:])), y.lay(random(*y.sizes[1:]))
        by_rows = left.clone(memory_format=torch.contiguous_format)
        return torch.equal(torch.bmm(left, right), torch.bmm(by_rows, right))

    return _randomly(same, x, y)


@cache
def turns_over(x: Layout, y: Layout) -> bool:
    """Return whether x `(runs, rows, batch)` times y `(runs, batch, 1)` rounds as if turned."""
    runs, rows, batch = x.sizes
    if y.sizes[2] != 1:
        return False

    def same(random: Random) -> bool:
        left, right = x.lay(random(rows, batch)), y.lay(random(batch, 1))
        turned = torch.bmm(right.mT.reshape(runs, 1, batch), left.mT.contiguous())
        return torch.equal(torch.bmm(left, right), turned.mT)

    return _randomly(same, x, y)


def _randomly(same: Callable[[Random], bool], x: Layout, y: Layout) -> bool:
    runs, m, _ = x.sizes
    return randomly(same, runs, x.dtype, math.ceil(FEWEST_SUMS / (runs * m * y.sizes[2])))
