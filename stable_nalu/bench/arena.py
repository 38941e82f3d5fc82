"""The arena: units of this package beside other families of models, on equal CPU time.

A contest is of a problem, a contestant and a seed; it has a process of its own, and makes a row of
the table, which is written at once. A formula is recovered if it is the target once its constants
are rounded to 4 digits.
"""

import csv
import errno
import io
import itertools
import math
import multiprocessing
import os
import resource
import signal
import time
import tomllib
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from importlib import metadata
from importlib.util import find_spec
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any, cast

import mpmath
import numpy as np
import sympy

from stable_nalu.base.errors import OptionError, UsageError, in_words
from stable_nalu.base.files import (
    atomic_text_file,
    cells_of,
    locked,
    refuse_one_file,
    table_rows,
    tool,
)
from stable_nalu.base.script import (
    ScriptParser,
    bar,
    exit_code,
    plural,
    processor,
    say,
)
from stable_nalu.inspection.agreement import NO_NUMBERS
from stable_nalu.inspection.formula import ALGEBRA
from stable_nalu.options.flag import integer, number, seeds
from stable_nalu.statistics.table import in_columns

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
        """Return the formula over `symbols`."""
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
        """Return the library that it is of, with its version."""
        package = PACKAGES.get(self.needs[0], self.needs[0]) if self.needs else "torch"
        return f"{package} {metadata.version(package)}"

    def play(self, players: object, rows: ProblemRows, clock: Clock, seed: int) -> Reply:
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


ROWS = Path("results", "arena.csv")
SLACK = 60
"""CPU seconds beside those of a contest that its process has to judge a formula."""
PATIENCE = 10
"""Seconds of the wall clock for each CPU second that the process of a contest may use."""
EXIT_DIFFERENT = 1
SAME_AGAIN = ("status", "inside", "outside", "recovered", "formula")
_PRELOADED = {
    "sklearn": ["sklearn.ensemble", "sklearn.neural_network"],
    "gplearn": ["gplearn.genetic"],
    "pyoperon": ["pyoperon.sklearn"],
}
_FROM_OUTSIDE = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)


def main(argv: Sequence[str] | None = None) -> int:
    """Hold the contests that a command line asks for and return the exit code."""
    arguments = _parser().parse_args(argv)
    return exit_code("stable-nalu arena", lambda: _obey(arguments))


def _parser() -> ScriptParser:
    parser = ScriptParser(
        prog="stable-nalu arena",
        description="Units of this package beside other families of models, on formulas: the\n"
        "same rows for everyone, the same CPU seconds on one thread. What is in --rows already\n"
        "is not held again, so a command that was stopped goes on where it was. Other libraries\n"
        "come with pip install 'stable-nalu[arena]'; contestants without theirs are left out.",
    )
    add = parser.add_argument
    add("--list", action="store_true", help="name tasks and contestants, and what is missing")
    for flag, metavar, names, text in (
        ("--tasks", "KEY", list(PROBLEMS), "tasks (all)"),
        ("--contestants", "NAME", list(CONTESTANTS), "who (all)"),
    ):
        add(flag, nargs="+", metavar=metavar, choices=names, default=names, help=text)
    add("--seed", type=seeds.several, metavar="SEEDS", default=[0, 1, 2], help="seeds (0-2)")
    kind = number(above=0, maximum=1e6).one
    add("--seconds", type=kind, metavar="CPU", default=10.0, help="CPU time of a contest (10)")
    text = "noise of training rows: its deviation by that of targets (0)"
    add("--noise", type=number(0).one, nargs="+", metavar="SHARE", default=[0.0], help=text)
    text = "how many more inputs there are, which do not matter (0)"
    add("--redundant", type=integer(0, 100).one, nargs="+", metavar="N", default=[0], help=text)
    add("--jobs", type=integer(1).one, metavar="N", default=1, help="contests at a time (1)")
    add("--rows", type=Path, metavar="CSV", default=ROWS, help=f"where rows are kept ({ROWS})")
    add("--report", type=Path, metavar="HTML", help="write a page about all of --rows")
    add("--report-only", action="store_true", help="hold no contest")
    text = "hold contests of --rows again, by their steps, and compare every digit"
    add("--verify", action="store_true", help=text)
    return parser


