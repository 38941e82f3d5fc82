"""Who is best: units of the board beside each other, or a challenger beside its rivals.

Units are compared on the same ranges and seeds. Two are told apart by an exact test of whole seeds,
and all tests of one table by Holm's method; on the board those that it cannot tell apart share a
rank. Rivals are kept results.
"""

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

import pandas as pd

from stable_nalu.base.files import cells_of
from stable_nalu.base.papers import FLAT
from stable_nalu.paper.experiment import Experiment
from stable_nalu.paper.index import find
from stable_nalu.result.compare import ALL_POINTS
from stable_nalu.result.judged import point_columns
from stable_nalu.result.stored import path_of
from stable_nalu.statistics import intervals as by_seed
from stable_nalu.statistics.intervals import Estimate, PairedTest, holm, paired_test
from stable_nalu.statistics.means import MARGIN
from stable_nalu.statistics.setups import LEVEL, shared_threshold
from stable_nalu.statistics.summary import solved_of, summary_of
from stable_nalu.statistics.table import groups

from .challenger import KEY

OPERATIONS = ("add", "sub", "mul", "div")
NAME = re.compile(r"[a-z][a-z0-9-]{0,39}")
"""Names of submissions, which no label of a stored unit matches."""
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
    league: str = "as published"

    def outcomes(self, operation: str, rule: str) -> Outcomes:
        """Return which of its runs of an operation are solved by a rule of thresholds."""
        limits = thresholds(rule)
        return {
            (row["interpolation.range"], row["seed"]): float(row["extrapolation.last"] or "nan")
            < limits[operation, row["interpolation.range"]]
            for row in self.rows
            if row["operation"] == operation
        }


