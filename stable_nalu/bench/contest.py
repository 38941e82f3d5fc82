"""A contest: a formula to learn, who learns it, the CPU time, and whether it was recovered.

A contest has a problem, a contestant and a seed, and becomes a row of the table. A formula is
recovered if it is the target once its constants are rounded to 4 digits. A contestant is a function
of rows and clock that returns what it learned. Other families of models come first, then networks
of this package, which train several initialisations as one stack.
"""

import copy
import math
import operator
import os
import signal
import time
import tomllib
import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import mpmath
import numpy as np
import sympy
import torch

from stable_nalu.abstract import ExtendedTorchModule, run_state, stack_models
from stable_nalu.base.errors import in_words
from stable_nalu.base.files import cells_of
from stable_nalu.inspection.formula import ALGEBRA, NO_NUMBERS, NetworkFormula
from stable_nalu.layer.equations import EMLLayer, EQLDivLayer
from stable_nalu.network.arithmetic import SimpleFunctionStaticNetwork

TRAINING, VALIDATION, TEST, PROBES = 1024, 1024, 4096, 16
"""Rows that are trained on, that settings and restarts are chosen by, of each test, and those
outside of the training range, the same for all seeds, by which answers are compared."""


def formula_of(text: str, names: dict[str, Any]) -> Any:
    return cast(Any, sympy.sympify)(text, locals=names)


@dataclass(frozen=True)
class ProblemRows:
    """What a contestant is given: inputs `(rows, inputs)`, targets `(rows,)`, and its seed."""

    seed: int
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
        return self.inputs.split()

    def ends(self, outside: bool, redundant: int = 0) -> np.ndarray:
        """Return the ends of the ranges of all inputs; one that does not matter has the first."""
        ranges = (self.train, self.outside)[outside].split(",")
        parts = [list(map(float, one.split())) for one in ranges]
        parts *= len(self.names) if len(parts) == 1 else 1
        return np.array(parts + parts[:1] * redundant)

    def symbols(self, redundant: int = 0) -> list[sympy.Symbol]:
        """Return x1, x2, … of all inputs, positive where they are so in both ranges."""
        lows = np.minimum(*(self.ends(where, redundant)[:, 0] for where in (False, True)))
        signs = [{"positive": True} if low > 0 else {"real": True} for low in lows]
        return [sympy.Symbol(f"x{k}", **sign) for k, sign in enumerate(signs, start=1)]

    @cached_property
    def target(self) -> Any:
        return formula_of(self.formula, dict(zip(self.names, self.symbols(), strict=True)))

    def drawn(
        self, random: np.random.Generator, count: int, *, outside: bool = False, redundant: int = 0
    ) -> tuple[np.ndarray, np.ndarray]:
        low, high = self.ends(outside, redundant).T
        x = low + (high - low) * random.random((count, len(low)))
        value = sympy.lambdify(self.symbols(), self.target, "numpy")
        return x, np.asarray(value(*x[:, : len(self.names)].T), float)

    def rows(self, seed: int, noise: float = 0.0, redundant: int = 0) -> ProblemRows:
        """Return the rows of a seed, which are the same for every contestant.

        noise: its standard deviation, as a share of the targets' standard deviation.
        """
        random = np.random.default_rng([seed, self.number])
        x, y = self.drawn(random, TRAINING + VALIDATION, redundant=redundant)
        y = y + noise * y.std() * random.standard_normal(len(y))
        return ProblemRows(seed, x[:TRAINING], y[:TRAINING], x[TRAINING:], y[TRAINING:])

    def probes(self, redundant: int) -> np.ndarray:
        """Return the points by which answers are compared."""
        random = np.random.default_rng(self.number)
        return self.drawn(random, PROBES, outside=True, redundant=redundant)[0]

    @property
    def number(self) -> int:
        return zlib.crc32(self.key.encode())


