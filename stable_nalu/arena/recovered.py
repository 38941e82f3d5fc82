"""Whether a formula is the target once its constants are rounded to 4 digits."""

from __future__ import annotations

import math
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import sympy

from stable_nalu.inspection.formula import ALGEBRA, CLOSE

from .tasks import Problem

POINTS, DIGITS = 100, 4
LARGEST_DENOMINATOR = 12
MOST_SIZE = 150
"""Parts of a formula from which on no algebra is tried."""
SECONDS = 20.0
NUMBERS = f"equal to 9 digits at {POINTS} points of each range"


class TooLongError(Exception):
    """Algebra took more than its time."""


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise TooLongError in a block that takes more CPU time; in the main thread of a process."""

    def stop(*_: object) -> None:
        raise TooLongError

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def size_of(formula: Any) -> int:
    """Return the nodes of a formula: operations, inputs and constants."""
    return sum(1 for _ in sympy.preorder_traversal(formula))


def recovered(formula: Any, problem: Problem) -> str:
    """Return how a formula was shown to be the target after rounding, or nothing."""
    failures = (TooLongError, RecursionError, TypeError, ValueError, ArithmeticError)
    with suppress(*failures), at_most(SECONDS):
        for form in _forms(formula):
            rounded = _rounded(form, problem.target)
            if not _agree(rounded, problem, 3):
                continue
            # A difference of numbers that are irrational may be too hard for algebra.
            with suppress(NotImplementedError):
                difference = sympy.expand(rounded - problem.target)
                if difference == 0 or sympy.simplify(difference) == 0:
                    return ALGEBRA
            if _agree(rounded, problem, POINTS):
                return NUMBERS
    return ""


def _forms(formula: Any) -> Iterator[Any]:
    """Yield a formula in forms that collect its constants."""
    yield formula
    if size_of(formula) > MOST_SIZE:
        return
    expanded = sympy.expand(formula)
    yield expanded
    above, below = map(sympy.expand, sympy.fraction(sympy.together(expanded)))
    numbers = [abs(term.as_coeff_Mul()[0]) for term in sympy.Add.make_args(below)]
    yield sympy.expand(above / max(numbers)) / sympy.expand(below / max(numbers))
    numbers = [n for n in numbers if n > 1e-4 * max(numbers)]
    yield sympy.expand(above / min(numbers)) / sympy.expand(below / min(numbers))


def _rounded(formula: Any, target: Any) -> Any:
    """Return a formula with every constant rounded; one as near to the target's becomes that."""
    known = [a for a in sympy.preorder_traversal(target) if a.is_number and not a.is_Rational]
    known += [target.as_coeff_Mul()[0], *(arg.as_coeff_Mul()[0] for arg in target.args)]
    product = sympy.Mul(*[arg for arg in sympy.Mul.make_args(target) if arg.is_number])
    near = [product, *known]
    floats = formula.atoms(sympy.Float)
    return formula.xreplace({number: _constant(float(number), near) for number in floats})


def _constant(value: float, near: list[sympy.Expr]) -> sympy.Expr:
    if not math.isfinite(value):
        return sympy.nan
    half = 0.5 * 10.0 ** (1 - DIGITS)
    if abs(value - round(value)) <= half * max(1, abs(value)):
        return sympy.Integer(round(value))
    turns = [sympy.pi * sympy.Rational(round(4 * value / math.pi), 4)]
    # Shifts of the argument of a sine or cosine, which is the other one a quarter of a turn away.
    turns += [k * sympy.pi / 2 + round(value - k * math.pi / 2) for k in (-2, -1, 1, 2)]
    for number in (*near, *turns):
        for signed in (number, -number):
            if abs(value - float(signed)) <= half * abs(value):
                return signed
    fraction = Fraction(value).limit_denominator(LARGEST_DENOMINATOR)
    if abs(value - fraction) <= half * abs(value):
        return sympy.Rational(fraction.numerator, fraction.denominator)
    return sympy.Rational(f"{value:.{DIGITS - 1}e}")


def _agree(formula: Any, problem: Problem, count: int) -> bool:
    """Return whether a formula is the target at points of both ranges, in 30 digits."""
    if formula.has(sympy.nan, sympy.zoo, sympy.oo):
        return False
    symbols = problem.symbols()
    extra = sorted(formula.free_symbols - set(symbols), key=str)
    at = sympy.lambdify([*symbols, *extra], [formula, problem.target], "mpmath")
    with mpmath.workdps(30):
        for outside in (False, True):
            random = np.random.default_rng(0)
            x, _ = problem.drawn(random, count, outside=outside, redundant=len(extra))
            for point in x:
                value, wanted = at(*map(mpmath.mpf, map(float, point)))
                if not abs(value - wanted) <= CLOSE * (abs(wanted) + mpmath.mpf("1e-3")):
                    return False
    return True


def values_of(formula: Any, symbols: list[Any], x: np.ndarray) -> np.ndarray:
    """Return the values of a formula, their real part where they are complex."""
    value = sympy.lambdify(symbols, formula, ["numpy", "scipy"])
    with np.errstate(all="ignore"):
        found = np.asarray(value(*np.asarray(x, complex if formula.has(sympy.log) else float).T))
    return np.broadcast_to(np.real(found), len(x)).astype(float)
