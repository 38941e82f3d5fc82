"""Equations of the EQL papers, and operations of CalcNet, with rows drawn in a cube."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

Rows = tuple[np.ndarray, np.ndarray]
TESTED = 5_000
"""Rows of a test."""


class Equation(NamedTuple):
    """Texts of the outputs, separated by `;`, of so many inputs.

    layers: of an EQL that holds it. rows: of training and validation. low, high: the interval of
    training. near, far: factors of it in tests. whole: whether tests include the cube of training.
    """

    text: str
    inputs: int
    layers: int = 2
    rows: tuple[int, int] = (9_000, 1_000)
    low: float = -1
    high: float = 1
    near: float = 1.5
    far: float = 2
    whole: bool = False

    @property
    def sizes(self) -> tuple[int, int]:
        """Return the numbers of inputs and outputs."""
        return self.inputs, self.text.count(";") + 1

    def drawn(self, seed: int, noise: float, test_seed: int) -> Iterator[Rows]:
        """Yield inputs and targets of training and validation, with noise, and of three tests.

        Tests are in the larger cube, the smaller one and the cube of training; each has a seed.
        """
        import sympy

        names = [f"x{k}" for k in range(1, self.inputs + 1)]
        parts = [sympy.lambdify(names, sympy.sympify(t), "numpy") for t in self.text.split(";")]

        def targets(x: np.ndarray) -> np.ndarray:
            return np.stack([part(*x.T) for part in parts], -1)

        random = np.random.default_rng(seed)
        x = random.uniform(self.low, self.high, (sum(self.rows), self.inputs))
        t = targets(x)
        t = t + noise * random.standard_normal(t.shape)
        yield from zip(*(np.split(own, self.rows[:1]) for own in (x, t)), strict=True)
        for more, factor in enumerate((self.far, self.near, 1)):
            ends = factor * self.low, factor * self.high
            fixed = np.random.default_rng(test_seed + more)
            x = fixed.uniform(*ends, (2 * TESTED, self.inputs))
            if factor > 1 and not self.whole:
                x = x[((x < self.low) | (x > self.high)).any(-1)]
            yield x[:TESTED], targets(x[:TESTED])


_SUM = "x3; x4; (-x1 - 0.01*x3 + x4**2*sin(x2) + 0.1*x4*cos(x2) + 9.81*sin(x2)*cos(x2))"
_SUM += "/(sin(x2)**2 + 1); (-0.2*x4 - 19.62*sin(x2) + x1*cos(x2) + 0.01*x3*cos(x2)"
_SUM += " - x4**2*sin(x2)*cos(x2))/(sin(x2)**2 + 1)"
_DYNAMICS = {"rows": (900, 100), "low": -2, "high": 2}
_CALC = {"rows": (65_536, TESTED), "low": -10, "high": 10, "near": 1, "far": 5, "whole": True}
_ROOT = _CALC | {"low": 0}
EQUATIONS = {
    "div": Equation("sin(pi*x1)/(x2**2 + 1)", 2),
    "F-1": Equation("(sin(pi*x1) + sin(2*pi*x2 + pi/8) + x2 - x3*x4)/3", 4),
    "F-2": Equation("(sin(pi*x1) + x2*cos(2*pi*x1 + pi/4) + x3 - x4**2)/3", 4, 3),
    "F-3": Equation("((1 + x2)*sin(pi*x1) + x2*x3*x4)/3", 4, 3),
    "F-4": Equation("(sin(pi*x1) + cos(2*x2*sin(pi*x1)) + x2*x3*x4)/2", 4, 4),
    "pendulum": Equation("x2/9.81; -sin(x1)", 2, **_DYNAMICS),
    "cart": Equation(_SUM, 4, 3, (900, 100)),
    "calc-add": Equation("x1 + x2", 2, **_CALC),
    "calc-sub": Equation("x1 - x2", 2, **_CALC),
    "calc-mul": Equation("x1*x2", 2, **_CALC),
    "calc-div": Equation("x1/x2", 2, **_CALC),
    "calc-square": Equation("x1**2", 1, **_ROOT),
    "calc-sqrt": Equation("sqrt(x1)", 1, **_ROOT),
}
