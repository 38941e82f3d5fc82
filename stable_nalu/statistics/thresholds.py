"""Write the thresholds below which an error counts as solved: one row per task and range."""

import argparse
import itertools
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stable_nalu.base.errors import UsageError
from stable_nalu.base.files import CSV_FOLDER
from stable_nalu.base.papers import FLAT
from stable_nalu.base.script import ScriptParser, adder, exit_code, say
from stable_nalu.dataset import distribution
from stable_nalu.options.flag import integer, number
from stable_nalu.options.run_names import UNION

from .setups import BENCHMARK, SMALL_DIVISORS
from .table import write_table

if TYPE_CHECKING:
    from torch import Tensor

EPSILON = 1e-5

_COMBINE: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "squared": lambda a, _: a * a,
    "root": lambda a, _: np.sqrt(a),
} | {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}
SIMULATED = ("div", "root")
"""Operations without a closed form."""
_AT_ONCE = 20_000


@dataclass(frozen=True)
class ArithmeticTask:
    """A task on the arithmetic data set.

    simple: the subsets are the first two and the first four of four inputs; no ratios.
    subset_ratio, overlap_ratio: size of a subset, and of what both share, as in the data set.
    published: whether the end of a subset is inclusive, as in the papers' thresholds: subsets and
        their overlap are one element longer than in the data set.
    steps: of a sequence of inputs, over which the subsets are summed, too.
    """

    operation: str
    extrapolation_range: distribution.ExtrapolationRange = distribution.ExtrapolationRange(2, 6)
    input_size: int = 100
    subset_ratio: float = 0.25
    overlap_ratio: float = 0.5
    simple: bool = False
    published: bool = True
    steps: int = 1

    def selections(self) -> np.ndarray:
        """Return the exact selection weights A and B, `(2, input_size * steps)`: 0 or 1."""
        size = math.floor(self.subset_ratio * self.input_size)
        overlap = math.floor(self.overlap_ratio * size)
        start, length = size - overlap, size + self.published
        ends = ((0, 2), (0, 4)) if self.simple else ((0, length), (start, start + length))
        places = np.arange(self.input_size)
        every = [(places >= first) & (places < end) for first, end in ends]
        return np.tile(np.array(every, float), self.steps)


def closed_form(task: ArithmeticTask, epsilon: float = EPSILON) -> float:
    """Return the threshold of an operation that is a polynomial: add, sub, mul, squared.

    The first layer of a network that is almost right sums two subsets, z1 = A'x and z2 = B'x, its
    second is exact. Selection weights are 1 - eps inside a subset, eps outside:

        threshold = E (f(A_eps'x, B_eps'x) - f(A'x, B'x))²,    x_i independent, uniform
    """
    a, b = task.selections()
    a_near, b_near = _off_by(a, epsilon), _off_by(b, epsilon)
    x = task.extrapolation_range
    # Mean, variance and fourth central moment of U(a, b), or with a fair random sign; the third
    # moment is 0.
    mean, variance, fourth = (x.a + x.b) / 2, (x.b - x.a) ** 2 / 12, (x.b - x.a) ** 4 / 80
    if x.mirror:
        mean, variance = 0.0, (x.a**2 + x.a * x.b + x.b**2) / 3
        fourth = (x.b**5 - x.a**5) / (5 * (x.b - x.a))
    if task.operation in ("add", "sub"):
        sign = 1 if task.operation == "add" else -1
        error = (a_near - a) + sign * (b_near - b)
        return float(variance * error @ error + (mean * error.sum()) ** 2)
    if task.operation == "squared":
        b, b_near = a, a_near
    # E (x'Mx)² for independent, symmetric x.
    matrix = np.outer(a_near, b_near) - np.outer(a, b)
    form = (matrix + matrix.T) / 2
    rows, trace, diagonal = form.sum(axis=1), np.trace(form), np.diag(form)
    level = mean**2 * form.sum()
    excess = fourth - 3 * variance**2
    return float(
        level**2
        + 4 * mean**2 * variance * rows @ rows
        + 2 * level * variance * trace
        + excess * diagonal @ diagonal
        + variance**2 * (trace**2 + 2 * (form**2).sum())
    )


def _off_by(selection: np.ndarray, epsilon: float) -> np.ndarray:
    return selection + epsilon * (1 - 2 * selection)


