"""Operations of networks: of numbers, as sympy's, of intervals, and what intervals decide."""

import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import sympy

IV: Any = mpmath.iv


def _sigmoid(a: float) -> float:
    return float(0.5 * (1 + np.tanh(0.5 * a)))


NUMERIC: dict[str, Callable[..., Any]] = {
    **{"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.true_divide},
    **{"neg": np.negative, "abs": np.abs, "sqrt": np.sqrt, "exp": np.exp, "expm1": np.expm1},
    **{"log": np.log, "log1p": np.log1p, "tanh": np.tanh, "sigmoid": _sigmoid, "sin": np.sin},
    **{"cos": np.cos, "sinh": np.sinh, "cosh": np.cosh, "erf": math.erf, "sign": np.sign},
    **{"rint": np.rint, "pow": np.power, "max": np.maximum, "min": np.minimum},
    **{"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal},
    **{"gt": np.greater, "ge": np.greater_equal, "and": np.logical_and, "or": np.logical_or},
    **{"not": np.logical_not, "xor": np.logical_xor, "where": lambda c, a, b: a if c else b},
}
SYMBOLIC: dict[str, Callable[..., Any]] = {
    **{"add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b},
    **{"div": lambda a, b: a / b, "neg": lambda a: -a, "abs": sympy.Abs, "sqrt": sympy.sqrt},
    **{"exp": sympy.exp, "expm1": lambda a: sympy.exp(a) - 1, "log": sympy.log},
    **{"log1p": lambda a: sympy.log(1 + a), "tanh": sympy.tanh, "sin": sympy.sin},
    **{"sigmoid": lambda a: 1 / (1 + sympy.exp(-a)), "cos": sympy.cos, "sinh": sympy.sinh},
    **{"cosh": sympy.cosh, "erf": sympy.erf, "sign": sympy.sign, "pow": lambda a, b: a**b},
    **{"max": sympy.Max, "min": sympy.Min, "eq": sympy.Eq, "ne": sympy.Ne, "lt": sympy.Lt},
    **{"le": sympy.Le, "gt": sympy.Gt, "ge": sympy.Ge, "and": sympy.And, "or": sympy.Or},
    **{"not": sympy.Not, "where": lambda c, a, b: sympy.Piecewise((a, c), (b, True))},
}


def unbounded(*_: Any) -> None:
    """Return no bounds, whatever the arguments are."""
    return


def _guarded(bounds: Callable[..., Any]) -> Callable[..., Any]:
    """Return bounds that are not known where those of an argument are not."""

    def found(*withins: Any) -> Any:
        if any(within is None for within in withins):
            return None
        try:
            return bounds(*withins)
        except (ArithmeticError, ValueError, NotImplementedError):
            return None

    return found


BOUNDS = {
    op: _guarded(bounds)
    for op, bounds in {
        **{"add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b},
        **{"div": lambda a, b: a / b, "neg": lambda a: -a, "abs": abs, "sqrt": IV.sqrt},
        **{"exp": IV.exp, "log": IV.log, "sin": IV.sin},
        **{"cos": IV.cos, "pow": lambda a, b: a**b},
        "expm1": lambda a: IV.exp(a) - 1,
        "log1p": lambda a: IV.log(1 + a),
        "max": lambda a, b: IV.mpf([max(a.a, b.a), max(a.b, b.b)]),
        "min": lambda a, b: IV.mpf([min(a.a, b.a), min(a.b, b.b)]),
        "sigmoid": lambda a: 1 / (1 + IV.exp(-a)),
        "tanh": lambda a: 1 - 2 / (IV.exp(2 * a) + 1),
    }.items()
}


def _larger(a: Any, b: Any, of_a: Any, of_b: Any) -> Any:
    if of_a is None or of_b is None:
        return None
    return a if of_a.a >= of_b.b else b if of_b.a >= of_a.b else None


def _smaller(a: Any, b: Any, of_a: Any, of_b: Any) -> Any:
    if of_a is None or of_b is None:
        return None
    return a if of_a.b <= of_b.a else b if of_b.b <= of_a.a else None


def _compared(op: str) -> Callable[..., bool | None]:
    """Return what says whether a comparison is known over a whole box."""

    def known(a: Any, b: Any, of_a: Any, of_b: Any) -> bool | None:
        relation = SYMBOLIC[op](a, b)
        if relation in (sympy.true, sympy.false):
            return bool(relation)
        if of_a is None or of_b is None:
            return None
        above, below = of_a.a > of_b.b, of_a.b < of_b.a
        if not above and not below:
            return None
        return {"gt": above, "ge": above, "lt": below, "le": below, "eq": False, "ne": True}[op]

    return known


def _sign_known(a: Any, within: Any) -> Any:
    if within is None or a.is_positive or a.is_negative:
        return None
    return sympy.Integer(1) if within.a > 0 else sympy.Integer(-1) if within.b < 0 else None


def _abs_known(a: Any, within: Any) -> Any:
    sign = _sign_known(a, within)
    return None if sign is None else sign * a


KNOWN = {
    **{op: _compared(op) for op in ("gt", "ge", "lt", "le", "eq", "ne")},
    **{"max": _larger, "min": _smaller, "sign": _sign_known, "abs": _abs_known},
}
