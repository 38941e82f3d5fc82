"""Tensors as arrays of cells, and the conversions between the two."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from ..plain_operations import plain

MAX_CELLS = 256


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


@dataclass(frozen=True)
class Row:
    """The row that a cell was taken from; it keeps the cell, so that its `id` stays unique."""

    rows: torch.Tensor
    k: int
    cell: torch.Tensor


class Conversions:
    """Conversions of tensors of `runs` runs and batches of `batch` samples."""

    def __init__(self, runs: int, batch: int):
        self.runs = runs
        self.batch = batch
        self._row_of_cell: dict[int, Row] = {}

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
            return self._whole(value)
        parts = [cell.expand(self.runs, 1) for cell in value.cells.flat]
        return torch.cat(parts, dim=1).reshape(value.shape)

    def _rows(self, value: Cells) -> torch.Tensor:
        """Return its cells `(runs, cells, batch)`, quicker to write and read than the tensor."""
        if (rows := self._rows_as_they_are(value)) is not None:
            return rows
        cells = [cell.expand(self.runs, self.batch) for cell in value.cells.flat]
        return torch.stack(cells, dim=1)

    def _rows_as_they_are(self, value: Cells) -> torch.Tensor | None:
        """Return the rows that the cells were taken from, if these are all of them, in order."""
        sources = [self._row_of_cell.get(id(cell)) for cell in value.cells.flat]
        if sources[0] is None or sources[0].rows.shape[1] != len(sources):
            return None
        rows = sources[0].rows
        same = (s is not None and s.rows is rows and s.k == k for k, s in enumerate(sources))
        return rows if all(same) else None

    def _cells_of_rows(self, rows: torch.Tensor, like: Cells) -> Cells:
        cells = np.empty(like.cells.shape, dtype=object)
        for k in range(cells.size):
            cell = cells.flat[k] = rows[:, k]
            self._row_of_cell[id(cell)] = Row(rows, k, cell)
        return Cells(cells, like.shape, like.batch)

    def _whole(self, value: Cells) -> torch.Tensor:
        """Return the tensor itself; its batch, if any, must come right after the runs."""
        if value.batch is None:
            return self._join(value)
        if len(value.shape) + value.batch != 1:
            raise UnrollingError("a batch that is not the second dimension")
        return _turned(self._rows(value)).reshape(value.shape)

    def _parts(self, tensor: torch.Tensor) -> Cells:
        """Return the cells of a tensor without a batch."""
        shape = tuple(tensor.shape)
        cells = np.empty((1, *shape[1:]), dtype=object)
        for index in np.ndindex(*cells.shape):
            cells[index] = tensor[(slice(None), *index[1:])].unsqueeze(1)
        return Cells(cells, shape, None)

    def _parts_of_batch(self, tensor: torch.Tensor, shape: tuple[int, ...]) -> Cells:
        """Return the cells of a tensor whose second dimension is the batch."""
        return self._cells_of_batch(_turned(tensor.flatten(2)), shape)

    def _cells_of_batch(self, rows: torch.Tensor, shape: tuple[int, ...]) -> Cells:
        """Return the cells of a tensor of `shape`, given their rows `(runs, cells, batch)`."""
        like = Cells(np.empty((1, 1, *shape[2:]), dtype=object), tuple(shape), 1 - len(shape))
        return self._cells_of_rows(rows, like)


def _turned(matrices: torch.Tensor) -> torch.Tensor:
    """Exchange rows and columns, in memory too unless there is a single one of them."""
    runs, rows, columns = matrices.shape
    if 1 in (rows, columns):
        return matrices.reshape(runs, columns, rows)
    return plain.turned(matrices)
