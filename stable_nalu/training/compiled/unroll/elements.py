"""Operations on single elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch

from ..plain_operations import plain
from .cells import Cells, Conversions, UnrollingError

aten = torch.ops.aten
WHOLE_VECTORS = 64
"""Batches of a multiple of this size need no scalar code, which may round otherwise."""


class Elements(Conversions):
    """Operations on single elements, each a method of the operation's name."""

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
        cells.fill(one if value.batch is None else one.expand(self.runs, self.batch))
        return Cells(cells, value.shape, value.batch)

    def _ones_like(self, node, value, *, dtype=None, **_):
        return self._filled(value, 1.0, dtype)

    def _zeros_like(self, node, value, *, dtype=None, **_):
        return self._filled(value, 0.0, dtype)

    def _full_like(self, node, value, number, *, dtype=None, **_):
        return self._filled(value, number, dtype)

    def _scalar_tensor(self, node, number, **keywords):
        return torch.scalar_tensor(number, dtype=keywords.get("dtype"))

    def _tanh_backward(self, node, grad, y):
        return self._plainly(plain.tanh_backward, grad, y)

    def _sigmoid_backward(self, node, grad, y):
        """Return (grad (1 - y)) y in torch's own order; compilers use another."""
        rest = self._pointwise(aten.rsub.Scalar, [y, 1.0], {})
        product = self._pointwise(aten.mul.Tensor, [grad, rest], {})
        return self._pointwise(aten.mul.Tensor, [product, y], {})
