"""Who is best at an operation: units beside each other on the same ranges and seeds.

Two units are told apart by McNemar's test of their pairs, and all tests of one table by Holm's
method; those that it cannot tell apart share a rank.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from stable_nalu.machine import data_file
from stable_nalu.paper.index import find
from stable_nalu.papers import FLAT
from stable_nalu.statistics.intervals import Estimate, holm, sign_test, wilson
from stable_nalu.statistics.setups import LEVEL

from .records import cells_of
from .stored import DATA, path_of

OPERATIONS = ("add", "sub", "mul", "div")
PUBLISHED, TUNED = "as published", "equal tuning"
TUNED_RUNS = data_file("docs/board") / "equal_tuning.csv"
_DMU = {"add": "add", "mul": "add", "sub": "sub", "div": "sub"}
_PAIR = "the pair of operations"

KEYS: Mapping[str, Sequence[tuple[str, tuple[str, ...]]]] = {
    "add": (("benchmark_sltr_add", ()), ("benchmark_sltr_add_mcfc", ("MCFC",))),
    "sub": (("benchmark_sltr_sub", ()),),
    "mul": (
        ("benchmark_sltr_mul", ()),
        ("robust-benchmark_sltr_mul", ("sNMU",)),
        ("benchmark_sltr_mul_mcfc", ("MulMCFC", "MulMCFCSignINALU", "MulMCFCSignRealNPU")),
    ),
    "div": (
        ("benchmark_sltr_div", ()),
        ("nips-sltr-in2", ("realnpu_modified", "nru", "sign-nmru")),
    ),
}
"""Operation -> experiments whose kept runs take part, and which of their models; none: all."""

Outcomes = Mapping[tuple[str, str], bool]
"""Range and seed -> whether the run solved its task."""


@dataclass(frozen=True)
class Entry:
    """A unit that takes part.

    key: the experiment and model that it comes from, or its folder. told: what it is told about its
    operation, which others have to learn. rows: a row for each run, as they are kept.
    """

    key: tuple[str, str]
    label: str
    rows: tuple[Mapping[str, str], ...]
    told: str = ""
    league: str = PUBLISHED

    def outcomes(self, operation: str, rule: str) -> Outcomes:
        """Return which of its runs of an operation are solved by a rule of thresholds."""
        limits = thresholds(rule)
        return {
            (row["interpolation.range"], row["seed"]): float(row["extrapolation.last"] or "nan")
            < limits[operation, row["interpolation.range"]]
            for row in self.rows
            if row["operation"] == operation
        }


def kept_entries(operation: str, data: Path = DATA) -> list[Entry]:
    """Return the units of which runs of an operation are kept."""
    found = []
    for key, chosen in (*KEYS[operation], ("dmu", (f"given-{operation}", f"learned-{operation}"))):
        rows = cells_of(path_of(key, data)) if path_of(key, data).exists() else []
        for model in find(key).models:
            own = tuple(row for row in rows if row["model"] == model.key)
            if own and (not chosen or model.key in chosen):
                given = key == "dmu" and model.key.startswith("given")
                kind = "given" if given else "learned"
                label = f"DMU, operands {kind}" if key == "dmu" else model.label.partition(" [")[0]
                found.append(Entry((key, model.key), label, own, _PAIR if given else ""))
    return found


def tuned_entries(operation: str) -> list[Entry]:
    """Return the units with the best of equally many random settings."""
    rows = cells_of(TUNED_RUNS) if TUNED_RUNS.exists() else []
    found = []
    for one in kept_entries(operation):
        place = (one.label, operation)
        if own := tuple(row for row in rows if (row["unit"], row["operation"]) == place):
            found.append(replace(one, league=TUNED, rows=own))
    return found


RULES = ("benchmark", "1e-5", "DMU")
"""Rules of thresholds: of this benchmark, one for all tasks, and of the DMU's repository."""


@cache
def thresholds(rule: str) -> dict[tuple[str, str], float]:
    """Return operation and range -> below which test error a run is solved."""
    keys = [f"benchmark_sltr_{operation}" for operation in OPERATIONS]
    rows = [row for key in keys for row in cells_of(path_of(key))]
    if rule == "DMU":
        rows = cells_of(path_of("dmu_thresholds"))
    flat = rule == "1e-5"
    return {
        (row["operation"], row["interpolation.range"]): FLAT if flat else float(row["threshold"])
        for row in rows
    }


@dataclass(frozen=True)
class Placed:
    """Where a unit stands in one table.

    best, worst: the ranks that the tests leave open: behind those that are better, and before those
    that are worse.
    """

    solved: int
    runs: int
    best: int
    worst: int

    @property
    def rank(self) -> str:
        """Return the ranks, as `1` or `2-4`."""
        return f"{self.best}" if self.best == self.worst else f"{self.best}–{self.worst}"

    @property
    def rate(self) -> Estimate:
        """Return the share of solved runs with its interval."""
        return wilson(self.solved, self.runs)


def placed(table: Mapping[Any, Outcomes]) -> dict[Any, Placed]:
    """Return where units stand that have outcomes of the same runs, the best rate first."""
    solved = {name: {run for run, met in runs.items() if met} for name, runs in table.items()}
    pairs = list(itertools.combinations(table, 2))
    tests = [_p(len(solved[a] - solved[b]), len(solved[b] - solved[a])) for a, b in pairs]
    better = dict.fromkeys(table, 0)
    worse = dict.fromkeys(table, 0)
    for (a, b), p in zip(pairs, holm(tests), strict=True):
        if p < LEVEL:
            first, second = sorted((a, b), key=lambda name: -len(solved[name]))
            worse[first] += 1
            better[second] += 1
    found = {
        name: Placed(len(solved[name]), len(runs), 1 + better[name], len(table) - worse[name])
        for name, runs in table.items()
    }
    return dict(sorted(found.items(), key=lambda item: (item[1].best, -item[1].solved)))


@cache
def _p(won: int, lost: int) -> float:
    return sign_test(won, lost)


def at_range(outcomes: Outcomes, one: str | None) -> Outcomes:
    """Return the outcomes in one range, or all of them for None."""
    return {run: met for run, met in outcomes.items() if one in (None, run[0])}
