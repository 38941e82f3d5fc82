"""Whether an expression equals its target in a box: inside, at the ends and around breaks."""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import mpmath
import numpy as np
import sympy
from scipy.optimize import minimize

Box = tuple[tuple[float, float], ...]
"""Where each input lies; no input has both signs."""

POINTS, FIRST = 200, 5
"""Points inside a box, and how many of them are tried before algebra is."""
CLOSE = 1e-12
"""The share of the target by which an equal formula may differ, with constants in double."""
SMALL, RARE = 5e-4, 0.1
"""Around breaks a formula may differ by a share of the usual target, at few of all points."""
MOST_BREAKS, MOST_SEARCHED = 50, 10
"""Breaks whose sides are searched for; inputs from which on no largest difference is."""
NO_NUMBERS = sympy.nan, sympy.zoo, sympy.oo
_FAILURES = (ArithmeticError, ValueError, TypeError)
_NEAR_ZERO = 1e-6
"""The share of a box at which its end is taken if that is zero, where no target is defined."""


def points_of(box: Box, count: int) -> np.ndarray:
    """Return points inside a box, the same in every call."""
    low, high = np.array(box).T
    return low + (high - low) * np.random.default_rng(0).uniform(0.01, 0.99, (count, len(box)))


class Comparison:
    """A difference from a target, which is compared at points that are new in every comparison."""

    def __init__(
        self, difference: sympy.Expr, target: sympy.Expr, symbols: Sequence[Any], box: Box
    ):
        self._difference = difference
        self._symbols = symbols
        parts = [sympy.oo if difference.has(*NO_NUMBERS) else difference, target]
        self._at = sympy.lambdify(symbols, parts, "mpmath")
        self._random = np.random.default_rng()
        self._box = box
        ends = np.array(box)
        shift = _NEAR_ZERO * (ends[:, 1] - ends[:, 0])
        self._ends = np.where(ends == 0, np.stack([shift, -shift], -1), ends)

    def may_be_equal(self) -> bool:
        """Return whether there is no difference at most of a few points."""
        return self._gap(FIRST, 0.5, lambda points: ()) is not None

    def gap(self) -> float | None:
        """Return the largest difference of an equal formula, 0 within rounding; None if not equal.

        It is no more than rounding at nearly all points inside, and small everywhere else.
        """
        return self._gap(POINTS, RARE, self._special)

    def largest_if_small(self) -> float | None:
        """Return the largest difference at fixed points; None if mostly above 1 % of the target."""
        found = [self._values(point) for point in points_of(self._box, POINTS)]
        is_small = sum(gap <= 0.01 * whole for gap, whole in found) > POINTS / 2
        return max(gap for gap, _ in found) if is_small else None

    def _gap(self, count: int, rare: float, special: Callable[[np.ndarray], Any]) -> float | None:
        points = self._inside(count)
        found = [self._values(point) for point in points]
        usual = float(np.quantile([whole for _, whole in found], 0.9))
        differ = [gap for gap, whole in found if not gap <= CLOSE * max(whole, SMALL * usual)]
        if len(differ) > rare * count:
            return None
        found += [self._values(point) for point in special(points)]
        if not all(gap <= SMALL * max(whole, usual) for gap, whole in found):
            return None
        return max((gap for gap, whole in found if gap > CLOSE * max(whole, usual)), default=0.0)

    def _values(self, point: np.ndarray) -> tuple[float, float]:
        """Return the sizes of difference and target, computed in 30 digits; infinite: no number."""
        with mpmath.workdps(30):
            try:
                gap, whole = map(abs, self._at(*map(mpmath.mpf, map(float, point))))
                return float(gap), float(whole)
            except _FAILURES:
                return math.inf, 0.0

    def _inside(self, count: int) -> np.ndarray:
        low, high = self._ends.T
        return low + (high - low) * self._random.uniform(size=(count, len(low)))

    def _special(self, points: np.ndarray) -> Iterator[np.ndarray]:
        """Yield points at ends of inputs, where the difference is largest, and around breaks."""
        low, high = self._ends.T
        for point in points[::2]:
            end, free = self._random.uniform(size=(2, len(low)))
            yield np.where(free < 0.5, np.where(end < 0.5, low, high), point)
        yield from self._largest(points)
        for expr in itertools.islice(_breaks(self._difference), MOST_BREAKS):
            yield from self._sides(expr, points)

    def _largest(self, points: np.ndarray) -> Iterator[np.ndarray]:
        """Yield where the share of the difference grows to; its logarithm shows far-off bumps."""

        def share(point: np.ndarray) -> float:
            with mpmath.workdps(30):
                try:
                    gap, whole = map(abs, self._at(*map(mpmath.mpf, map(float, point))))
                    return float(mpmath.log(gap / whole)) if gap and whole else -math.inf
                except _FAILURES:
                    return -math.inf

        shares = [share(point) for point in points]
        used = self._used(self._difference)
        if max(shares) > -math.inf and len(used) <= MOST_SEARCHED:
            for place in np.argsort(shares)[[-1, len(points) // 2]]:
                yield self._climbed(share, points[place], used)

    def _used(self, expr: sympy.Expr) -> list[int]:
        return [k for k, symbol in enumerate(self._symbols) if symbol in expr.free_symbols]

    def _climbed(
        self, height: Callable[[np.ndarray], float], start: np.ndarray, used: list[int]
    ) -> np.ndarray:
        """Return where some coordinates lead a search for the largest height."""

        def moved(values: np.ndarray) -> np.ndarray:
            point = start.copy()
            point[used] = values
            return point

        def depth(values: np.ndarray) -> float:
            found = -height(moved(values))
            return found if math.isfinite(found) else 1e30

        bounds = list(map(tuple, self._ends[used]))
        found = minimize(
            depth, start[used], method="Powell", bounds=bounds, options={"maxfev": 300}
        )
        return np.clip(moved(found.x), *self._ends.T)

    def _sides(self, expr: sympy.Expr, points: np.ndarray) -> Iterator[np.ndarray]:
        """Yield points on both sides of where an expression is zero, from far to near."""
        at = sympy.lambdify(self._symbols, expr, ["scipy", "numpy"])

        def value(point: np.ndarray) -> float:
            with np.errstate(all="ignore"):
                try:
                    return float(at(*point))
                except _FAILURES:
                    return math.nan

        heights = np.nan_to_num([value(point) for point in points])
        used = self._used(expr)
        above = self._climbed(value, points[heights.argmax()], used)
        below = self._climbed(lambda point: -value(point), points[heights.argmin()], used)
        yield from (above, below)
        if value(above) > 0 > value(below):
            for step in range(40):
                middle = (above + below) / 2
                above, below = (middle, below) if value(middle) > 0 else (above, middle)
                if step % 4 == 0:
                    yield from (above, below)


def _breaks(expr: sympy.Expr) -> Iterator[sympy.Expr]:
    """Yield what is zero where a part of an expression goes over into another."""
    seen = set()
    for part in sympy.preorder_traversal(expr):
        pairs: Sequence[tuple[Any, Any]] = ()
        if isinstance(part, sympy.Abs | sympy.sign):
            pairs = [(part.args[0], 0)]
        elif isinstance(part, sympy.Max | sympy.Min):
            pairs = list(itertools.combinations(part.args, 2))
        elif isinstance(part, sympy.core.relational.Relational):
            pairs = [(part.lhs, part.rhs)]
        for a, b in pairs:
            if (found := a - b) not in seen and found.free_symbols:
                seen.add(found)
                yield found