def _obey(arguments: Any) -> int:
    if arguments.list:
        return _list()
    identities = _asked(arguments)
    if arguments.report:
        refuse_one_file({"--rows": arguments.rows, "--report": arguments.report})
    kept = read_rows(arguments.rows)
    if arguments.verify:
        return _verify(identities, kept, arguments.jobs)
    if not arguments.report_only:
        with locked(arguments.rows, f"{arguments.rows} is written by another arena; wait for it"):
            kept = read_rows(arguments.rows)
            done = set(map(name_of, kept))
            missing = [one for one in identities if name_of(one) not in done]
            count = len(identities) - len(missing)
            say(f"{plural(len(missing), 'contest')} to run, {count} finished before")
            for row in _held([(one, None) for one in missing], arguments.jobs):
                kept.append(row)
                _write(arguments.rows, kept)
        kept = read_rows(arguments.rows)
    if not kept:
        raise OptionError("--rows", f"{arguments.rows} has no row", "leave out --report-only")
    report = tool("arena")
    say("\n".join(in_columns(*report.summary(kept))))
    if arguments.report:
        try:
            report.write_page(kept, arguments.report)
        except OSError as error:
            problem = f"cannot write {arguments.report}: {error.strerror}"
            raise OptionError("--report", problem, "name another file") from None
        say(f"page {arguments.report}")
    return 0


def _list() -> int:
    columns = ["key", "family", "formula", "train", "outside"]
    tasks = [[getattr(one, column) for column in columns] for one in PROBLEMS.values()]
    who = [
        [c.name, c.given, f"not installed: {', '.join(c.missing)}" if c.missing else c.library]
        for c in CONTESTANTS.values()
    ]
    say("\n".join(in_columns(["task", *columns[1:]], tasks)))
    say("\n" + "\n".join(in_columns(["contestant", "given", "library"], who)))
    return 0


def _asked(arguments: Any) -> list[Row]:
    """Return what tells apart the contests that are asked for; say who cannot take part."""
    names = []
    for name in arguments.contestants:
        if missing := CONTESTANTS[name].missing:
            what = f"{', '.join(missing)} not installed; pip install 'stable-nalu[arena]'"
            say(f"{name} is left out: {what}")
        else:
            names.append(name)
    if not names:
        raise OptionError("--contestants", "nobody is left", "pip install 'stable-nalu[arena]'")
    asked = itertools.product(
        arguments.seed, arguments.noise, arguments.redundant, arguments.tasks, names
    )
    # Whoever is named twice plays once.
    return [
        dict(zip(IDENTITY, (task, name, seed, arguments.seconds, *more), strict=True))
        for seed, *more, task, name in dict.fromkeys(asked)
    ]


def name_of(row: Row) -> tuple[str, ...]:
    """Return what tells a contest from others, as text."""
    return (row["task"], row["contestant"], *(f"{float(row[name]):g}" for name in IDENTITY[2:]))


def read_rows(path: Path) -> list[Row]:
    """Return the rows of a file, which stays as it is, without a last one that has no line end."""
    if not path.exists():
        return []
    foreign = OptionError("--rows", f"{path} is no table of the arena", "name another file")
    try:
        if not (path.is_file() or path.is_dir()):  # A pipe has no end.
            raise OSError(errno.EINVAL, "it is a device, not a file")
        whole, end, begun = path.read_bytes().decode("utf-8-sig").rpartition("\n")
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from None
    except ValueError:
        raise foreign from None
    if not end and ",".join(COLUMNS).startswith(begun):
        return []
    lines = io.StringIO(whole + end, newline="")
    header, *cells = [*table_rows(path, lines)] or [[]]
    if tuple(header) != COLUMNS:
        raise foreign
    rows: list[Row] = [dict(zip(COLUMNS, row, strict=True)) for row in cells]
    for place, row in enumerate(rows, start=1):
        try:
            name_of(row)
        except ValueError as error:
            raise UsageError(f"{path}: row {place}: {error}") from None
    return rows


