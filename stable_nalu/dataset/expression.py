"""Formulas and conditions as text: read by Python's grammar, of which few parts are allowed.

Nothing in a text is executed. A formula is computed of arrays, or of symbols of sympy.
"""

import ast
import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

FUNCTIONS: dict[str, str] = {
    **{name: name for name in ("sin", "cos", "tan", "exp", "log", "sqrt", "tanh", "sinh", "cosh")},
    **{"abs": "abs", "sign": "sign", "ln": "log", "asin": "arcsin", "acos": "arccos"},
    **{"atan": "arctan", "min": "minimum", "max": "maximum", "floor": "floor"},
}
"""Function of a formula -> that of NumPy."""
_OF_SYMPY = {"abs": "Abs", "min": "Min", "max": "Max"}
CONSTANTS = {"pi": math.pi, "e": math.e}
_COMPARISONS: dict[type, Callable[..., Any]] = {
    **{ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge},
    **{ast.Eq: operator.eq, ast.NotEq: operator.ne},
}
MOST_LETTERS, LARGEST_POWER = 1000, 64
_NUMBERED = re.compile(r"x([1-9]\d{0,3})")
_SUMS, _PRODUCTS = (ast.Add, ast.Sub), (ast.Mult, ast.Div)


class Expression:
    """A formula, or a condition if `condition`; `names` are its inputs.

    These are x1, x2, … up to the last that it reads, or else names in the order of the text.
    """

    def __init__(self, text: str, *, condition: bool = False):
        self.text, self._condition = " ".join(text.split()), condition
        if len(text) > MOST_LETTERS:
            raise ValueError(f"it has {len(text)} letters; {MOST_LETTERS} are the most")
        try:
            self._tree = ast.parse(self.text, mode="eval").body
            found = list(dict.fromkeys(self._checked(self._tree)))
        except (SyntaxError, MemoryError, RecursionError):
            raise ValueError(f"{self.text!r} is no formula; write such as x1*x2 + x3") from None
        self.text = ast.unparse(self._tree)
        if not found:
            raise ValueError(f"{self.text!r} has no input; write such as x1*x2 + x3")
        numbers = [int(m[1]) for m in map(_NUMBERED.fullmatch, found) if m]
        last = max(numbers) if len(numbers) == len(found) else 0
        self.names = tuple(f"x{k}" for k in range(1, last + 1)) or tuple(found)

    def _checked(self, node: ast.AST) -> Iterator[str]:
        """Yield the inputs; refuse what is not allowed."""
        parts = list(ast.iter_child_nodes(node))
        match node:
            case ast.Name(id=name) if name not in FUNCTIONS:
                if name not in CONSTANTS:
                    yield name
                return
            case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
                return
            case ast.BinOp(op=ast.BitXor()):
                raise ValueError("^ is no power; write **")
            case ast.BinOp(op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div() | ast.Pow()):
                parts = [node.left, node.right]
            case ast.UnaryOp(op=ast.UAdd() | ast.USub()):
                parts = [node.operand]
            case ast.Call(func=ast.Name(id=name), args=[_, *others], keywords=[]):
                if name not in FUNCTIONS or bool(others) != (name in ("min", "max")):
                    known = f"known are {', '.join(FUNCTIONS)}; min and max take two numbers"
                    raise ValueError(f"there is no function {ast.unparse(node)}; {known}")
                parts = node.args
            case ast.Compare() if self._condition and all(
                type(o) in _COMPARISONS for o in node.ops
            ):
                parts = [node.left, *node.comparators]
            case ast.BoolOp() | ast.UnaryOp(op=ast.Not()) if self._condition:
                parts = node.values if isinstance(node, ast.BoolOp) else [node.operand]
            case _:
                remedy = f"write numbers, names, + - * / ** and {', '.join(FUNCTIONS)}"
                raise ValueError(f"{ast.unparse(node)!r} cannot stand in a formula; {remedy}")
        found = [name for part in parts for name in self._checked(part)]
        numbers = [parts[-1]] if isinstance(getattr(node, "op", None), ast.Pow) else []
        for number in numbers if found else [*numbers, node]:
            value = _constant(number)
            most = LARGEST_POWER if number in numbers else np.finfo(float).max
            if value is not None and not abs(value) <= most:
                raise ValueError(f"{ast.unparse(number)} is too large in {ast.unparse(node)}")
        yield from found

    def __call__(self, *values: Any, off: float = 0.0) -> Any:
        """Return the formula of the values of `names`, arrays or symbols.

        off: by how much weights are off. Then each term of a sum is (1 - off) of itself, and each
        factor z of a product, a quotient or a whole power is (1 - off) z + off, as of an NMU.
        """
        return self.of(dict(zip(self.names, values, strict=True)), off)

    def of(self, values: Mapping[str, Any], off: float = 0.0) -> Any:
        functions: Any = np
        if not isinstance(next(iter(values.values())), np.ndarray | np.generic):
            import sympy as functions
        return _Reading(values, functions, off).value(self._tree)


