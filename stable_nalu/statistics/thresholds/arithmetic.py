r"""Thresholds of the arithmetic data set: mean squared error of a nearly exact selection.

The first layer sums two subsets, z1 = A'x and z2 = B'x, the second is exact. Selection weights are
epsilon off: 1 - eps inside a subset, eps outside.

    threshold = E (f(A_eps'x, B_eps'x) - f(A'x, B'x))²,    x_i independent, uniform

For sums and products this is a polynomial in the moments of x and computed exactly; for / and root
it is simulated.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from stable_nalu.paper.ranges import ExtrapolationRange

EPSILON = 1e-5

_COMBINE: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "squared": lambda a, _: a * a,
    "root": lambda a, _: np.sqrt(a),
}
SIMULATED = ("div", "root")
"""Operations without a closed form."""


@dataclass(frozen=True)
class ArithmeticTask:
    """One row of the tables.

    simple: the subsets are the first two and the first four of four inputs; no ratios.
    subset_ratio, overlap_ratio: size of a subset, and of what both share, as in the data set.
    """

    operation: str
    extrapolation_range: ExtrapolationRange = ExtrapolationRange(2, 6)
    input_size: int = 100
    subset_ratio: float = 0.25
    overlap_ratio: float = 0.5
    simple: bool = False

    def selections(self, *, published: bool = True) -> tuple[np.ndarray, np.ndarray]:
        """Return the exact selection weights A and B, each `(input_size,)` of zeros and ones.

        published: as in the papers' thresholds, where the end of a subset is inclusive: subsets
            and their overlap are one element longer than in the data set. False: as in the
            data set.
        """
        if self.simple:
            return self._range(0, 2), self._range(0, 4)
        size = math.floor(self.subset_ratio * self.input_size)
        overlap = math.floor(self.overlap_ratio * size)
        extra = 1 if published else 0
        return (
            self._range(0, size + extra),
            self._range(size - overlap, 2 * size - overlap + extra),
        )

    def _range(self, start: int, end: int) -> np.ndarray:
        places = np.arange(self.input_size)
        return ((places >= start) & (places < end)).astype(float)


@dataclass(frozen=True)
class Moments:
    """Mean, variance and fourth central moment of one input, whose third is 0."""

    mean: float
    variance: float
    fourth: float

    @classmethod
    def of(cls, x: ExtrapolationRange) -> Moments:
        """Return the moments of U(a, b), or of U(a, b) with a fair random sign."""
        if x.mirror:
            fourth = (x.b**5 - x.a**5) / (5 * (x.b - x.a))
            return cls(0.0, (x.a**2 + x.a * x.b + x.b**2) / 3, fourth)
        width = x.b - x.a
        return cls((x.a + x.b) / 2, width**2 / 12, width**4 / 80)


def closed_form(task: ArithmeticTask, epsilon: float = EPSILON, *, published: bool = True) -> float:
    """Return the threshold of an operation that is a polynomial: add, sub, mul, squared."""
    a, b = task.selections(published=published)
    a_near, b_near = _off_by(a, epsilon), _off_by(b, epsilon)
    moments = Moments.of(task.extrapolation_range)
    if task.operation in ("add", "sub"):
        sign = 1 if task.operation == "add" else -1
        error = (a_near - a) + sign * (b_near - b)
        return float(moments.variance * error @ error + (moments.mean * error.sum()) ** 2)
    if task.operation == "mul":
        return _mean_square_of_form(np.outer(a_near, b_near) - np.outer(a, b), moments)
    if task.operation == "squared":
        return _mean_square_of_form(np.outer(a_near, a_near) - np.outer(a, a), moments)
    raise ValueError(f"operation {task.operation} has no closed form")


def _off_by(selection: np.ndarray, epsilon: float) -> np.ndarray:
    return selection + epsilon * (1 - 2 * selection)


def _mean_square_of_form(matrix: np.ndarray, moments: Moments) -> float:
    """Return E (x'Mx)² for independent, symmetric x_i of the given moments."""
    form = (matrix + matrix.T) / 2
    mean, variance = moments.mean, moments.variance
    rows, trace, diagonal = form.sum(axis=1), np.trace(form), np.diag(form)
    level = mean**2 * form.sum()
    excess = moments.fourth - 3 * variance**2
    return float(
        level**2
        + 4 * mean**2 * variance * rows @ rows
        + 2 * level * variance * trace
        + excess * diagonal @ diagonal
        + variance**2 * (trace**2 + 2 * (form**2).sum())
    )


@dataclass(frozen=True)
class Simulation:
    """A simulated threshold and the standard error of it."""

    threshold: float
    error: float


def simulate(
    task: ArithmeticTask,
    epsilon: float = EPSILON,
    *,
    samples: int = 1_000_000,
    seed: int = 0,
    published: bool = True,
    chunk: int = 20_000,
) -> Simulation:
    """Return the threshold of any operation by `samples` draws of a generator of its own.

    Quotients over a mirrored range have infinite variance, as the divisor goes through 0: their
    simulated threshold means nothing, however many samples.
    """
    exact = np.stack(task.selections(published=published))
    near = _off_by(exact, epsilon)
    rng = np.random.default_rng(seed)
    combine = _COMBINE[task.operation]
    total, squares = 0.0, 0.0
    for start in range(0, samples, chunk):
        shape = (min(chunk, samples - start), task.input_size)
        x = rng.uniform(task.extrapolation_range.a, task.extrapolation_range.b, shape)
        if task.extrapolation_range.mirror:
            x *= rng.choice([-1.0, 1.0], shape)
        difference = (combine(*(near @ x.T)) - combine(*(exact @ x.T))) ** 2
        total += difference.sum()
        squares += (difference**2).sum()
    mean = total / samples
    variance = max(squares / samples - mean**2, 0.0)
    return Simulation(float(mean), math.sqrt(variance / samples))


def single_module(
    operation: str, inputs: int, tested_on: ExtrapolationRange, epsilon: float
) -> float:
    """Return the mean squared error of a single module whose every weight is epsilon off.

    All |x| of the inputs enter, relevant or not:

        add, sub   eps² (n var|x| + n² (E|x|)²)
        mul        ((1 - eps)² - 1)² (E x²)²                                   two inputs
        div        ((1 - eps)/(1 + eps) - 1)² E x² / (lo hi)                   two inputs
    """
    low, high = sorted((abs(tested_on.a), abs(tested_on.b)))
    square = (low**2 + low * high + high**2) / 3
    if operation in ("add", "sub"):
        mean, variance = (low + high) / 2, (high - low) ** 2 / 12
        return epsilon**2 * (inputs * variance + inputs**2 * mean**2)
    if inputs != 2:
        raise ValueError(f"operation {operation} has a closed form for two inputs only")
    if operation == "mul":
        return ((1 - epsilon) ** 2 - 1) ** 2 * square**2
    if operation == "div":
        return ((1 - epsilon) / (1 + epsilon) - 1) ** 2 * square / (low * high)
    raise ValueError(f"operation {operation} has no closed form")