def simulate(
    task: ArithmeticTask, epsilon: float = EPSILON, samples: int = 1_000_000, seed: int = 0
) -> tuple[float, float]:
    """Return the threshold of any operation, with its standard error, by `samples` own draws.

    Quotients over a mirrored range have infinite variance, as the divisor goes through 0: their
    simulated threshold means nothing, however many samples.
    """
    exact = task.selections()
    near = _off_by(exact, epsilon)
    rng = np.random.default_rng(seed)
    combine = _COMBINE[task.operation]
    total, squares = 0.0, 0.0
    for start in range(0, samples, _AT_ONCE):
        shape, drawn = (min(_AT_ONCE, samples - start), exact.shape[1]), task.extrapolation_range
        x = rng.uniform(drawn.a, drawn.b, shape)
        if drawn.mirror:
            x *= rng.choice([-1.0, 1.0], shape)
        difference = (combine(*(near @ x.T)) - combine(*(exact @ x.T))) ** 2
        total += difference.sum()
        squares += (difference**2).sum()
    mean = total / samples
    variance = max(squares / samples - mean**2, 0.0)
    return float(mean), math.sqrt(variance / samples)


def single_module(
    operation: str, inputs: int, tested_on: distribution.ExtrapolationRange, epsilon: float
) -> float:
    """Return the mean squared error of a single module whose every weight is epsilon off.

    All |x| of the inputs enter, relevant or not:

        add, sub   eps² (n var|x| + n² (E|x|)²)
        mul        ((1 - eps)² - 1)² (E x²)²                                   two inputs
        div        ((1 - eps)/(1 + eps) - 1)² E x² / (lo hi)                   two inputs
    """
    low, high = sorted((abs(tested_on.a), abs(tested_on.b)))
    square = (low**2 + low * high + high**2) / 3
    if operation in ("add", "sub"):
        mean, variance = (low + high) / 2, (high - low) ** 2 / 12
        return epsilon**2 * (inputs * variance + inputs**2 * mean**2)
    if operation == "mul":
        return ((1 - epsilon) ** 2 - 1) ** 2 * square**2
    return ((1 - epsilon) / (1 + epsilon) - 1) ** 2 * square / (low * high)


REFERENCE_FREEDOM = 8
"""Degrees of freedom of a bound, as in the papers, whatever the number of seeds."""

NOISE_VARIANCE = 0.125


def from_reference(
    errors: Sequence[float], level: float = 0.99, *, of_one_run: bool = False
) -> float:
    """Return mean + t(level, 8) sd / sqrt(m) of m errors.

    errors: test errors of reference networks, which have a solved accumulator, at the row of their
        lowest validation error.
    of_one_run: whether to bound a further run in place of the mean: no division by sqrt(m).
    """
    from scipy.stats import t

    spread = float(np.std(errors, ddof=1)) / (1 if of_one_run else math.sqrt(len(errors)))
    return float(np.mean(errors)) + float(t.ppf(level, REFERENCE_FREEDOM)) * spread


def of_sequence(operation: str, length: int) -> float:
    """Return the mean squared error of a sequence whose digits are read with a variance of 0.125.

    cumprod, digits 1 to 9: mean over t <= L of (q + s)^t - q^t, q the mean square of a digit;
    cumsum: s (L + 1)/2.
    """
    if operation == "cumsum":
        return NOISE_VARIANCE * (length + 1) / 2
    q = 285 / 9
    return sum((q + NOISE_VARIANCE) ** n - q**n for n in range(1, length + 1)) / length


BOUNDS = tuple(10.0**power for power in range(-8, 1))
DIVISIONS: dict[str, tuple[int, str, Callable[[np.ndarray], np.ndarray]]] = {
    "easy": (1, "[a] to 1/a", lambda x: 1 / x[:, 0]),
    "medium": (2, "[a,b] to 1/a", lambda x: 1 / x[:, 0]),
    "hard": (2, "[a,b] to a/b", lambda x: x[:, 0] / x[:, 1]),
}
"""Division by small numbers: task -> number of inputs, the task in words, target."""
_POWERS = {"easy": (-1.0,), "medium": (-1.0, 0.0), "hard": (1.0, -1.0)}
_SELECTED = {"easy": (0.0, 1.0), "medium": (0.0, 0.0, 1.0, 0.0), "hard": (1.0, 0.0, 0.0, 1.0)}
MACHINE_EPSILON = float(np.finfo(np.float32).eps)
_SAMPLES, _SEED = 10_000, 8689336