def kept_entries(operation: str) -> list[Entry]:
    """Return the units of which runs of an operation are kept."""
    found = []
    for key, chosen in (*KEYS[operation], ("dmu", (f"given-{operation}", f"learned-{operation}"))):
        rows = cells_of(path_of(key)) if path_of(key).exists() else []
        for model in find(key).models:
            own = tuple(row for row in rows if row["model"] == model.key)
            if own and (not chosen or model.key in chosen):
                given = key == "dmu" and model.key.startswith("given")
                kind = "given" if given else "learned"
                label = f"DMU, operands {kind}" if key == "dmu" else model.label.partition(" [")[0]
                found.append(Entry((key, model.key), label, own, _PAIR if given else ""))
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
    that are worse. rate: the share of solved runs with its interval, by whole seeds.
    """

    solved: int
    runs: int
    best: int
    worst: int
    rate: Estimate

    @property
    def rank(self) -> str:
        """Return the ranks, as `1` or `2-4`."""
        return f"{self.best}" if self.best == self.worst else f"{self.best}–{self.worst}"


def paired_outcomes(one: Outcomes, other: Outcomes) -> tuple[list[str], list[tuple[bool, bool]]]:
    """Return the seeds of runs that two units share, and whether each of both has solved them."""
    both = [run for run in one if run in other]
    return [seed for _, seed in both], [(one[run], other[run]) for run in both]


def placed(table: Mapping[Any, Outcomes]) -> dict[Any, Placed]:
    """Return where units stand that have outcomes of the same runs, the best rate first."""
    solved = {name: sum(runs.values()) for name, runs in table.items()}
    pairs = list(itertools.combinations(table, 2))
    tests = [by_seed.p_value(*paired_outcomes(table[a], table[b])) for a, b in pairs]
    better = dict.fromkeys(table, 0)
    worse = dict.fromkeys(table, 0)
    for (a, b), p in zip(pairs, holm(tests), strict=True):
        if p < LEVEL:
            first, second = sorted((a, b), key=lambda name: -solved[name])
            worse[first] += 1
            better[second] += 1
    found = {
        name: Placed(
            *(solved[name], len(runs), 1 + better[name], len(table) - worse[name]),
            by_seed.rate([seed for _, seed in runs], list(runs.values())),
        )
        for name, runs in table.items()
    }
    return dict(sorted(found.items(), key=lambda item: (item[1].best, -item[1].solved)))


NOT_COMPARABLE = "not comparable: {:,} iterations, the challenger {:,}"

RANKED_BY = {
    "success rate": ("success.rate.mean", -1),
    "solved at": ("converged.at.mean", 1),
    "sparsity error": ("sparse.error.mean", 1),
}
"""Measure -> its column in a summary, and the sign with which the least is the best."""


def rank_column(measure: str) -> str:
    """Return the column of ranks by a measure."""
    return f"rank.{measure.replace(' ', '.')}"


@dataclass(frozen=True)
class Duel:
    """A challenger against one rival, run by run on the same points and seeds.

    test: the challenger first. p: of the test, adjusted by Holm's method for the number of rivals.
    """

    label: str
    test: PairedTest
    p: float

    @property
    def fair(self) -> bool:
        """Return whether both were trained for the same number of iterations."""
        return self.test.lengths[0] == self.test.lengths[1]

    @property
    def verdict(self) -> str:
        """Return what the test tells; nothing, where one was trained longer."""
        if not self.fair:
            return NOT_COMPARABLE.format(*reversed(self.test.lengths))
        return replace(self.test, p=self.p).verdict


@dataclass(frozen=True)
class Contest:
    """A challenger in a figure.

    runs: judged runs of the challenger and of its rivals, one per row; `model` holds their keys,
        `iterations` their length.
    label: of the challenger.
    """

    experiment: Experiment
    label: str
    runs: pd.DataFrame

    @cached_property
    def labels(self) -> dict[str, str]:
        """Return key -> label of those who take part, the challenger first."""
        there = set(self.runs["model"])
        rivals = {m.key: m.label for m in self.experiment.models if m.key in there}
        return {KEY: self.label, **rivals}

    @property
    def missing(self) -> list[str]:
        """Return the labels of the models of which no results are kept."""
        return [m.label for m in self.experiment.models if m.key not in self.labels]

    @cached_property
    def points(self) -> list[str]:
        """Return the columns that tell points apart, as far as they differ."""
        columns = [c for c in point_columns(self.experiment.key) if c in self.runs]
        return [c for c in columns if len(self.runs[c].drop_duplicates()) > 1]

    @cached_property
    def standings(self) -> list[dict[str, Any]]:
        """Return a row per layer, of all points together, and then of each point.

        A row has the layer, the point, the runs, their threshold (NaN where they have several), how
        many are solved, the ranks by measure, from 1 (None without a value), and the columns of
        `statistics.summary`.
        """
        found = self._ranked(self.runs, ALL_POINTS)
        for key, runs in groups(self.runs, self.points) if self.points else ():
            found += self._ranked(runs, ", ".join(map(str, key)))
        return found

    def _ranked(self, runs: pd.DataFrame, point: str) -> list[dict[str, Any]]:
        of = {key: own for key, own in self._by_layer(runs).items() if len(own)}
        sums = {key: summary_of(own) for key, own in of.items()}
        # A sparsity error of 0 is 0 here: the papers' fit cuts it to a margin.
        for one in sums.values():
            cut = [n for n in one if n.startswith("sparse.error") and one[n] <= MARGIN]
            one |= dict.fromkeys(cut, 0.0)
        ranks = {
            measure: _ranks({key: sign * one[column] for key, one in sums.items()})
            for measure, (column, sign) in RANKED_BY.items()
        }
        return [
            {
                "layer": self.labels[key],
                "point": point,
                "runs": len(own),
                "threshold": shared_threshold(own),
                "solved": solved_of(own),
            }
            | {rank_column(measure): found.get(key) for measure, found in ranks.items()}
            | sums[key]
            for key, own in of.items()
        ]

    def _by_layer(self, runs: pd.DataFrame) -> dict[str, Any]:
        return {key: runs.loc[runs["model"] == key] for key in self.labels}

    @cached_property
    def duels(self) -> list[Duel]:
        """Return the challenger against every rival."""
        rivals, by = self._by_layer(self.runs), [*self.points, "seed"]
        own = rivals.pop(KEY)
        tests = {key: paired_test((KEY, key), own, runs, by) for key, runs in rivals.items()}
        adjusted = holm([test.p for test in tests.values()])
        pairs = zip(tests.items(), adjusted, strict=True)
        return [Duel(self.labels[key], test, p) for (key, test), p in pairs]


def _ranks(values: dict[str, float]) -> dict[str, int]:
    """Return key -> rank by ascending value; equal values share a rank, NaN has none.

    Values are equal that are so in six digits: kept results have seven.
    """
    known = {key: float(f"{v:.6g}") for key, v in values.items() if not math.isnan(v)}
    return {key: 1 + sum(o < value for o in known.values()) for key, value in known.items()}


def same_runs(own: pd.DataFrame, kept: pd.DataFrame, key: str) -> pd.DataFrame:
    """Return the kept runs that are at a point and a seed of the challenger's."""
    by = [column for column in point_columns(key) if column in own] + ["seed"]
    return kept.merge(own[by].drop_duplicates(), on=by)
