"""One contest: a contestant, a problem, a seed and its CPU time; and its row in the table."""

from __future__ import annotations

import math
import time
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module, metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import sympy

from stable_nalu.errors import in_words

from .recovered import recovered, size_of, values_of
from .tasks import PROBLEMS, TEST, Problem, ProblemRows

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
    def of(cls, rows: ProblemRows, predict: Any, formula: Any = None) -> Reply:
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

    def play(self, rows: ProblemRows, clock: Clock, seed: int) -> Reply:
        """Learn from the rows until the clock stops."""
        module, _, function = self.plays.partition(":")
        player = getattr(import_module(f"{__package__}.{module}"), function)
        return player(rows, clock, seed, **self.settings)


_TABLE = tomllib.loads(Path(__file__).with_name("contestants.toml").read_text(encoding="utf-8"))
CONTESTANTS = {name: Contestant(name, **entry) for name, entry in _TABLE.items()}


def contest(identity: dict[str, Any], steps: int | None = None) -> dict[str, Any]:
    """Hold a contest and return its row; a contestant that fails is a result."""
    problem, contestant = PROBLEMS[identity["task"]], CONTESTANTS[identity["contestant"]]
    seed, redundant = identity["seed"], identity["redundant"]
    rows = problem.rows(seed, identity["noise"], redundant)
    np.random.seed(seed)  # Some libraries draw from it, whatever seed they are given.
    clock = Clock(identity["seconds"], steps)
    try:
        reply, status = contestant.play(rows, clock, seed), "answered"
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
        told = reply.predict(probes)
    except Exception as error:
        inside = outside = math.inf
        told, status = NOTHING.predict(probes), f"failed: {in_words(error)}"
    if status == "answered" and not math.isfinite(outside):
        status = "diverged"
    row = {"status": status, "inside": f"{inside:.9e}", "outside": f"{outside:.9e}"}
    row |= {"recovered": "", "nodes": "", "formula": ""}
    row |= {"probes": " ".join(f"{value:.4g}" for value in told)}
    if reply.formula is None:
        return row
    symbols = problem.symbols(redundant)
    try:
        formula: Any = sympy.sympify(reply.formula(symbols))
        row |= {"nodes": size_of(formula), "formula": str(sympy.N(formula, 8))[:LONGEST]}
        gap = np.abs(values_of(formula, symbols, probes) - told).max()
        if max(inside, outside) < RECOVERABLE and gap <= SAME * (np.ptp(told) + 1e-9):
            row["recovered"] = recovered(formula, problem)
    except Exception as error:
        row["status"] = f"no formula: {in_words(error)}"
    return row
