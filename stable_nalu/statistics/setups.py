"""When a run counts as solved, by setup files or a threshold, and how means are made of many.

One rule for all programs, with its flags. Training scripts use it, too, so nothing here is slow to
import.
"""

import argparse
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from stable_nalu.base.errors import OptionError, UsageError, did_you_mean
from stable_nalu.base.files import data_file, table_rows
from stable_nalu.base.papers import FLAT
from stable_nalu.options.flag import number
from stable_nalu.options.run_names import canonical, parse_leaf

from .names import config_columns, is_arithmetic, is_single_module

if TYPE_CHECKING:
    import pandas as pd

    from stable_nalu.options import Config


SHIPPED = (
    *map(data_file, ("exp_setups.csv", "function_task_static_mse_expectation.csv")),
    Path(__file__).parents[1] / "paper/published_thresholds.csv",
)

BEST_RANGE = 5000
"""A run is judged at the lowest validation error among so many last rows."""

BENCHMARK = "benchmark"
"""The parameter of rows for runs of the script `single_layer_benchmark` alone."""

DMU = "dmu"
"""The parameter of rows that count only where they are asked for: those of the DMU's repository."""

SMALL_DIVISORS = "zero.range"
"""What the parameters of rows for division by small numbers begin with."""

ROUNDING = 2.0**-8
"""Part by which the error of exact weights may exceed its threshold; see `Limit`."""
_NUMBERS = ("input.size", "subset.ratio", "overlap.ratio", "epsilon")
_KEYS = ("operation", "parameter", "simple", *_NUMBERS, "extrapolation.range")
_SUFFIXES = {"realnpu": ".realnpu", "signnmru": ".nmru", "nmru": ".nmru", "gatedsignnmru": ".nmru"}

SetupCells = dict[str, Any]
"""A row of a setup file."""


class Limit(NamedTuple):
    """When a run counts as solved: its test error is below `threshold`, or `inclusive`ly at it.

    An inclusive threshold is the error of exact weights as PyTorch rounds. The engine leaves up to
    0.2 % more with the same weights, which `ROUNDING` allows for; docs/performance.md counts the
    runs that it decides.
    """

    threshold: float
    inclusive: bool = False

    def met(self, errors: Any) -> Any:
        """Return whether an error, or which of an array, is low enough; a missing one is not."""
        if self.inclusive:
            return errors <= self.threshold * (1 + ROUNDING)
        return errors < self.threshold


def read_setups(paths: Iterable[Path]) -> list[SetupCells]:
    """Return the rows of all files; `threshold` is `epsilon` where a file has none."""
    return [row for path in paths for row in _read(path)]


def _read(path: Path) -> list[SetupCells]:
    lines = table_rows(path)
    header = next(lines, [])
    if lacking := [column for column in _KEYS if column not in header]:
        problem = f"it has no column {', '.join(lacking)}"
        raise UsageError(f"{path} is not a table of thresholds: {problem}")
    rows = []
    for place, cells in enumerate(lines, 1):
        row: SetupCells = dict(zip(header, cells, strict=True))
        row.setdefault("threshold", "")
        for column in (*_NUMBERS, "threshold"):
            try:
                row[column] = float(row[column].replace("NA", "") or "nan")
            except ValueError:
                problem = f"column {column} holds {row[column]!r}, no number"
                raise UsageError(f"{path}: row {place}: {problem}") from None
        if math.isnan(row["threshold"]):
            row["threshold"] = row["epsilon"]
        row["extrapolation.range"] = canonical(row["extrapolation.range"])
        rows.append(row)
    return rows