def _constant(node: ast.AST) -> float | None:
    """Return the number that a part without inputs is; None of another part."""
    names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    if not names <= {*CONSTANTS, *FUNCTIONS}:
        return None
    with np.errstate(all="ignore"):
        return float(_Reading({}, np, 0.0).value(node))


class _Reading:
    def __init__(self, values: Mapping[str, Any], functions: Any, off: float):
        self.values, self.functions, self.off = values, functions, off
        self.symbolic = functions is not np

    def value(self, node: Any) -> Any:
        match node:
            case ast.Name(id=name):
                if name in self.values:
                    return self.values[name]
                known = {"pi": "pi", "e": "E" if self.symbolic else "e"}
                return getattr(self.functions, known[name])
            case ast.Constant():
                number = self.functions.sympify if self.symbolic else np.float64
                return number(node.value)
            case ast.BinOp(op=ast.Add() | ast.Sub()):
                terms = [s * self.value(n) for s, n in _flat(node, _SUMS)]
                return sum((self._off(t, 0.0) for t in terms[1:]), self._off(terms[0], 0.0))
            case ast.BinOp(op=ast.Mult() | ast.Div()):
                found: Any = 1
                for sign, part in _flat(node, _PRODUCTS):
                    factor = self.value(part) if sign > 0 else 1 / self.value(part)
                    known = _constant(part) is not None
                    found = found * (factor if known else self._off(factor, self.off))
                return found
            case ast.BinOp(left=base, right=power):
                inner, exponent, number = self.value(base), self.value(power), _constant(power)
                if number is not None and number.is_integer():
                    return self._off(inner, self.off) ** exponent
                return inner ** self._off(exponent, 0.0)
            case ast.UnaryOp(op=ast.USub()):
                return -self.value(node.operand)
            case ast.UnaryOp(op=ast.UAdd()):
                return self.value(node.operand)
            case ast.Call():
                name = node.func.id
                of_sympy = _OF_SYMPY.get(name, name)
                function = getattr(self.functions, of_sympy if self.symbolic else FUNCTIONS[name])
                return function(*map(self.value, node.args))
            case ast.Compare():
                ends = [self.value(one) for one in (node.left, *node.comparators)]
                pairs = zip(node.ops, ends[:-1], ends[1:], strict=True)
                return _all([_COMPARISONS[type(op)](a, b) for op, a, b in pairs], operator.and_)
            case ast.BoolOp():
                how = operator.and_ if isinstance(node.op, ast.And) else operator.or_
                return _all([np.asarray(self.value(one), bool) for one in node.values], how)
            case _:
                return ~np.asarray(self.value(node.operand), bool)

    def _off(self, part: Any, added: float) -> Any:
        return (1 - self.off) * part + added if self.off else part


def _flat(node: ast.expr, kinds: tuple[type, ...], sign: int = 1) -> Iterator[tuple[int, ast.expr]]:
    """Yield the terms of a sum, or the factors of a product, each with 1 or -1."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, kinds):
        yield from _flat(node.left, kinds, sign)
        inverse = isinstance(node.op, ast.Sub | ast.Div)
        yield from _flat(node.right, kinds, -sign if inverse else sign)
    else:
        yield sign, node


def _all(parts: Sequence[Any], how: Callable[[Any, Any], Any]) -> Any:
    found = parts[0]
    for part in parts[1:]:
        found = how(found, part)
    return found
