"""What contestants learn: formulas with a range to train in and one outside of it."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import numpy as np
import sympy

from stable_nalu.result.records import cells_of

TRAINING, VALIDATION, TEST, PROBES = 1024, 1024, 4096, 16
"""Rows that are trained on, that settings and restarts are chosen by, of each test, and those
outside of the training range, the same for all seeds, by which answers are compared."""


def formula_of(text: str, names: dict[str, Any]) -> Any:
    """Return a formula that is written over names of inputs and functions."""
    return cast(Any, sympy.sympify)(text, locals=names)


@dataclass(frozen=True)
class ProblemRows:
    """What a contestant is given: inputs `(rows, inputs)` and targets `(rows,)`."""

    x: np.ndarray
    y: np.ndarray
    valid_x: np.ndarray
    valid_y: np.ndarray


@dataclass(frozen=True)
class Problem:
    """A formula of inputs that are independent and uniform, and where it is from.

    train, outside: a range such as `1 2` for all inputs, or one for each, `1 3, 0.1 0.6`.
    """

    key: str
    family: str
    inputs: str
    formula: str
    train: str
    outside: str

    @cached_property
    def names(self) -> list[str]:
        """Return the names of the inputs in the formula."""
        return self.inputs.split()

    def ends(self, outside: bool, redundant: int = 0) -> np.ndarray:
        """Return the ends of the ranges of all inputs; one that does not matter has the first."""
        parts = [
            list(map(float, p.split())) for p in (self.train, self.outside)[outside].split(",")
        ]
        parts *= len(self.names) if len(parts) == 1 else 1
        return np.array(parts + parts[:1] * redundant)

    def symbols(self, redundant: int = 0) -> list[sympy.Symbol]:
        """Return x1, x2, … of all inputs, positive where they are so in both ranges."""
        lows = np.minimum(*(self.ends(where, redundant)[:, 0] for where in (False, True)))
        signs = [{"positive": True} if low > 0 else {"real": True} for low in lows]
        return [sympy.Symbol(f"x{k}", **sign) for k, sign in enumerate(signs, start=1)]

    @cached_property
    def target(self) -> Any:
        """Return the formula over `symbols`."""
        return formula_of(self.formula, dict(zip(self.names, self.symbols(), strict=True)))

    def drawn(
        self, random: np.random.Generator, count: int, *, outside: bool = False, redundant: int = 0
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return inputs and targets."""
        low, high = self.ends(outside, redundant).T
        x = low + (high - low) * random.random((count, len(low)))
        value = sympy.lambdify(self.symbols(), self.target, "numpy")
        return x, np.asarray(value(*x[:, : len(self.names)].T), float)

    def rows(self, seed: int, noise: float = 0.0, redundant: int = 0) -> ProblemRows:
        """Return the rows of a seed, which are the same for every contestant.

        noise: its standard deviation, as a share of that of the targets.
        """
        random = np.random.default_rng([seed, self.number])
        x, y = self.drawn(random, TRAINING + VALIDATION, redundant=redundant)
        y = y + noise * y.std() * random.standard_normal(len(y))
        return ProblemRows(x[:TRAINING], y[:TRAINING], x[TRAINING:], y[TRAINING:])

    def probes(self, redundant: int) -> np.ndarray:
        """Return the points by which answers are compared."""
        random = np.random.default_rng(self.number)
        return self.drawn(random, PROBES, outside=True, redundant=redundant)[0]

    @property
    def number(self) -> int:
        """Return a number that random rows depend on."""
        return zlib.crc32(self.key.encode())


PROBLEMS = {row["key"]: Problem(**row) for row in cells_of(Path(__file__).with_name("tasks.csv"))}
