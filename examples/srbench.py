"""The estimator in the form that SRBench reads: `est`, `model(est, X)` and `complexity(est)`."""

import re

from stable_nalu.sklearn import UNITS, ArithmeticRegressor

STEPS = 3000
est = ArithmeticRegressor(units=list(UNITS), seeds=16, steps=STEPS)


def model(est, X=None):  # noqa: N803
    """Return the formula as text for sympy, with the names of the columns of X, if it has some."""
    columns = dict(zip(est.valid_range_, getattr(X, "columns", ()), strict=False))
    return re.sub(r"[^\W\d]\w*", lambda word: str(columns.get(word[0], word[0])), est.formula_)


def complexity(est):
    """Return the number of parts of the formula."""
    return est.complexity_