PROBLEMS = {row["key"]: Problem(**row) for row in cells_of(Path(__file__).with_name("tasks.csv"))}
POINTS, DIGITS, CLOSE = 100, 4, 1e-9
LARGEST_DENOMINATOR = 12
MOST_SIZE = 150
"""Parts of a formula from which on no algebra is tried."""
SECONDS = 20.0
NUMBERS = f"equal to 9 digits at {POINTS} points of each range"


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise TimeoutError in a block that takes more CPU time; in the main thread of a process."""

    def stop(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _size(formula: Any) -> int:
    return sum(1 for _ in sympy.preorder_traversal(formula))


def recovered(formula: Any, problem: Problem) -> str:
    """Return how a formula was shown to be the target after rounding, or nothing."""
    failures = (TimeoutError, RecursionError, TypeError, ValueError, ArithmeticError)
    with suppress(*failures), at_most(SECONDS):
        for form in _forms(formula):
            rounded = _with_rounded_constants(form, problem.target)
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
    if _size(formula) > MOST_SIZE:
        return
    expanded = sympy.expand(formula)
    yield expanded
    above, below = map(sympy.expand, sympy.fraction(sympy.together(expanded)))
    numbers = [abs(term.as_coeff_Mul()[0]) for term in sympy.Add.make_args(below)]
    yield sympy.expand(above / max(numbers)) / sympy.expand(below / max(numbers))
    numbers = [n for n in numbers if n > 1e-4 * max(numbers)]
    yield sympy.expand(above / min(numbers)) / sympy.expand(below / min(numbers))


def _with_rounded_constants(formula: Any, target: Any) -> Any:
    """Return a formula with every constant rounded; one as near to the target's becomes that."""
    near = [sympy.Mul(*[arg for arg in sympy.Mul.make_args(target) if arg.is_number])]
    near += [a for a in sympy.preorder_traversal(target) if a.is_number and not a.is_Rational]
    near += [target.as_coeff_Mul()[0], *(arg.as_coeff_Mul()[0] for arg in target.args)]
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
    for known in (*near, *turns):
        for signed in (known, -known):
            if abs(value - float(signed)) <= half * abs(value):
                return signed
    fraction = Fraction(value).limit_denominator(LARGEST_DENOMINATOR)
    if abs(value - fraction) <= half * abs(value):
        return sympy.Rational(fraction.numerator, fraction.denominator)
    return sympy.Rational(f"{value:.{DIGITS - 1}e}")


def _agree(formula: Any, problem: Problem, count: int) -> bool:
    """Return whether a formula is the target at points of both ranges, in 30 digits."""
    if formula.has(*NO_NUMBERS):
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


SOLVED = 1e-9
"""Error outside of the training range, as a share of the variance, below which it is solved."""
RECOVERABLE = 1e-2
"""That error from which on no formula can be the target after rounding to 4 digits."""
SAME = 1e-4
"""How far a formula may be from the answers that it stands for, as a share of their spread."""
LONGEST = 2000
"""Letters of a formula that are kept."""

Row = dict[str, Any]
IDENTITY = ("task", "contestant", "seed", "seconds", "noise", "redundant")
COLUMNS = (
    *(*IDENTITY, "status", "inside", "outside", "recovered", "nodes", "cpu", "steps", "ended"),
    *("probes", "formula", "library", "processor"),
)
PACKAGES = {"sklearn": "scikit-learn", "kan": "pykan", "yaml": "PyYAML"}


class Clock:
    """The CPU time of a contest, in steps: units of work that a contestant asks for one by one.

    A step is granted while one as long as the longest so far still fits. A contest whose number of
    steps is known is repeated by it, and ends where it has ended, on any machine.
    """

    def __init__(self, seconds: float, steps: int | None = None):
        self.seconds, self.steps, self.is_over = seconds, 0, False
        self._most, self._start = steps, time.process_time()
        self._last, self._longest = self._start, 0.0

    @property
    def used(self) -> float:
        return time.process_time() - self._start

    @property
    def left(self) -> float:
        return self.seconds - self.used

    def goes_on(self) -> bool:
        """Return whether there is time for another step, and count it."""
        now = time.process_time()
        if self.steps:
            self._longest = max(self._longest, now - self._last)
        self._last = now
        if self._most is None:
            self.is_over = now + self._longest > self._start + self.seconds
        else:
            self.is_over = self.steps >= self._most
        self.steps += not self.is_over
        return not self.is_over


