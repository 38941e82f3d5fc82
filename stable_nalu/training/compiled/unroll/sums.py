"""Sums, products of elements and norms, over small dimensions or over the batch."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache, reduce

import numpy as np
import torch

from stable_nalu import native

from ..plain_operations import as_bits, plain
from .batch_sum import FEWEST_SUMS, Random, batch_sum, is_known_order, randomly
from .cells import Cells, UnrollingError
from .elements import Elements

aten = torch.ops.aten
LANES_OF_A_ROW = (16, 8)
"""Numbers in a vector of torch, by processor."""


def whole_sum(x: torch.Tensor, dims: Sequence[int], keepdim: bool) -> torch.Tensor:
    """Return a sum as torch adds it."""
    summed = tuple(sorted(d % x.ndim for d in dims))
    lanes = known_lanes(tuple(x.shape), summed, x.dtype)
    if lanes is None:
        return plain.sum(x, as_bits(dims, x.ndim), keepdim)
    sizes = [1 if d in summed else n for d, n in enumerate(x.shape) if keepdim or d not in summed]
    return plain.row_sum(x, lanes).reshape(sizes)


@cache
def known_lanes(shape: tuple[int, ...], dims: tuple[int, ...], dtype: torch.dtype) -> int | None:
    """Return in how many lanes torch sums each run of a tensor of `shape`, if that is known.

    dims: those summed over, which do not sum a run unless all others have the length one.
    """
    runs, *of_run = shape
    whole = 0 not in dims and all(n == 1 or d in dims for d, n in enumerate(of_run, 1))
    if not (whole and native.calls_torch() and dtype == torch.float32 and of_run):
        return None

    def agrees(lanes: int) -> bool:
        def same(random: Random) -> bool:
            x = random(*of_run)
            return torch.equal(plain.row_sum(x, lanes), x.sum(dims).flatten())

        return randomly(same, runs, dtype, math.ceil(FEWEST_SUMS / runs))

    return next(filter(agrees, LANES_OF_A_ROW), None)


class Sums(Elements):
    """Reductions, each a method of the operation's name."""

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
            cells = reduce(np.frompyfunc(combine, 2, 1), parts)
        shape = tuple(node.meta["val"].shape)
        if len(shape) == ndim:
            return Cells(cells, shape, value.batch)
        kept = [axis for axis in range(ndim) if axis not in axes]
        batch = None if batch_axis is None else kept.index(batch_axis) - len(kept)
        return Cells(cells.reshape([cells.shape[a] for a in kept]), shape, batch)

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
        return self._parts(whole_sum(self._whole(value), dims, keepdim))

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
        bits = as_bits(dims, len(value.shape))
        return self._parts(plain.norm(self._join(value), order, bits, keepdim))
