"""Other families of models, one function each: rows, clock and seed in, what was learned out."""

from __future__ import annotations

import copy
import os
import warnings
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import sympy

from .contest import NOTHING, Clock, Reply
from .tasks import ProblemRows, formula_of

PERFECT = 1e-12
"""Error on the rows for validation from which on nobody looks for a better answer."""
_SECONDS_OF_A_FIT = 1.0
"""CPU time in which pykan fits one function of its library to one edge."""


def boosting(rows: ProblemRows, clock: Clock, seed: int, *, patience: int, most: int) -> Reply:
    """Add trees until those of the last stages have not lowered the error."""
    from sklearn.ensemble import GradientBoostingRegressor

    model = GradientBoostingRegressor(n_estimators=0, warm_start=True, random_state=seed)
    best, count = NOTHING, 0
    while model.n_estimators < min(most, count + patience) and clock.goes_on():
        model.n_estimators += 50
        model.fit(rows.x, rows.y)
        reply = Reply.of(rows, model.predict)
        if reply.error < best.error:
            best, count = reply, model.n_estimators
    stages = count - 1

    def predict(x: np.ndarray) -> np.ndarray:
        return next(y for k, y in enumerate(model.staged_predict(x)) if k == stages)

    return Reply(best.error, predict) if count else NOTHING


def perceptron(
    rows: ProblemRows, clock: Clock, seed: int, *, hidden: list[int], patience: int
) -> Reply:
    """Train epochs until those of the last ones have not lowered the error."""
    from sklearn.neural_network import MLPRegressor

    centre, spread = rows.x.mean(0), rows.x.std(0)
    level, scale = rows.y.mean(), rows.y.std()
    model = MLPRegressor(hidden_layer_sizes=hidden, random_state=seed)
    best, since = NOTHING, 0
    while since < patience and clock.goes_on():
        model.partial_fit((rows.x - centre) / spread, (rows.y - level) / scale)
        kept = copy.copy(model)
        # Steps of Adam change the arrays in place.
        kept.coefs_ = [weights.copy() for weights in model.coefs_]
        kept.intercepts_ = [weights.copy() for weights in model.intercepts_]
        reply = Reply.of(
            rows, lambda x, kept=kept: kept.predict((x - centre) / spread) * scale + level
        )
        since += 1
        if reply.error < best.error:
            best, since = reply, 0
    return best


def gplearn(
    rows: ProblemRows, clock: Clock, seed: int, *, generations: int, functions: list[str]
) -> Reply:
    """Breed populations one after another, each from a start of its own."""
    import gplearn.functions  # pyright: ignore[reportMissingImports]
    from gplearn.genetic import SymbolicRegressor  # pyright: ignore[reportMissingImports]

    def exponential(x: np.ndarray) -> np.ndarray:
        return np.exp(np.clip(x, -50, 50))

    exp = gplearn.functions.make_function(function=exponential, name="exp", arity=1, wrap=False)
    best, attempt = NOTHING, 0
    while best.error > PERFECT and not clock.is_over:
        model = SymbolicRegressor(
            generations=0,
            function_set=(*functions, exp),
            metric="mse",
            warm_start=True,
            random_state=1000 * seed + attempt,
        )
        while model.generations < generations and best.error > PERFECT and clock.goes_on():
            model.generations += 1
            with warnings.catch_warnings(action="ignore"):
                model.fit(rows.x, rows.y)
            program: Any = model._program
            told = _of_gplearn(str(program))
            reply = Reply.of(rows, program.execute, told)
            best = min(best, reply, key=lambda one: one.error)
        attempt += 1
    return best