class Thresholds:
    """The lookup of when a run is solved.

    parameter: only rows of this parameter count. `zero.range.easy`, `.medium` and `.hard` stand
        for the row of the run's model, whose suffix may also be given. Without one, all rows count
        that are meant for the script and the model of the run.
    otherwise: the threshold of a run that has no row.
    by_input_size: whether runs match only rows of their own input size.
    """

    def __init__(
        self,
        setups: Iterable[SetupCells],
        parameter: str | None = None,
        otherwise: float = math.nan,
        *,
        by_input_size: bool = False,
    ):
        self.parameter = parameter
        self.otherwise = otherwise
        self.by_input_size = by_input_size
        self._found: dict[tuple, list[tuple[str, float]]] = {}
        for row in setups:
            for task in self._tasks(row):
                key = (row["operation"].removeprefix("op-"), row["extrapolation.range"], task)
                self._found.setdefault(key, []).append((row["parameter"], row["threshold"]))

    def of(self, run: Mapping[str, Any]) -> Limit:
        """Return when a run is solved, given its options; NaN if the table does not say it."""
        place = run["operation"], canonical(run["extrapolation.range"])
        keys = [(*place, task) for task in self._tasks(run)]
        # The script of the benchmark is the one whose runs can begin again with new weights.
        if run.get("reinit") in (True, False) and self.parameter is None:
            # What its own rows do not name, such as a range of the user's, may be in others.
            for parameter, threshold in self._found.get(keys[0], []):
                if parameter == BENCHMARK:
                    return Limit(threshold)
        for key in keys:
            for parameter, threshold in self._found.get(key, []):
                if self._counts(parameter, run["model_code"]):
                    return Limit(threshold, parameter.startswith(SMALL_DIVISORS))
        return Limit(self.otherwise)

    def _counts(self, parameter: str, model_code: str) -> bool:
        stem = parameter if self.parameter is None else self.parameter
        if stem.startswith(SMALL_DIVISORS) and (self.parameter is None or stem.count(".") == 2):
            stem = ".".join(stem.split(".")[:3]) + _SUFFIXES.get(model_code, "")
        return parameter == stem and (
            self.parameter is not None or parameter not in (BENCHMARK, DMU)
        )

    def _tasks(self, one: Mapping[str, Any]) -> list[tuple[object, ...]]:
        """Return what rows and runs must share besides operation and range, the closest first.

        All single modules share their rows, whatever the number of idle inputs. The arithmetic data
        set has subsets of one input, too, where it has four, and rows of its own for these.
        """
        size, subset = one["input.size"], one["subset.ratio"]
        if subset is None or math.isnan(subset):
            return [("simple", size)]
        own = ("arithmetic", size, subset, one["overlap.ratio"])
        single = ("single module", size if self.by_input_size else None)
        return [own, single] if is_single_module(size, subset) else [own]


@cache
def usual_thresholds() -> Thresholds:
    """Return the lookup that all programs use where no table and no threshold is given."""
    return Thresholds(read_setups(SHIPPED), otherwise=FLAT)


@dataclass(frozen=True)
class Judgement:
    """How the runs of exported files are judged.

    threshold: taken for every run instead of those of tables.
    parameter: the rows of the tables that count; None: those of a run's script and model.
    setups: tables of thresholds in place of the usual ones; a run without a row is left out then.
        Of a published figure: the name of one that counts where it is exported.
    best_range: number of last rows among which a run is judged.
    by_input_size: whether runs match only rows of their own input size.
    """

    threshold: float | None = None
    parameter: str | None = None
    setups: tuple[Path, ...] = ()
    best_range: int = BEST_RANGE
    by_input_size: bool = False

    def __post_init__(self) -> None:
        """Refuse what a program may give, and no flag accepts."""
        if self.threshold is not None and not (
            isinstance(self.threshold, Real) and float(self.threshold) > 0
        ):
            raise UsageError(f"threshold: {self.threshold!r} is not a number above 0")
        if not (isinstance(self.best_range, int) and self.best_range > 0):
            raise UsageError(f"best_range: {self.best_range!r} is not a whole number above 0")

    def given(self, threshold: float | None, setups: Iterable[Path]) -> "Judgement":
        """Return it as a user asks for: one threshold goes before tables, and both before this."""
        setups = tuple(setups)
        if threshold is not None:
            return Judgement(threshold, best_range=self.best_range)
        return replace(self, threshold=None, setups=setups) if setups else self

    def limits(self, runs: "pd.DataFrame") -> list[Limit]:
        """Return when each run is solved, by its options."""
        if self.threshold is not None:
            return [Limit(self.threshold)] * len(runs)
        thresholds = usual_thresholds()
        if self.setups or self.parameter is not None:
            setups = read_setups(self.setups or SHIPPED)
            thresholds = Thresholds(setups, self.parameter, by_input_size=self.by_input_size)
        return [
            thresholds.of(run) if is_arithmetic(run) else Limit(run.get("threshold", math.nan))
            for run in runs.to_dict("records")
        ]

    def refuse_unknown(self) -> None:
        """Refuse a parameter that no table has rows of."""
        found = {row["parameter"] for row in read_setups(self.setups or SHIPPED)}
        suffixes = tuple(_SUFFIXES.values())
        # Those of every model included.
        known = sorted({*found, *(p.rpartition(".")[0] for p in found if p.endswith(suffixes))})
        if self.threshold is None and self.parameter not in (None, *known):
            problem = f"the tables of thresholds have no rows of {self.parameter!r}"
            hint = did_you_mean(str(self.parameter), known, f"write one of {', '.join(known)}")
            raise OptionError("--parameter", problem, hint)