@dataclass
class Reply:
    """What was learned: the error it was chosen by, answers, and what makes a formula, if any."""

    error: float
    predict: Callable[[np.ndarray], np.ndarray]
    formula: Callable[[list[sympy.Symbol]], Any] | None = None

    @classmethod
    def of(cls, rows: ProblemRows, predict: Any, formula: Any = None) -> "Reply":
        """Return a reply with its error on the rows for validation."""
        return cls(scaled_error(predict, rows.valid_x, rows.valid_y), predict, formula)


NOTHING = Reply(math.inf, lambda x: np.full(len(x), np.nan))


def scaled_error(predict: Any, x: np.ndarray, y: np.ndarray) -> float:
    """Return the mean square error as a share of the variance; infinite where it is no number."""
    with np.errstate(all="ignore"):
        error = float(np.mean((predict(x) - y) ** 2) / np.var(y))
    return error if math.isfinite(error) else math.inf


@dataclass(frozen=True)
class Contestant:
    """A family of models, as contestants.toml says."""

    name: str
    plays: str
    settings: dict[str, Any]
    given: str
    learned: str
    source: str
    needs: list[str] = field(default_factory=list)
    formula: bool = True

    @property
    def missing(self) -> list[str]:
        return [PACKAGES.get(name, name) for name in self.needs if find_spec(name) is None]

    @property
    def library(self) -> str:
        package = PACKAGES.get(self.needs[0], self.needs[0]) if self.needs else "torch"
        return f"{package} {metadata.version(package)}"

    def play(self, rows: ProblemRows, clock: Clock) -> Reply:
        return PLAYERS[self.plays](rows, clock, **self.settings)


_TABLE = tomllib.loads(Path(__file__).with_name("contestants.toml").read_text(encoding="utf-8"))
CONTESTANTS = {name: Contestant(name, **entry) for name, entry in _TABLE.items()}


def contest(identity: Row, steps: int | None = None) -> Row:
    """Hold a contest and return its row; a contestant that fails is a result."""
    problem, contestant = PROBLEMS[identity["task"]], CONTESTANTS[identity["contestant"]]
    seed, redundant = identity["seed"], identity["redundant"]
    rows = problem.rows(seed, identity["noise"], redundant)
    np.random.seed(seed)  # Some libraries draw from it, whatever seed they are given.
    clock = Clock(identity["seconds"], steps)
    try:
        reply, status = contestant.play(rows, clock), "answered"
    except Exception as error:  # Of foreign code, whatever it is.
        reply, status = NOTHING, f"failed: {in_words(error)}"
    row = identity | {"cpu": round(clock.used, 2), "steps": clock.steps}
    row |= {"ended": "by time" if clock.is_over else "by itself", "library": contestant.library}
    return row | _judged(reply, problem, seed, redundant, status)


def _judged(reply: Reply, problem: Problem, seed: int, redundant: int, status: str) -> dict:
    """Return the columns of a reply: its errors, and its formula, if that is the target."""
    random = np.random.default_rng([seed, problem.number, 1])
    tests = [
        problem.drawn(random, TEST, outside=where, redundant=redundant) for where in (False, True)
    ]
    probes = problem.probes(redundant)
    try:
        inside, outside = (scaled_error(reply.predict, x, y) for x, y in tests)
        answers = reply.predict(probes)
    except Exception as error:
        inside = outside = math.inf
        answers, status = NOTHING.predict(probes), f"failed: {in_words(error)}"
    if status == "answered" and not math.isfinite(outside):
        status = "diverged"
    row = {"status": status, "inside": f"{inside:.9e}", "outside": f"{outside:.9e}"}
    row |= {"probes": " ".join(f"{value:.4g}" for value in answers)}
    row |= {"recovered": "", "nodes": "", "formula": ""}
    if reply.formula is None:
        return row
    symbols = problem.symbols(redundant)
    try:
        formula: Any = sympy.sympify(reply.formula(symbols))
        row |= {"nodes": _size(formula), "formula": str(sympy.N(formula, 8))[:LONGEST]}
        gap = np.abs(values_of(formula, symbols, probes) - answers).max()
        if max(inside, outside) < RECOVERABLE and gap <= SAME * (np.ptp(answers) + 1e-9):
            row["recovered"] = recovered(formula, problem)
    except Exception as error:
        row["status"] = f"no formula: {in_words(error)}"
    return row


