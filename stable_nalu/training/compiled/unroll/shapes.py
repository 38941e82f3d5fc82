"""Operations that only move elements, which happens while recording."""

from __future__ import annotations

import math

import numpy as np
import torch

from .cells import Cells, Conversions, UnrollingError


class Shapes(Conversions):
    """Moves of elements, each a method of the operation's name."""

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
        spread = np.frompyfunc(lambda cell: cell.expand(self.runs, self.batch), 1, 1)(cells)
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
