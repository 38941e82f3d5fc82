"""Setup files read back, and the success threshold of each run looked up in them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from stable_nalu.catalogue.ranges import canonical
from stable_nalu.machine import data_file

from .names import is_single_module
from .table import read_table, require

SHIPPED = (data_file("exp_setups.csv"), data_file("function_task_static_mse_expectation.csv"))
SMALL_DIVISORS = "zero.range"
_KEYS = (
    "operation",
    "parameter",
    "simple",
    "input.size",
    "subset.ratio",
    "overlap.ratio",
    "epsilon",
    "extrapolation.range",
)
_SUFFIXES = {"realnpu": ".realnpu", "signnmru": ".nmru", "nmru": ".nmru", "gatedsignnmru": ".nmru"}


def read_setups(paths: Iterable[Path]) -> pd.DataFrame:
    """Return the rows of all files; `threshold` is `epsilon` where a file has no such column."""
    parts = []
    for path in paths:
        part = read_table(path)
        require(part, _KEYS, path, "a table of thresholds")
        if "threshold" not in part:
            part["threshold"] = part["epsilon"]
        part["threshold"] = part["threshold"].fillna(part["epsilon"])
        part["extrapolation.range"] = part["extrapolation.range"].map(canonical)
        parts.append(part)
    return pd.concat(parts, ignore_index=True)


def known_parameters(setups: pd.DataFrame) -> list[str]:
    """Return the parameters that a threshold can be looked up by, those of every model included."""
    found = [str(parameter) for parameter in setups["parameter"].drop_duplicates()]
    suffixes = tuple(set(_SUFFIXES.values()))
    stems = [p.rpartition(".")[0] for p in found if p.endswith(suffixes)]
    return sorted({*found, *stems})


class Thresholds:
    """The lookup of the threshold of a run.

    parameter: only rows of this parameter count. Without one, all do but those of division by
        small numbers. `zero.range.easy`, `.medium` and `.hard` stand for the row of the run's
        model, whose suffix may also be given.
    """

    def __init__(self, setups: pd.DataFrame, parameter: str | None = None):
        self.parameter = parameter
        self._found: dict[tuple, list[tuple[str, float]]] = {}
        for row in setups.to_dict("records"):
            for task in _tasks(row["input.size"], row["subset.ratio"], row["overlap.ratio"]):
                key = (row["operation"].removeprefix("op-"), row["extrapolation.range"], task)
                found = row["parameter"], float(row["threshold"])
                self._found.setdefault(key, []).append(found)

    @property
    def inclusive(self) -> bool:
        """Return whether an error equal to the threshold is low enough: dividing small numbers."""
        return self.parameter is not None and self.parameter.startswith(SMALL_DIVISORS)

    def of(self, run: dict) -> float:
        """Return the threshold of a run, given its options; NaN if the table has none."""
        wanted = self._parameters(run["model_code"])
        for task in _tasks(run["input.size"], run["subset.ratio"], run["overlap.ratio"]):
            key = (run["operation"], canonical(run["extrapolation.range"]), task)
            for parameter, threshold in self._found.get(key, []):
                if parameter in wanted if wanted else not parameter.startswith(SMALL_DIVISORS):
                    return threshold
        return math.nan

    def _parameters(self, model_code: str) -> tuple[str, ...]:
        if self.parameter is None:
            return ()
        if self.inclusive and self.parameter.count(".") == 2:
            return (self.parameter + _SUFFIXES.get(model_code, ""),)
        return (self.parameter,)


def _tasks(
    input_size: float, subset_ratio: float | None, overlap_ratio: float | None
) -> list[tuple[object, ...]]:
    """Return what rows and runs must share besides operation and range, the closest first.

    All single modules share their rows, whatever the number of idle inputs. The arithmetic data
    set has subsets of one input, too, where it has four, and rows of its own for these.
    """
    if subset_ratio is None or math.isnan(subset_ratio):
        return [("simple", input_size)]
    own = ("arithmetic", input_size, subset_ratio, overlap_ratio)
    single = is_single_module(input_size, subset_ratio)
    return [own, ("single module",)] if single else [own]
