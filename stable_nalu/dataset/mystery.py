"""The mystery arithmetic problem: every output is two of many inputs, joined by an operation."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
}
_PROBLEM, _TRAIN, _TEST, _ORDER = range(4)
"""Random streams of a seed."""


SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/"}


class Output(NamedTuple):
    """What an output is: input `i` `operation` input `j`."""

    i: int
    j: int
    operation: str

    @property
    def formula(self) -> str:
        """Return it as one writes it, such as `x12 * x55`."""
        return f"x{self.i} {SIGNS[self.operation]} x{self.j}"


class MysteryProblem:
    """One instance of the problem, and the rows that it asks for: all of a seed alone.

    Problem, training rows, test rows and orders have a random stream each: a size or a range of
    one changes none of the others.
    """

    def __init__(self, inputs: int, outputs: int, operations: Sequence[str], seed: int):
        if inputs < 2:
            raise ValueError("an output needs two different inputs")
        self.inputs = inputs
        self._seed = seed
        random = self._random(_PROBLEM)
        self.outputs: list[Output] = []
        for _ in range(outputs):
            i, j = random.choice(inputs, 2, replace=False).tolist()
            self.outputs.append(Output(i, j, operations[int(random.integers(len(operations)))]))

    def _random(self, *stream: int) -> np.random.Generator:
        return np.random.default_rng((self._seed, *stream))

    def solve(self, x: np.ndarray) -> np.ndarray:
        """Return the outputs `(rows, outputs)` of inputs `(rows, inputs)`."""
        columns = [OPERATIONS[o.operation](x[:, o.i], x[:, o.j]) for o in self.outputs]
        return np.stack(columns, -1)

    def training_rows(self, low: float, high: float, count: int):
        """Return uniform inputs of the training set, and their outputs."""
        return self._rows(_TRAIN, low, high, count)

    def test_rows(self, low: float, high: float, count: int):
        """Return uniform inputs of the test set, and their outputs."""
        return self._rows(_TEST, low, high, count)

    def _rows(
        self, stream: int, low: float, high: float, count: int
    ) -> tuple[torch.Tensor, torch.Tensor]:
        x = self._random(stream).uniform(low, high, (count, self.inputs))
        return torch.from_numpy(x), torch.from_numpy(self.solve(x))

    def order(self, epoch: int, count: int) -> torch.Tensor:
        """Return a random order of the training rows, another one in each epoch."""
        return torch.from_numpy(self._random(_ORDER, epoch).permutation(count))
