"""A contest: a formula to learn, who learns it, the CPU time, and whether it was recovered.

A contest is of a problem, a contestant and a seed, and makes a row of the table. A formula is
recovered if it is the target once its constants are rounded to 4 digits.
"""

import math
import signal
import time
import tomllib
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

import mpmath
import numpy as np
import sympy

from stable_nalu.base.errors import in_words
from stable_nalu.base.files import cells_of
from stable_nalu.inspection.agreement import NO_NUMBERS
from stable_nalu.inspection.formula import ALGEBRA

TRAINING, VALIDATION, TEST, PROBES = 1024, 1024, 4096, 16
"""Rows that are trained on, that settings and restarts are chosen by, of each test, and those
outside of the training range, the same for all seeds, by which answers are compared."""


def formula_of(text: str, names: dict[str, Any]) -> Any:
    """Return a formula that is written over names of inputs and functions."""
    return cast(Any, sympy.sympify)(text, locals=names)


@dataclass(frozen=True)
class ProblemRows:
    """What a contestant is given: inputs `(rows, inputs)` and targets `(rows,)`."""

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
        """Return the names of the inputs in the formula."""
        return self.inputs.split()

    def ends(self, outside: bool, redundant: int = 0) -> np.ndarray:
        """Return the ends of the ranges of all inputs; one that does not matter has the first."""
        parts = [
            list(map(float, p.split())) for p in (self.train, self.outside)[outside].split(",")
        ]
        parts *= len(self.names) if len(parts) == 1 else 1
        return np.array(parts + parts[:1] * redundant)

    def symbols(self, redundant: int = 0) -> list[sympy.Symbol]:
        """Return x1, x2, … of all inputs, positive where they are so in both ranges."""
        lows = np.minimum(*(self.ends(where, redundant)[:, 0] for where in (False, True)))
        signs = [{"positive": True} if low > 0 else {"real": True} for low in lows]
        return [sympy.Symbol(f"x{k}", **sign) for k, sign in enumerate(signs, start=1)]

    @cached_property
    def target(self) -> Any:
        """Return the formula over `symbols`."""
        return formula_of(self.formula, dict(zip(self.names, self.symbols(), strict=True)))

    def drawn(
        self, random: np.random.Generator, count: int, *, outside: bool = False, redundant: int = 0
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return inputs and targets."""
        low, high = self.ends(outside, redundant).T
        x = low + (high - low) * random.random((count, len(low)))
        value = sympy.lambdify(self.symbols(), self.target, "numpy")
        return x, np.asarray(value(*x[:, : len(self.names)].T), float)

    def rows(self, seed: int, noise: float = 0.0, redundant: int = 0) -> ProblemRows:
        """Return the rows of a seed, which are the same for every contestant.

        noise: its standard deviation, as a share of that of the targets.
        """
        random = np.random.default_rng([seed, self.number])
        x, y = self.drawn(random, TRAINING + VALIDATION, redundant=redundant)
        y = y + noise * y.std() * random.standard_normal(len(y))
        return ProblemRows(x[:TRAINING], y[:TRAINING], x[TRAINING:], y[TRAINING:])

    def probes(self, redundant: int) -> np.ndarray:
        """Return the points by which answers are compared."""
        random = np.random.default_rng(self.number)
        return self.drawn(random, PROBES, outside=True, redundant=redundant)[0]

    @property
    def number(self) -> int:
        """Return a number that random rows depend on."""
        return zlib.crc32(self.key.encode())


PROBLEMS = {row["key"]: Problem(**row) for row in cells_of(Path(__file__).with_name("tasks.csv"))}


POINTS, DIGITS, CLOSE = 100, 4, 1e-9
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
    if size_of(formula) > MOST_SIZE:
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
        """Return the CPU seconds so far, of all threads."""
        return time.process_time() - self._start

    @property
    def left(self) -> float:
        """Return the CPU seconds that are left."""
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
        """Return the packages that are not installed."""
        return [PACKAGES.get(name, name) for name in self.needs if find_spec(name) is None]

    @property
    def library(self) -> str:
        """Return the library that it is of, with its version."""
        package = PACKAGES.get(self.needs[0], self.needs[0]) if self.needs else "torch"
        return f"{package} {metadata.version(package)}"

    def play(self, players: object, rows: ProblemRows, clock: Clock, seed: int) -> Reply:
        """Learn from the rows until the clock stops, by the function of the players."""
        return getattr(players, self.plays)(rows, clock, seed, **self.settings)


_TABLE = tomllib.loads(Path(__file__).with_name("contestants.toml").read_text(encoding="utf-8"))
CONTESTANTS = {name: Contestant(name, **entry) for name, entry in _TABLE.items()}


def contest(identity: dict[str, Any], players: object, steps: int | None = None) -> dict[str, Any]:
    """Hold a contest and return its row; a contestant that fails is a result.

    players: has the functions by which contestants learn.
    """
    problem, contestant = PROBLEMS[identity["task"]], CONTESTANTS[identity["contestant"]]
    seed, redundant = identity["seed"], identity["redundant"]
    rows = problem.rows(seed, identity["noise"], redundant)
    np.random.seed(seed)  # Some libraries draw from it, whatever seed they are given.
    clock = Clock(identity["seconds"], steps)
    try:
        reply, status = contestant.play(players, rows, clock, seed), "answered"
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
    row |= {"recovered": "", "nodes": "", "formula": ""}
    row |= {"probes": " ".join(f"{value:.4g}" for value in answers)}
    if reply.formula is None:
        return row
    symbols = problem.symbols(redundant)
    try:
        formula: Any = sympy.sympify(reply.formula(symbols))
        row |= {"nodes": size_of(formula), "formula": str(sympy.N(formula, 8))[:LONGEST]}
        gap = np.abs(values_of(formula, symbols, probes) - answers).max()
        if max(inside, outside) < RECOVERABLE and gap <= SAME * (np.ptp(answers) + 1e-9):
            row["recovered"] = recovered(formula, problem)
    except Exception as error:
        row["status"] = f"no formula: {in_words(error)}"
    return row