USUAL = Judgement()


def add_threshold_flags(parser: argparse._ActionsContainer) -> None:
    """Add the flags that say when a run is solved."""
    parser.add_argument(
        "--exp-setups",
        metavar="PATH",
        nargs="+",
        default=[],
        help="tables of thresholds; runs without a row are left out (default: the repository's "
        f"exp_setups.csv and function_task_static_mse_expectation.csv, and {FLAT:g} without a row)",
    )
    parser.add_argument(
        "--threshold",
        metavar="MSE",
        type=number(above=0).one,
        help="one threshold for all runs instead",
    )


def limit_of(run: "Config | str | Mapping[str, Any]", given: float | None = None) -> Limit:
    """Return when a run is solved, by its configuration, name or options; FLAT if they are no task.

    given: a threshold in place of that of the task.
    """
    if given is not None:
        return Limit(given)
    try:
        if isinstance(run, str):
            run = parse_leaf(run.rpartition("/")[2])
        return usual_thresholds().of(run if isinstance(run, Mapping) else config_columns(run))
    except (ValueError, KeyError):
        return Limit(FLAT)


def shared_threshold(runs: Mapping[str, Iterable[float]]) -> float:
    """Return the threshold of a table of judged runs; NaN where they have several."""
    found = {*runs["threshold"]}
    return found.pop() if len(found) == 1 else math.nan


def below(thresholds: Iterable[float]) -> str:
    """Return in words which errors are low enough, by the lowest and the highest threshold."""
    known = list(thresholds)
    ends = sorted({f"{end:.2g}" for end in (min(known), max(known))}, key=float)
    return f"below {' to '.join(ends)}"


GammaFit = Literal["published", "frozen", "profile"]
SparsityFit = Literal["compat", "scaled"]
RESAMPLES = 10_000

LEVEL = 0.05
"""The p value below which a test decides."""


@dataclass(frozen=True)
class Estimators:
    """How means and intervals are made; the defaults are those of the papers.

    gamma_fit, sparsity_fit: see `means.solved_at` and `means.mean_sparsity`.
    plain: whether to add the arithmetic mean and the median with bootstrap intervals, in columns
        `<measure>.plain.<mean or median>[.lower or .upper]`.
    resamples, seed: of the bootstrap.
    goodness_of_fit: whether to add p values of tests of the fitted densities, in the columns
        `<measure>.ks.p`.
    """

    gamma_fit: GammaFit = "published"
    sparsity_fit: SparsityFit = "compat"
    plain: bool = False
    resamples: int = RESAMPLES
    seed: int = 0
    goodness_of_fit: bool = False


PUBLISHED = Estimators()


def add_estimate_flags(parser: argparse._ActionsContainer) -> None:
    """Add the flags that choose how solved-at steps and sparsity errors are estimated."""
    parser.add_argument(
        "--gamma-fit",
        choices=get_args(GammaFit),
        default=PUBLISHED.gamma_fit,
        help="solved at: as the papers, with the sample variance, or by maximum likelihood",
    )
    parser.add_argument(
        "--sparsity-fit",
        choices=get_args(SparsityFit),
        default=PUBLISHED.sparsity_fit,
        help="compat, as the papers, halves all but tiny sparsity errors; scaled does not",
    )