def _nru(x: "Tensor", w: "Tensor") -> "Tensor":
    return (x**w).prod(dim=-1)


def _real_npu(x: "Tensor", w: "Tensor", epsilon: float = MACHINE_EPSILON) -> "Tensor":
    """Return the output: the gate is open where a weight is not 0, and the sign is always 1."""
    gate = (w != 0).to(x)
    return (((x.abs() + epsilon) * gate + (1 - gate)).log() @ w).exp()


def _nmru(x: "Tensor", w: "Tensor") -> "Tensor":
    both = x.repeat(1, 2)
    both[:, x.shape[1] :] = 1 / x
    return (both * w + 1 - w).prod(dim=-1)


MODULES = {
    "NRU": (_nru, _POWERS, ""),
    "RealNPU": (_real_npu, _POWERS, ".realnpu"),
    "RealNPU (eps=0)": (lambda x, w: _real_npu(x, w, 0.0), _POWERS, None),
    "NMRU": (_nmru, _SELECTED, ".nmru"),
}
"""Label -> module, its weights at the solution of every task, and the end of its thresholds'
parameter in the tables; None if it has none there."""


def residual(module: str, task: str, bound: float) -> float:
    """Return the mean squared error of the exact solution of a division, in float32.

    What remains is rounding and what the module's epsilon does. Inputs are a fixed sample of
    U[0, bound), targets are computed in float64.
    """
    import torch

    predict, weights, _ = MODULES[module]
    inputs, _, target = DIVISIONS[task]
    x = np.random.RandomState(_SEED).uniform(0, bound, size=(_SAMPLES, inputs))
    prediction = predict(torch.from_numpy(x).float(), torch.tensor(weights[task]))
    return float(torch.nn.functional.mse_loss(prediction, torch.from_numpy(target(x)).float()))


def threshold(module: str, task: str, bound: float) -> float:
    """Return the residual error plus the machine epsilon, added in float32."""
    return float(np.float32(residual(module, task, bound)) + np.float32(MACHINE_EPSILON))


def write_residuals(argv: Sequence[str] | None = None) -> int:
    """Write the table of all residuals, as a command line asks for; return the exit code."""
    name = "generate_divBy0_extrap_thresholds.py"
    text = "Write the error that remains when division by small numbers is solved exactly in "
    text += "float32."
    parser = ScriptParser(prog=name, description=text)
    add, usual = adder(parser), CSV_FOLDER / "divBy0_test_errors.csv"
    add("--csv-out PATH", "file to write", type=Path, usual=usual)
    add("--add-eps", "add the float32 machine epsilon: the success thresholds of the figures")
    args = parser.parse_args(argv)

    def write() -> None:
        rows = []
        for module, task, bound in itertools.product(MODULES, DIVISIONS, BOUNDS):
            error = (threshold if args.add_eps else residual)(module, task, bound)
            tested_on = f"U[0,1e{round(np.log10(bound)):+d})"
            names = {"module": module, "parameter": task}
            rows.append(names | {"test.mse": error, "range": tested_on})
            say(f"{module}: {DIVISIONS[task][1]}, {tested_on}: {error}")
        write_table(args.csv_out, rows[0], rows)

    return exit_code(name, write)


SetupRow = dict[str, Any]

COLUMNS = (
    *("operation", "parameter", "simple", "input.size", "subset.ratio", "overlap.ratio"),
    *("range.a", "range.b", "range.mirror", "epsilon", "threshold", "extrapolation.range"),
)
"""`epsilon` is the threshold itself for single modules, and how far weights are off elsewhere."""

SEQUENTIAL_COLUMNS = ("operation", "extrapolation.length", "threshold")

ERROR = "error"
"""Relative standard error of a row's threshold, where that is not exact; not written."""

UNRELIABLE = {1e-5: 4148238.52520315, 1e-3: 6108197.64101774}
"""Published thresholds of quotients over the mirrored range, by epsilon: one draw of something
whose variance is infinite."""


@dataclass(frozen=True)
class ThresholdSettings:
    """How thresholds are computed.

    epsilon: how far weights are off. The first benchmark has 1e-4 in its script and 1e-5 in its
    set-ups; 1e-5 reproduces the published steps of NAU and NMU exactly, 1e-4 does not.
    published: take the papers' subset lengths, one longer than the data set's.
    samples, seed: of what is simulated.
    """

    epsilon: float = EPSILON
    published: bool = True
    samples: int = 1_000_000
    seed: int = 0