def _write(path: Path, rows: Sequence[Row]) -> None:
    try:
        with atomic_text_file(path) as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror or error}") from None


def _verify(identities: list[Row], kept: list[Row], jobs: int) -> int:
    found = {name_of(row): row for row in kept}
    work = [(one, int(found[name_of(one)]["steps"])) for one in identities if name_of(one) in found]
    same = 0
    for row in _held(work, jobs):
        old = found[name_of(row)]
        differ = [name for name in SAME_AGAIN if str(row[name]) != old[name]]
        same += not differ
        for name in differ[:1]:
            say(f"{' '.join(name_of(row)[:3])}: {name} was {old[name]}, is {row[name]}")
    say(f"{same} of {plural(len(work), 'row')} are equal in every digit")
    return 0 if same == len(work) else EXIT_DIFFERENT


def _held(work: Sequence[tuple[Row, int | None]], jobs: int) -> Iterator[Row]:
    """Yield the rows of contests as they end; of each, its steps if it is repeated."""
    os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    context = multiprocessing.get_context("forkserver")
    # A server that has imported what contestants need starts each contest at once.
    needs = {n for one, _ in work for n in CONTESTANTS[one["contestant"]].needs}
    libraries = [module for n in sorted(needs) for module in _PRELOADED.get(n, [n])]
    context.set_forkserver_preload([f"{__package__}.rivals", *libraries])
    waiting, running = list(reversed(work)), {}
    try:
        with bar(total=len(work), unit="contests", what="arena") as progress:
            while waiting or running:
                while waiting and len(running) < jobs:
                    receiving, sending = context.Pipe(duplex=False)
                    process = context.Process(target=_hold, args=(*waiting[-1], sending))
                    process.start()
                    sending.close()
                    identity, steps = waiting.pop()
                    end = time.monotonic() + PATIENCE * _most_seconds(identity, steps)
                    running[receiving] = process, identity, end
                first = min(end for *_, end in running.values())
                ready = wait(list(running), max(0, first - time.monotonic()))
                late = [c for c, (*_, end) in running.items() if end <= time.monotonic()]
                for connection in [*ready, *(c for c in late if c not in ready)]:
                    process, identity, _ = running.pop(connection)
                    if connection in ready:
                        row = _received(connection, process, identity)
                    else:
                        process.kill()
                        row = _lost(identity, "no answer, by the wall clock")
                    yield row | {"processor": processor()}
                    progress.update()
    finally:
        for process, *_ in running.values():
            process.kill()


def _most_seconds(identity: Row, steps: int | None) -> int:
    """Return the CPU seconds of a contest's process; to repeat steps may take longer elsewhere."""
    return int(identity["seconds"] * (1 if steps is None else 10)) + SLACK


def _received(connection: Any, process: Any, identity: Row) -> Row:
    try:
        row = connection.recv()
        process.join()
        return row
    except EOFError:
        process.join()
    if -process.exitcode in _FROM_OUTSIDE:
        what = f"{identity['contestant']} on {identity['task']} was killed from outside"
        raise UsageError(f"{what}, or memory ran out; start the same command again")
    name = signal.Signals(-process.exitcode).name if process.exitcode < 0 else process.exitcode
    return _lost(identity, str(name))


def _lost(identity: Row, why: str) -> Row:
    """Return the row of a contest whose process ended without one."""
    row = dict.fromkeys(COLUMNS, "") | {"inside": "inf", "outside": "inf", "steps": 0, "cpu": ""}
    return row | identity | {"status": f"killed: {why}", "ended": "by force"}


def _hold(identity: Row, steps: int | None, connection: Any) -> None:
    """Hold a contest in this process, on one thread, with what libraries print left out."""
    import torch

    for stream in (1, 2):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
    most = _most_seconds(identity, steps)
    resource.setrlimit(resource.RLIMIT_CPU, (most, most + 1))
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    from . import rivals  # It needs the libraries of all contestants.

    connection.send(contest(identity, rivals, steps))
