"""The arithmetic operations and the targets they define on slices of the input."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

Subset = tuple[int, int]


@dataclass(frozen=True)
class Operation:
    """A function of subset sums; `operands` None means all subsets, else the first ones."""

    name: str
    operands: int | None
    combine: Callable[..., np.ndarray]
    text: Callable[..., str]

    def check(self, num_subsets: int) -> None:
        """Ask for as many subsets as there are operands."""
        if num_subsets < (self.operands or 1):
            raise ValueError(
                f"operation {self.name} needs {self.operands} subsets, got {num_subsets}."
            )

    def __reduce__(self):
        # Its functions cannot be pickled, so a copied stream finds them in the table again.
        return get_operation, (self.name,)


def _all(ufunc: np.ufunc) -> Callable[..., np.ndarray]:
    return lambda *sums: functools.reduce(ufunc, sums)


OPERATIONS = {
    operation.name: operation
    for operation in (
        Operation("add", None, _all(np.add), lambda *v: " + ".join(v)),
        Operation("sub", 2, np.subtract, lambda a, b: f"{a} - {b}"),
        Operation("mul", None, _all(np.multiply), lambda *v: " * ".join(v)),
        Operation("div", 2, np.true_divide, lambda a, b: f"{a} / {b}"),
        Operation("squared", 1, lambda a: a * a, lambda a: f"{a}**2"),
        Operation("root", 1, np.sqrt, lambda a: f"sqrt({a})"),
        Operation("reciprocal", 1, lambda a: 1 / a, lambda a: f"1/({a})"),
    )
}


def get_operation(name: str) -> Operation:
    """The operation of that name."""
    if name not in OPERATIONS:
        raise ValueError(f"operation {name!r} is not one of {', '.join(OPERATIONS)}.")
    return OPERATIONS[name]


class FunctionTargets:
    """Targets of an operation: x `(batches, batch, *sample)` -> t `(batches, batch, 1)`.

    Each operand is the sum over a slice of the last axis and over all other axes of a sample.
    There is no guard: a root of a negative number is NaN, a division by zero infinite.
    """

    width = 1

    def __init__(self, operation: Operation, subset_ranges: Sequence[Subset]):
        self.operation = operation
        self.operands = tuple(subset_ranges[: operation.operands])

    @property
    def key(self) -> tuple:
        """What the targets depend on, besides the inputs."""
        return self.operation.name, self.operands

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """Targets in the precision of the inputs."""
        sums = (_subset_sum(x, start, end) for start, end in self.operands)
        return self.operation.combine(*sums)[..., None]


def _subset_sum(x: np.ndarray, start: int, end: int) -> np.ndarray:
    if x.ndim == 3 and end - start == 1:
        return x[..., start]
    return x[..., start:end].sum(axis=tuple(range(2, x.ndim)))