def _row(
    parameter: str, task: ArithmeticTask, threshold: float, epsilon: float | None, sign: str = "&"
) -> SetupRow:
    x = task.extrapolation_range
    ratios = (None, None) if task.simple else (task.subset_ratio, task.overlap_ratio)
    errors = (threshold if epsilon is None else epsilon, threshold)
    values = (f"op-{task.operation}", parameter, task.simple, task.input_size, *ratios)
    return dict(zip(COLUMNS, (*values, x.a, x.b, x.mirror, *errors, x.label(sign)), strict=True))


def _flat(operation: str, ranges: Iterable[distribution.ExtrapolationRange]) -> Iterator[SetupRow]:
    for tested_on in ranges:
        task = ArithmeticTask(operation, tested_on, 2, 0.5, 0.0)
        yield _row("extrapolation.range", task, FLAT, None)


def _arithmetic(parameter: str, task: ArithmeticTask, settings: ThresholdSettings) -> SetupRow:
    epsilon, task = settings.epsilon, replace(task, published=settings.published)
    error = 0.0
    if task.operation not in SIMULATED:
        threshold = closed_form(task, epsilon)
    elif task.operation == "div" and task.extrapolation_range.mirror:
        threshold, error = UNRELIABLE.get(epsilon, math.nan), math.inf
    else:
        threshold, deviation = simulate(task, epsilon, settings.samples, settings.seed)
        error = deviation / threshold
    return _row(parameter, task, threshold, epsilon, UNION) | {ERROR: error}


_ARITHMETIC_CASES = (
    *(("default", ArithmeticTask(o)) for o in ("mul", "div", "add", "sub", "root", "squared")),
    *(("simple", ArithmeticTask(o, input_size=4, simple=True)) for o in ("mul", "add", "sub")),
    *(("input.size", ArithmeticTask("mul", input_size=n)) for n in (4, 10, *range(25, 301, 25))),
    *(("subset.ratio", ArithmeticTask("mul", subset_ratio=x)) for x in (0.05, 0.1, 0.25, 0.5)),
    *(("overlap.ratio", ArithmeticTask("mul", overlap_ratio=x)) for x in (0.0, 0.1, 0.25)),
    *(("overlap.ratio", ArithmeticTask("mul", overlap_ratio=x)) for x in (0.5, 0.75, 1.0)),
    *(
        ("extrapolation.range", ArithmeticTask("mul", x))
        for x in distribution.MULTIPLICATION_RANGES
    ),
)
"""What the first studies vary on the arithmetic data set: parameter and task."""

TABLES = {
    "single-layer": "single modules: every operation, nine ranges",
    "division-by-zero": "single modules: division by small numbers",
    "distributions": "single modules: division, input distributions",
    "arithmetic": "arithmetic data set: multiplication, nine ranges",
    "arithmetic-division": "the same for division (simulated)",
    "arithmetic-cases": "arithmetic data set: sizes, ratios, operations",
    "benchmark": "single modules: thresholds of the first benchmark",
    "benchmark-runs": "the same, for runs of single_layer_benchmark alone",
    "sequential": "sequential MNIST; columns of its own, so alone",
}
"""Table -> what its rows are, in words."""

DEFAULT_TABLES = (
    *("single-layer", "division-by-zero", "distributions", "arithmetic", "benchmark-runs"),
)
"""What `exp_setups.csv` holds."""