def _of_gplearn(program: str) -> Any:
    """Return what reads a program as a formula, without what keeps its functions finite."""
    names = {
        **{"add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b},
        **{"div": lambda a, b: a / b, "sqrt": lambda a: sympy.sqrt(sympy.Abs(a))},
        **{"log": lambda a: sympy.log(sympy.Abs(a)), "exp": sympy.exp},
        **{"sin": sympy.sin, "cos": sympy.cos},
    }

    def formula(symbols: list[sympy.Symbol]) -> sympy.Expr:
        inputs = {f"X{k}": symbol for k, symbol in enumerate(symbols)}
        return formula_of(program, names | inputs)

    return formula


def operon(
    rows: ProblemRows, clock: Clock, seed: int, *, symbols: str, iterations: int, patience: int
) -> Reply:
    """Breed populations; one that has not improved for some generations makes room for another."""
    from pyoperon.sklearn import SymbolicRegressor  # pyright: ignore[reportMissingImports]

    best, attempt = NOTHING, 0
    while best.error > PERFECT and not clock.is_over:
        model = SymbolicRegressor(
            allowed_symbols=symbols,
            optimizer_iterations=iterations,
            generations=1,
            warm_start=True,
            epsilon=0.0,
        )
        own, since, part = np.inf, 0, 0
        while since < patience and best.error > PERFECT and clock.goes_on():
            model.random_state = 1_000_000 * seed + 1000 * attempt + part
            model.fit(rows.x, rows.y)
            text = model.get_model_string(model.model_, 12)
            reply = Reply.of(rows, _numbers(text), _of_operon(text))
            best = min(best, reply, key=lambda one: one.error)
            since = 0 if reply.error < 0.99 * own else since + 1
            own, part = min(own, reply.error), part + 1
        attempt += 1
    return best


def _of_operon(text: str) -> Any:
    def formula(symbols: list[sympy.Symbol]) -> sympy.Expr:
        inputs = {f"X{k}": symbol for k, symbol in enumerate(symbols, start=1)}
        return formula_of(text.replace("^", "**"), inputs)

    return formula


def _numbers(text: str) -> Any:
    """Return a formula as function of rows, in double precision; the library has single."""
    code = compile(text.replace("^", "**"), "formula", "eval")
    known = {name: getattr(np, name) for name in ("sqrt", "log", "exp", "sin", "cos")}

    def predict(x: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            found = eval(code, {f"X{k}": x[:, k - 1] for k in range(1, x.shape[1] + 1)} | known)
        return np.broadcast_to(found, len(x)).astype(float)

    return predict


def kan(
    rows: ProblemRows, clock: Clock, seed: int, *, hidden: int, grid: int, lamb: float,
    library: list[str],
) -> Reply:  # fmt: skip
    """Fit splines; where time is left for it, each of them becomes a function of a library."""
    import torch

    os.environ["TQDM_DISABLE"] = "1"
    from kan import KAN  # pyright: ignore[reportMissingImports]

    torch.set_default_dtype(torch.float64)
    x, y, valid_x, valid_y = (
        torch.as_tensor(part if part.ndim > 1 else part[:, None])
        for part in (rows.x, rows.y, rows.valid_x, rows.valid_y)
    )
    data = {"train_input": x, "train_label": y, "test_input": valid_x, "test_label": valid_y}

    def answers(model: Any) -> Any:
        def predict(x: np.ndarray) -> np.ndarray:
            with torch.no_grad():
                return model(torch.as_tensor(x))[:, 0].numpy()

        return predict

    formulas = _SECONDS_OF_A_FIT * hidden * (x.shape[1] + 1) * len(library)
    named = clock.seconds > 2 * formulas
    with TemporaryDirectory() as folder:
        model: Any = KAN(
            width=[x.shape[1], hidden, 1], grid=grid, k=3, seed=seed, auto_save=False,
            grid_range=[float(x.min()), float(x.max())], ckpt_path=folder, symbolic_enabled=named,
        )  # fmt: skip
        best, since, state = NOTHING, 0, {}
        while since < 10 and not (named and clock.left < formulas) and clock.goes_on():
            model.fit(data, opt="LBFGS", steps=5, lamb=lamb, update_grid=clock.steps <= 2)
            reply = Reply.of(rows, answers(model))
            since += 1
            if reply.error < best.error:
                state = {name: value.clone() for name, value in model.state_dict().items()}
                best, since = reply, 0
        if not state:
            return best
        model.load_state_dict(state)
        if not named:
            return best
        model(x)
        pruned = model.prune()
        pruned.auto_symbolic(lib=list(library), verbose=0)
        pruned.fit(data, opt="LBFGS", steps=20, update_grid=False)
        expression = pruned.symbolic_formula()[0][0]

        def formula(symbols: list[sympy.Symbol]) -> sympy.Expr:
            return expression.subs({f"x_{k}": one for k, one in enumerate(symbols, start=1)})

        return min(best, Reply.of(rows, answers(pruned), formula), key=lambda one: one.error)
