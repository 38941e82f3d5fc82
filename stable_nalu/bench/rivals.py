"""Whoever takes part, one function each: rows, clock and seed in, what was learned out.

Other families of models come first, then networks of this package: several starts as one stack.
"""

import copy
import math
import operator
import os
import warnings
from collections.abc import Callable, Mapping
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import sympy
import torch

from stable_nalu.abstract import ExtendedTorchModule, run_state, stack_models
from stable_nalu.inspection.formula import NetworkFormula
from stable_nalu.layer.equations import EMLLayer, EQLDivLayer
from stable_nalu.network.arithmetic import SimpleFunctionStaticNetwork

from .arena import NOTHING, Clock, ProblemRows, Reply, formula_of

Formula = Callable[[list[sympy.Symbol]], Any]
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
            written = _written(str(program), "X0", _OF_GPLEARN)
            reply = Reply.of(rows, program.execute, written)
            best = min(best, reply, key=lambda one: one.error)
        attempt += 1
    return best


_OF_GPLEARN: dict[str, Any] = {
    **{"add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv},
    **{"sqrt": lambda a: sympy.sqrt(sympy.Abs(a)), "log": lambda a: sympy.log(sympy.Abs(a))},
    **{"exp": sympy.exp, "sin": sympy.sin, "cos": sympy.cos},
}
"""Functions of programs, without what keeps them finite."""


def _written(text: str, first: str, functions: Mapping[str, Any] = {}) -> Formula:
    """Return what reads a text as a formula; first: the name of the first input in it."""
    letter, start = first[0], int(first[1:])

    def formula(symbols: list[sympy.Symbol]) -> sympy.Expr:
        inputs = {f"{letter}{k}": symbol for k, symbol in enumerate(symbols, start)}
        return formula_of(text, {**functions, **inputs})

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
            text = model.get_model_string(model.model_, 12).replace("^", "**")
            reply = Reply.of(rows, _numbers(text), _written(text, "X1"))
            best = min(best, reply, key=lambda one: one.error)
            since = 0 if reply.error < 0.99 * own else since + 1
            own, part = min(own, reply.error), part + 1
        attempt += 1
    return best


def _numbers(text: str) -> Any:
    """Return a formula as function of rows, in double precision; the library has single."""
    code = compile(text, "formula", "eval")
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
    os.environ["TQDM_DISABLE"] = "1"
    from kan import KAN  # pyright: ignore[reportMissingImports]

    torch.set_default_dtype(torch.float64)
    x, y, valid_x, valid_y = (
        torch.as_tensor(part if part.ndim > 1 else part[:, None])
        for part in (rows.x, rows.y, rows.valid_x, rows.valid_y)
    )
    data = {"train_input": x, "train_label": y, "test_input": valid_x, "test_label": valid_y}

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
            reply = Reply.of(rows, _answers(model))
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

        return min(best, Reply.of(rows, _answers(pruned), formula), key=lambda one: one.error)


BATCH = 128
MOST_READ = 3
"""Networks of a stack that are rounded, and read as formulas, those with the lowest errors."""
Builder = Callable[[], ExtendedTorchModule]
Penalised = Callable[[Any, float, torch.Tensor], torch.Tensor]
"""From a stack, the part of its training that is over, and its losses to what is minimised."""


def two_layers(
    rows: ProblemRows, clock: Clock, seed: int, *, first: str, second: str, hidden: int,
    rate: float, penalty: float, starts: int, steps: int,
) -> Reply:  # fmt: skip
    """Train two layers of units; weights are pulled to whole numbers in the second half."""
    options: dict[str, Any] = {"nac_oob": "clip", "regualizer_shape": "linear"}
    size = rows.x.shape[1]

    def build() -> ExtendedTorchModule:
        return SimpleFunctionStaticNetwork(second, size, hidden, first_layer=first, **options)

    def step(model: ExtendedTorchModule, part: float, loss: torch.Tensor) -> torch.Tensor:
        pulled = penalty * min(1.0, max(0.0, 4 * part - 2))
        return loss + pulled * model.regualizer({"W"})["W"] if pulled else loss

    def replies(model: Any) -> list[Reply]:
        """Return a network as trained, with whole numbers for weights of layer 1, and for all."""
        found, state = [], model.state_dict()
        for rounded in ((), ("layer_1",), ("layer_1", "layer_2")):
            one = build()
            one.load_state_dict(
                {n: w.round() if n.startswith(rounded) else w for n, w in state.items()}
            )
            found.append(_read(one.eval(), rows))
        return found

    return _best(rows, clock, seed, build, starts, steps, rate, step, replies)


def _best(
    rows: ProblemRows, clock: Clock, seed: int, build: Builder, starts: int, steps: int,
    rate: float, penalised: Penalised, replies: Callable[[Any], list[Reply]],
) -> Reply:  # fmt: skip
    """Train stacks, one after another, and return the best reply of the best networks of each.

    Adam trains on batches, and its rate falls to a hundredth as a cosine does.
    """
    x, y = torch.as_tensor(rows.x), torch.as_tensor(rows.y)[:, None]
    valid_x, valid_y = torch.as_tensor(rows.valid_x), torch.as_tensor(rows.valid_y)
    scale, best, attempt = y.var(), NOTHING, 0
    while best.error > PERFECT and not clock.is_over:
        torch.manual_seed(1000 * seed + attempt)
        model: Any = stack_models([build() for _ in range(starts)])
        optimizer = torch.optim.Adam(model.parameters(), lr=rate)
        for count in range(steps):
            if not clock.goes_on():
                break
            part = count / steps
            optimizer.param_groups[0]["lr"] = rate * (0.505 + 0.495 * math.cos(math.pi * part))
            batch = torch.randint(len(x), (BATCH,))
            loss = ((model(x[batch]) - y[batch]) ** 2).mean((-2, -1)) / scale
            optimizer.zero_grad()
            # A start that has diverged keeps no other one from learning.
            torch.where(loss.isfinite(), penalised(model, part, loss), 0.0).sum().backward()
            for parameter in model.parameters():
                if parameter.grad is not None:
                    parameter.grad.nan_to_num_(0.0, 0.0, 0.0)
            optimizer.step()
            model.optimize(loss.detach())
        with torch.no_grad():
            errors = ((model(valid_x)[..., 0] - valid_y) ** 2).mean(-1).nan_to_num(math.inf)
        for run in torch.argsort(errors, stable=True).tolist()[:MOST_READ]:
            one = build()
            one.load_state_dict(run_state(model.state_dict(), run))
            best = min(best, *replies(one.eval()), key=lambda reply: reply.error)
        attempt += 1
    return best


def _answers(model: torch.nn.Module) -> Callable[[np.ndarray], np.ndarray]:
    def predict(x: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            return model(torch.as_tensor(x))[:, 0].numpy()

    return predict


def _read(model: ExtendedTorchModule, rows: ProblemRows) -> Reply:
    """Return the reply of a network whose formula can be read."""

    def formula(symbols: list[sympy.Symbol]) -> Any:
        # Outside of their training range, inputs of all problems are positive.
        read = NetworkFormula(model, len(symbols)).read(((0.5, 1.0),) * len(symbols), rounded=False)
        return read.exprs[0].xreplace(dict(zip(read.symbols, symbols, strict=True)))

    return Reply.of(rows, _answers(model), formula)


def eql(
    rows: ProblemRows, clock: Clock, seed: int, *, layers: int, width: int, l1: float, rate: float,
    starts: int, steps: int,
) -> Reply:  # fmt: skip
    """Train equations that end in a division, through their three phases."""

    def build() -> ExtendedTorchModule:
        return EQLDivLayer(rows.x.shape[1], 1, layers=layers, width=width, l1=l1, iterations=steps)

    def step(model: Any, part: float, loss: torch.Tensor) -> torch.Tensor:
        model.tau.data.fill_(part * steps)
        return loss + model.regualizer({"g"})["g"]

    return _best(rows, clock, seed, build, starts, steps, rate, step, lambda m: [_read(m, rows)])


def eml(
    rows: ProblemRows, clock: Clock, seed: int, *, depth: int, rate: float, starts: int, steps: int,
    temperatures: list[float],
) -> Reply:  # fmt: skip
    """Train trees while choices get harder, then make them; one after another, blind."""
    warm, cold = temperatures

    def build() -> ExtendedTorchModule:
        return EMLLayer(rows.x.shape[1], 1, depth=depth)

    def step(model: Any, part: float, loss: torch.Tensor) -> torch.Tensor:
        model.temperature = warm * (cold / warm) ** max(0.0, 2 * part - 1) ** 2
        return loss

    def replies(model: Any) -> list[Reply]:
        model.temperature = cold
        made: Any = build()
        made.load_state_dict(model.state_dict())
        made.snap()
        tree = made.expression([f"x{k}" for k in range(1, rows.x.shape[1] + 1)])
        function = {"eml": lambda a, b: sympy.exp(a) - sympy.log(b)}
        hard = Reply.of(rows, _answers(made), _written(tree, "x1", function))
        return [Reply.of(rows, _answers(model)), hard]

    return _best(rows, clock, seed, build, starts, steps, rate, step, replies)