def rows_of(table: str, settings: ThresholdSettings) -> Iterator[SetupRow]:
    match table:
        case "single-layer":
            for operation in ("add", "div", "mul", "sub"):
                yield from _flat(operation, distribution.EXTRAPOLATION_RANGES)
                if operation == "div":
                    yield from _flat(operation, distribution.EXTRA_DIVISION_RANGES)
        case "division-by-zero":
            for name in reversed(DIVISIONS):
                operation = "div" if name == "hard" else "reciprocal"
                sizes = (1, 1.0, 0.0) if name == "easy" else (2, 0.5, 0.0)
                for module, (_, _, suffix) in MODULES.items():
                    for bound in distribution.SMALL_DIVISOR_BOUNDS if suffix is not None else ():
                        tested_on = distribution.ExtrapolationRange(0, bound)
                        found = threshold(module, name, bound)
                        task = ArithmeticTask(operation, tested_on, *sizes)
                        yield _row(f"{SMALL_DIVISORS}.{name}{suffix}", task, found, None)
        case "distributions":
            yield from _flat("div", distribution.DISTRIBUTION_RANGES)
        case "arithmetic" | "arithmetic-division":
            for tested_on in distribution.EXTRAPOLATION_RANGES:
                task = ArithmeticTask("mul" if table == "arithmetic" else "div", tested_on)
                yield _arithmetic("extrapolation.range", task, settings)
        case "arithmetic-cases":
            yield from (_arithmetic(*case, settings) for case in _ARITHMETIC_CASES)
        case "benchmark" | "benchmark-runs":
            parameter = BENCHMARK if table == "benchmark-runs" else "extrapolation.range"
            cases = [(operation, 2, 0.5) for operation in ("add", "sub", "mul", "div")]
            cases += [(o, n, 1 / n) for n in (10, 100) for o in ("add", "sub")]
            for operation, inputs, ratio in cases:
                for tested_on in distribution.EXTRAPOLATION_RANGES:
                    task = ArithmeticTask(operation, tested_on, inputs, ratio, 0.0)
                    found = single_module(operation, inputs, tested_on, settings.epsilon)
                    yield _row(parameter, task, found, settings.epsilon)
        case "sequential":
            for operation in ("cumprod", "cumsum"):
                for length in range(1, 10):
                    values = (f"op-{operation}", length, of_sequence(operation, length))
                    yield dict(zip(SEQUENTIAL_COLUMNS, values, strict=True))


def collect(names: Iterable[str], settings: ThresholdSettings) -> list[SetupRow]:
    """Return the rows of several tables; a row that two of them share comes once."""
    every = (row for name in names for row in rows_of(name, settings))
    return list({tuple(row.items()): row for row in every}.values())


def main(argv: Sequence[str] | None = None) -> int:
    kinds = "\n".join(f"  {name:<22}{text}" for name, text in TABLES.items())
    example = "python3 export/generate_exp_setups.py --csv-out exp_setups.csv"
    epilog = f"tables:\n{kinds}\n\nexample:\n  {example}"
    parser = ScriptParser(prog="generate_exp_setups.py", description=__doc__, epilog=epilog)
    add = adder(parser.add_argument_group("what to write"))
    add("--csv-out PATH", "file to write", required=True)
    which = {"choices": tuple(TABLES), "default": list(DEFAULT_TABLES)}
    text = f"tables to put into it (default: {' '.join(DEFAULT_TABLES)})"
    add("--tables TABLE ...", text, **which)
    usual = ThresholdSettings()
    text = "how far every weight is from the solution, on the arithmetic data set and in the first "
    text += "benchmark, whose own script had 1e-4"
    adder(parser)("--epsilon X", text, type=number(above=0).one, usual=usual.epsilon)
    text = "take subsets as long as the data set's; the published thresholds, which are the "
    text += "default, take them one longer"
    adder(parser.add_argument_group("arithmetic data set"))("--exact-subsets", text)
    add = adder(parser.add_argument_group("simulated rows (division and root)"))
    add("--samples N", "draws per row", type=integer(2).one, default=usual.samples)
    add("--seed N", type=integer(0).one, default=usual.seed)
    args = parser.parse_args(argv)
    return exit_code("generate_exp_setups.py", lambda: _generate(args))


def _generate(args: argparse.Namespace) -> None:
    if "sequential" in args.tables and len(args.tables) > 1:
        raise UsageError("argument --tables: sequential has columns of its own, write it alone")
    if args.epsilon >= 1:
        raise UsageError(f"argument --epsilon: {args.epsilon:g} is too large; it lies below 1")
    settings = ThresholdSettings(args.epsilon, not args.exact_subsets, args.samples, args.seed)
    found = collect(args.tables, settings)
    columns = SEQUENTIAL_COLUMNS if "sequential" in args.tables else COLUMNS
    write_table(Path(args.csv_out), columns, found)
    errors = [row.get(ERROR, 0.0) for row in found]
    simulated = [error for error in errors if 0 < error < math.inf]
    if simulated:
        most = f"relative standard error up to {max(simulated):.1%}"
        sys.stderr.write(f"simulated: {len(simulated)} rows, {most}\n")
    if math.inf in errors:
        sys.stderr.write("division over a mirrored range has no threshold: published value kept\n")
