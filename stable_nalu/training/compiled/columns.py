"""A recorded graph over thousands of rows, rewritten so that each column is contiguous in memory.

Values `(rows, m)` become `(m, rows)`. Elementwise code then runs over whole vectors, and products
with small matrices read them in order: both are several times as fast as over short rows. An
operation that is not known here gets a view in the shape that it expects.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx.node import map_aggregate

aten = torch.ops.aten
TURN = {-1: -2, -2: -1, 0: 1, 1: 0}
"""Dimensions of a matrix, and those of the turned one."""

FEW = 2
"""Inputs up to which a product is faster as a sum of terms, which joins what stands around it."""


@dataclass(frozen=True)
class Columns:
    """A value of shape `(rows, m)`, kept as a tensor `(m, rows)`."""

    turned: torch.Tensor

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.turned.mT.shape)


def in_columns(recorded: torch.fx.GraphModule) -> Callable:
    """Return a function like `recorded`, whose second group of arguments comes in columns."""

    def run(weights: Sequence[torch.Tensor], columns: Sequence[torch.Tensor]) -> Any:
        return _Interpreter(recorded).run(*weights, *map(Columns, columns))

    return run


class _Interpreter(torch.fx.Interpreter):
    """Runs a graph on tensors and on `Columns`."""

    def call_function(self, target: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        found = [a for a in args if isinstance(a, Columns)]
        rule = RULES.get(target)
        if found and rule is None and torch.Tag.pointwise in getattr(target, "tags", ()):
            return _pointwise(found[0].turned.shape[-1], target, args, kwargs)
        result = rule(*args, **kwargs) if rule and found else NotImplemented
        if result is not NotImplemented:
            return result
        return super().call_function(target, map_aggregate(args, _as_rows), kwargs)


def _as_rows(value: Any) -> Any:
    return value.turned.mT if isinstance(value, Columns) else value


def _pointwise(rows: int, target: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
    turned = [_turned(a) for a in args]
    result = target(*turned, **kwargs)
    return Columns(result) if result.ndim == 2 and result.shape[-1] == rows else result.mT


def _turned(value: Any) -> Any:
    """Return an operand as it meets `(m, rows)`."""
    if isinstance(value, Columns):
        return value.turned
    if isinstance(value, torch.Tensor) and value.ndim:
        return value.unsqueeze(-1) if value.ndim == 1 else value.mT
    return value


def _mm(a: Any, b: Any) -> Any:
    if isinstance(a, Columns) and isinstance(b, torch.Tensor):
        if len(b) <= FEW:
            terms = [w.unsqueeze(-1) * x for w, x in zip(b, a.turned, strict=True)]
            return Columns(sum(terms[1:], terms[0]))
        return Columns(b.mT @ a.turned)
    if isinstance(a, torch.Tensor) and isinstance(b, Columns):
        return a @ b.turned.mT
    return NotImplemented


def _sum(value: Columns, dims: Any = None, keepdim: bool = False, **keywords: Any) -> Any:
    if not dims:
        return NotImplemented
    result = value.turned.sum([TURN[d] for d in dims], keepdim, **keywords)
    return result.mT if keepdim else result


RULES: dict[Any, Callable] = {
    aten.mm.default: _mm,
    aten.sum.dim_IntList: _sum,
    aten.t.default: lambda value: value.turned,
    aten.transpose.int: lambda value, a, b: value.turned,
    aten.detach.default: lambda value: value,
    aten.alias.default: lambda value: value,
}
