"""Options of a run, when it counts as solved, and how means are made of many.

Options come from the record of a run or its name. Models are known by field 1 of a run name, and
have labels in LaTeX. Runs are grouped by labels, so that models with the same label count as one.

There is one rule of success for all programs, by setup files or a threshold, with its flags.
Training scripts use it, too, so nothing here is slow to import.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from stable_nalu.base.errors import OptionError, UsageError, did_you_mean
from stable_nalu.base.files import data_file, table_rows
from stable_nalu.base.papers import FLAT
from stable_nalu.layer import entries
from stable_nalu.options import run_names
from stable_nalu.options.flag import number

if TYPE_CHECKING:
    import pandas as pd

    from stable_nalu.options import Config


MODELS = {key.lower(): entry.shown for key, entry in entries().items()} | {
    "nac-nac-n": r"$\mathrm{NAC}_{\bullet}$",
    "mnac": r"$\mathrm{NAC}_{\bullet}$",
    "posnac-nac-n": r"$\mathrm{NAC}_{\bullet,\sigma}$",
    "reregualizedlinearposnac-nac-n": r"$\mathrm{NAC}_{\bullet,\mathrm{NMU}}$",
    "nalu-gr": "G-NALU",
    "nalu-nalu-2n": "NALU (separate)",
    "reregualizedlinearnac-nac-m": "NMU",
    "reregualizedlinearnalu-nalu-2nm": "Gated NAU/NMU",
    "regualizedlinearnac-nac-m": r"NMU, $\mathbf{W} = \mathbf{\hat{W}}$",
    "sillyreregualizedlinearnac-nac-m": r"NMU, $\mathbf{z} = \mathbf{W} \odot \mathbf{x}$",
    "reregualizedlinearnac-nac-npur": "Real NPU",
    "reregualizedlinearnac-nac-npu": "NPU",
}
"""Field 1 of a run name -> label of published models, and of units of this package."""

NAC_ADD = MODELS["nac"]
NAC_MUL = MODELS["nac-nac-n"]
NAC_MUL_SIGMA = MODELS["posnac-nac-n"]
NAC_MUL_NMU = MODELS["reregualizedlinearposnac-nac-n"]
NAC_ADD_Z = r"$\mathrm{NAC}_{+,R_z}$"
NALU_SHARED = "NALU (shared)"
NALU_SEPARATE = MODELS["nalu-nalu-2n"]
GATED = MODELS["reregualizedlinearnalu-nalu-2nm"]


def ablation_suffix(regualizer: float, regualizer_oob: float) -> str:
    """Return what a label gains when the sparsity penalty or the clamp of weights is off."""
    sparsity = r", no $\mathcal{R}_{sparse}$" if regualizer == 0 else ""
    return sparsity + (", no W-clamp" if regualizer_oob == 0 else "")


OPERATIONS = {
    "mul": (r"$\bm{\times}$", "×"),
    "div": (r"$\bm{\mathbin{/}}$", "/"),
    "add": (r"$\bm{+}$", "+"),
    "sub": (r"$\bm{-}$", "-"),
    "root": (r"$\sqrt{z}$", "√z"),
    "squared": (r"$z^2$", "z²"),
    "reciprocal": (r"$1\bm{\mathbin{/}z}$", "1/z"),
    "cumsum": ("cumsum", "cumsum"),
    "cumprod": ("cumprod", "cumprod"),
}
"""Operation -> LaTeX and plain label, in the order of tables."""


def model_label(code: str) -> str:
    """Return the label of a model, given field 1 of a run name; an unknown one is its own."""
    # Layers of users are there only once their files are loaded.
    units = (entry.shown for key, entry in entries().items() if key.lower() == code)
    return MODELS.get(code) or next(units, code)


def operation_label(operation: str, *, latex: bool = False) -> str:
    """Return the label of an operation, given with or without the prefix `op-`."""
    name = operation.removeprefix("op-")
    return OPERATIONS.get(name, (name, name))[0 if latex else 1]


def model_order(label: str) -> tuple[bool, str]:
    """Return the sort key of a label: LaTeX labels first, then alphabetical."""
    return not label.startswith("$"), label


_OF_MODEL = {"layer.option": "", "nalu.gate.shape": "matrix", "nalu.init": "default"}
"""Column that makes another model of a unit -> its value where it does not."""


def expand_name(name: str, columns: run_names.Columns | None = None) -> run_names.Columns:
    """Return the options of a run, with its name.

    `model` is the label, `model_code` is field 1. Raises ValueError for a name that ends before
    its seed.

    columns: the options; None: those that the name holds.
    """
    columns = dict(columns or run_names.parse_leaf(name))
    if "seed" not in columns:
        raise ValueError(f"run name {name!r} is not of an arithmetic task: it has no seed")
    if is_arithmetic(columns):
        single = is_single_module(columns["input.size"], columns["subset.ratio"])
        columns = run_names.signed(columns, run_names.AMPERSAND if single else run_names.UNION)
    label = model_label(columns["model_code"])
    # A table of runs has empty cells where the script of a run does not have the option.
    own = [columns[n] for n, usual in _OF_MODEL.items() if columns.get(n) not in (None, usual)]
    return {"name": name, "model": f"{label} ({', '.join(own)})" if own else label} | columns


def is_arithmetic(columns: Mapping[str, Any]) -> bool:
    size = columns.get("input.size")
    return size is not None and size == size and "subset.ratio" in columns


def is_single_module(input_size: float, subset_ratio: float | None) -> bool:
    """Return whether the operands are single inputs, that is subsets of size one."""
    return subset_ratio is not None and round(input_size * subset_ratio, 6) == 1


def config_columns(config: "Config") -> run_names.Columns:
    results = [flag.dest for flag in config.spec.flags if flag.result]
    return run_names.columns_of(config.spec.fields, results, config)


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

MODEL_CODE, THRESHOLD = "model_code", "threshold"
"""Columns of runs: the first of those that hold the configuration, and the test error below which
a run is solved."""

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
    rows = []
    for path in paths:
        lines = table_rows(path)
        header = next(lines, [])
        if lacking := [column for column in _KEYS if column not in header]:
            problem = f"it has no column {', '.join(lacking)}"
            raise UsageError(f"{path} is not a table of thresholds: {problem}")
        for place, cells in enumerate(lines, 1):
            row: SetupCells = {"threshold": ""} | dict(zip(header, cells, strict=True))
            for column in (*_NUMBERS, "threshold"):
                try:
                    row[column] = float(row[column].replace("NA", "") or "nan")
                except ValueError:
                    problem = f"column {column} holds {row[column]!r}, no number"
                    raise UsageError(f"{path}: row {place}: {problem}") from None
            if math.isnan(row["threshold"]):
                row["threshold"] = row["epsilon"]
            row["extrapolation.range"] = run_names.canonical(row["extrapolation.range"])
            rows.append(row)
    return rows


@dataclass
class Thresholds:
    """The lookup of when a run is solved.

    parameter: only rows of this parameter count. `zero.range.easy`, `.medium` and `.hard` stand
        for the row of the run's model, whose suffix may also be given. Without one, all rows count
        that are meant for the script and the model of the run.
    otherwise: the threshold of a run that has no row.
    by_input_size: whether runs match only rows of their own input size.
    """

    setups: Iterable[SetupCells]
    parameter: str | None = None
    otherwise: float = math.nan
    by_input_size: bool = False

    def __post_init__(self) -> None:
        self._found: dict[tuple, list[tuple[str, float]]] = {}
        for row in self.setups:
            for task in self._tasks(row):
                key = (row["operation"].removeprefix("op-"), row["extrapolation.range"], task)
                self._found.setdefault(key, []).append((row["parameter"], row["threshold"]))

    def of(self, run: Mapping[str, Any]) -> Limit:
        """Return when a run is solved, given its options; NaN if the table does not say it."""
        place = run["operation"], run_names.canonical(run["extrapolation.range"])
        keys = [(*place, task) for task in self._tasks(run)]
        # The script of the benchmark is the one whose runs can begin again with new weights.
        # What its own rows do not name, such as a range of the user's, may be in others.
        if run.get("reinit") in (True, False) and self.parameter is None:
            own = dict(reversed(self._found.get(keys[0], [])))
            if BENCHMARK in own:
                return Limit(own[BENCHMARK])
        for key in keys:
            for parameter, threshold in self._found.get(key, []):
                if self._counts(parameter, run["model_code"]):
                    return Limit(threshold, parameter.startswith(SMALL_DIVISORS))
        return Limit(self.otherwise)

    def _counts(self, parameter: str, model_code: str) -> bool:
        stem = parameter if self.parameter is None else self.parameter
        if stem.startswith(SMALL_DIVISORS) and (self.parameter is None or stem.count(".") == 2):
            stem = ".".join(stem.split(".")[:3]) + _SUFFIXES.get(model_code, "")
        asked = self.parameter is not None or parameter not in (BENCHMARK, DMU)
        return parameter == stem and asked

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

    threshold: taken for every run instead of the thresholds in tables.
    parameter: the rows of the tables that count; None: the rows for a run's script and model.
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
        if self.threshold is not None:
            return [Limit(self.threshold)] * len(runs)
        thresholds = usual_thresholds()
        if self.setups or self.parameter is not None:
            setups = read_setups(self.setups or SHIPPED)
            thresholds = Thresholds(setups, self.parameter, by_input_size=self.by_input_size)
        return [
            thresholds.of(run) if is_arithmetic(run) else Limit(run.get(THRESHOLD, math.nan))
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


def add_threshold_flags(add: Callable[..., None]) -> None:
    text = "tables of thresholds; runs without a row are left out (default: the repository's "
    text += "exp_setups.csv and function_task_static_mse_expectation.csv, and "
    add("--exp-setups PATH ...", f"{text}{FLAT:g} without a row)", default=[])
    add("--threshold MSE", "one threshold for all runs instead", type=number(above=0).one)


def limit_of(run: "Config | str | Mapping[str, Any]", given: float | None = None) -> Limit:
    """Return when a run is solved, by its configuration, name or options; FLAT if they are no task.

    given: replaces the task's threshold.
    """
    if given is not None:
        return Limit(given)
    try:
        if isinstance(run, str):
            run = run_names.parse_leaf(run.rpartition("/")[2])
        return usual_thresholds().of(run if isinstance(run, Mapping) else config_columns(run))
    except (ValueError, KeyError):
        return Limit(FLAT)


def shared_threshold(runs: Mapping[str, Iterable[float]]) -> float:
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
    """How means and intervals are made. The defaults follow the papers.

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


def add_estimate_flags(add: Callable[..., None]) -> None:
    text = "solved at: as the papers, with the sample variance, or by maximum likelihood"
    add("--gamma-fit", text, choices=get_args(GammaFit), default=PUBLISHED.gamma_fit)
    text = "compat, as the papers, halves all but tiny sparsity errors; scaled does not"
    add("--sparsity-fit", text, choices=get_args(SparsityFit), default=PUBLISHED.sparsity_fit)