Formula = Callable[[list[sympy.Symbol]], Any]
PERFECT = 1e-12
"""Error on the rows for validation from which on nobody looks for a better answer."""
_SECONDS_OF_A_FIT = 1.0
"""CPU time in which pykan fits one function of its library to one edge."""


def boosting(rows: ProblemRows, clock: Clock, *, patience: int, most: int) -> Reply:
    """Add trees until the last `patience` trees have not lowered the error."""
    from sklearn.ensemble import GradientBoostingRegressor

    model = GradientBoostingRegressor(n_estimators=0, warm_start=True, random_state=rows.seed)
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


def perceptron(rows: ProblemRows, clock: Clock, *, hidden: list[int], patience: int) -> Reply:
    """Train until the last `patience` epochs have not lowered the error."""
    from sklearn.neural_network import MLPRegressor

    centre, spread = rows.x.mean(0), rows.x.std(0)
    level, scale = rows.y.mean(), rows.y.std()
    model = MLPRegressor(hidden_layer_sizes=hidden, random_state=rows.seed)
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


def gplearn(rows: ProblemRows, clock: Clock, *, generations: int, functions: list[str]) -> Reply:
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
            random_state=1000 * rows.seed + attempt,
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
    rows: ProblemRows, clock: Clock, *, symbols: str, iterations: int, patience: int
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
            model.random_state = 1_000_000 * rows.seed + 1000 * attempt + part
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
    rows: ProblemRows, clock: Clock, *, hidden: int, grid: int, lamb: float, library: list[str]
) -> Reply:
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
            width=[x.shape[1], hidden, 1],
            grid=grid,
            k=3,
            seed=rows.seed,
            auto_save=False,
            grid_range=[float(x.min()), float(x.max())],
            ckpt_path=folder,
            symbolic_enabled=named,
        )
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
    rows: ProblemRows,
    clock: Clock,
    *,
    first: str,
    second: str,
    hidden: int,
    penalty: float,
    **fit: Any,
) -> Reply:
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

    return _best(rows, clock, build, step, replies, **fit)


def _best(
    rows: ProblemRows,
    clock: Clock,
    build: Builder,
    penalised: Penalised,
    replies: Callable[[Any], list[Reply]],
    *,
    rate: float,
    starts: int,
    steps: int,
) -> Reply:
    """Train stacks, one after another, and return the best reply of the best networks of each.

    Adam trains on batches, and its rate falls to a hundredth as a cosine does.
    """
    x, y = torch.as_tensor(rows.x), torch.as_tensor(rows.y)[:, None]
    valid_x, valid_y = torch.as_tensor(rows.valid_x), torch.as_tensor(rows.valid_y)
    scale, best, attempt = y.var(), NOTHING, 0
    while best.error > PERFECT and not clock.is_over:
        torch.manual_seed(1000 * rows.seed + attempt)
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
    rows: ProblemRows, clock: Clock, *, layers: int, width: int, l1: float, **fit: Any
) -> Reply:
    """Train equations that end in a division, through their three phases."""

    def build() -> ExtendedTorchModule:
        return EQLDivLayer(
            rows.x.shape[1], 1, layers=layers, width=width, l1=l1, iterations=fit["steps"]
        )

    def step(model: Any, part: float, loss: torch.Tensor) -> torch.Tensor:
        model.tau.data.fill_(part * fit["steps"])
        return loss + model.regualizer({"g"})["g"]

    return _best(rows, clock, build, step, lambda m: [_read(m, rows)], **fit)


def eml(
    rows: ProblemRows, clock: Clock, *, depth: int, temperatures: list[float], **fit: Any
) -> Reply:
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

    return _best(rows, clock, build, step, replies, **fit)


PLAYERS = {
    player.__name__: player
    for player in (boosting, perceptron, gplearn, operon, kan, two_layers, eql, eml)
}
"""What contestants.toml calls the functions by which they learn."""
