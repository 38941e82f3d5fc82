"""Matrix products: sums of products that a compiler can fuse, where the order of torch's is known.

Over fewer than eight inputs torch's product with one output sums in turn. Over more, eight lanes
sum every eighth input, the lanes are added in pairs, and inputs that are left over follow in turn.
A product over the batch sums in turn, on whichever side its vector stands. Another processor,
library or version may do otherwise, so each order is compared with real products before it is
relied on.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

import numpy as np
import torch

from ..plain_operations import plain
from .batch_sum import FEWEST_SUMS, randomly
from .cells import Cells, Conversions, UnrollingError

LANES = 8
PAIRED_LANES = ((0, 4), (2, 6), (1, 5), (3, 7))
FEW = 4
"""Inputs up to which products with several outputs may sum in turn, too, and rows up to which
turning a matrix costs more than it gains."""


class Products(Conversions):
    """A method for every operation, of its name."""

    def _bmm(self, node, left, right):
        shape = tuple(node.meta["val"].shape)
        if left.batch == -1 and right.batch == -2:
            return self._parts(self._batch_product(left, right))
        if left.batch == -2 and right.batch is None:
            return self._linear_product(left, right, shape)
        raise UnrollingError("a matrix product of another form")

    def _batch_product(self, left: Cells, right: Cells) -> torch.Tensor:
        rows, columns = left.cells.size, right.cells.size
        dtype = left.cells.flat[0].dtype
        if rows > FEW and columns == 1 and turns_over(self.runs, self.batch, rows, dtype):
            # A row times a matrix is quicker than a matrix times a column.
            return plain.batch_product(self._rows(right), self._whole(_turned(left))).mT
        return plain.batch_product(self._rows(left), self._whole(right))

    def _linear_product(self, left: Cells, right: Cells, shape) -> Cells:
        inner, columns = left.cells.shape[2], right.cells.shape[2]
        cells = np.empty((1, 1, columns), dtype=object)
        few = columns == 1 or inner <= FEW
        sizes = (self.runs, self.batch, inner, columns)
        if few and is_known_order(*sizes, left.cells.flat[0].dtype):
            for j in range(columns):
                terms = [left.cells[0, 0, k] * right.cells[0, k, j] for k in range(inner)]
                cells[0, 0, j] = linear_sum(terms)
        else:
            product = plain.linear_product(self._whole(left), self._join(_turned(right)))
            for j in range(columns):
                cells[0, 0, j] = product[:, :, j]
        return Cells(cells, shape, -2)


def linear_sum(terms: Sequence[torch.Tensor]) -> torch.Tensor:
    """Sum of the inputs' parts of one output."""
    in_lanes = len(terms) // LANES * LANES
    if not in_lanes:
        return _in_turn(terms)
    lanes = [_in_turn(terms[lane:in_lanes:LANES]) for lane in range(LANES)]
    first, second, third, fourth = (lanes[a] + lanes[b] for a, b in PAIRED_LANES)
    return _in_turn([(first + second) + (third + fourth), *terms[in_lanes:]])


def _in_turn(terms: Sequence[torch.Tensor]) -> torch.Tensor:
    total, *rest = terms
    for term in rest:
        total = total + term
    return total


def _turned(matrix: Cells) -> Cells:
    """The transposed matrices."""
    axes = (*range(len(matrix.shape) - 2), -1, -2)
    shape = (*matrix.shape[:-2], matrix.shape[-1], matrix.shape[-2])
    batch = None if matrix.batch is None else -3 - matrix.batch
    return Cells(matrix.cells.transpose(axes), shape, batch)


@cache
def is_known_order(runs: int, batch: int, inner: int, columns: int, dtype: torch.dtype) -> bool:
    """Whether torch sums `(runs, batch, inner) (runs, inner, columns)` as `linear_sum` does."""

    def same(random) -> bool:
        x, weights = random(batch, inner), random(columns, inner)
        known = [linear_sum((x * w.unsqueeze(1)).unbind(2)) for w in weights.unbind(1)]
        return torch.equal(torch.bmm(x, weights.mT), torch.stack(known, 2))

    return randomly(same, runs, dtype, math.ceil(FEWEST_SUMS / (runs * batch * columns)))


@cache
def turns_over(runs: int, batch: int, rows: int, dtype: torch.dtype) -> bool:
    """Whether `(runs, rows, batch) (runs, batch, 1)` rounds as the product of the transposed."""

    def same(random) -> bool:
        x, y = random(rows, batch), random(batch, 1)
        turned = torch.bmm(y.mT.contiguous(), x.mT.contiguous())
        return torch.equal(torch.bmm(x, y), turned.mT)

    return randomly(same, runs, dtype, math.ceil(FEWEST_SUMS / (runs * rows)))
