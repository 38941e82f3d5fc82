"""A challenger against the kept results of its rivals: on the same points and seeds only."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from stable_nalu.cluster.challenger import KEY
from stable_nalu.paper.experiment import Experiment
from stable_nalu.statistics.intervals import PairedTest, holm, paired_test
from stable_nalu.statistics.means import MARGIN
from stable_nalu.statistics.setups import shared_threshold
from stable_nalu.statistics.summary import solved_of, summary_of

from .compare import ALL_POINTS
from .judged import point_columns

if TYPE_CHECKING:
    import pandas as pd

NOT_COMPARABLE = "not comparable: {:,} iterations, the challenger {:,}"

RANKED_BY = {
    "success rate": ("success.rate.mean", -1),
    "solved at": ("converged.at.mean", 1),
    "sparsity error": ("sparse.error.mean", 1),
}
"""Measure -> its column in a summary, and the sign with which the least is the best."""


@dataclass(frozen=True)
class Standing:
    """What one layer comes to at one point, or at all of them.

    threshold: of its runs, NaN where they have several.
    summary: by the columns of `statistics.summary`.
    ranks: by measure, from 1; None where the layer has no value.
    """

    label: str
    point: str
    solved: int
    runs: int
    threshold: float
    summary: dict[str, float]
    ranks: dict[str, int | None]


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
    def standings(self) -> list[Standing]:
        """Return the standings of all points together, and then of each."""
        from stable_nalu.statistics.table import groups

        found = self._ranked(self.runs, ALL_POINTS)
        for key, runs in groups(self.runs, self.points) if self.points else ():
            found += self._ranked(runs, ", ".join(map(str, key)))
        return found

    def _ranked(self, runs: pd.DataFrame, point: str) -> list[Standing]:
        of = {key: runs.loc[runs["model"] == key] for key in self.labels}
        sums = {key: _without_margin(summary_of(own)) for key, own in of.items() if len(own)}
        ranks = {
            measure: _ranks({key: sign * one[column] for key, one in sums.items()})
            for measure, (column, sign) in RANKED_BY.items()
        }
        return [
            Standing(
                self.labels[key],
                point,
                solved_of(of[key]),
                len(of[key]),
                shared_threshold(of[key]),
                summary,
                {measure: ranks[measure].get(key) for measure in RANKED_BY},
            )
            for key, summary in sums.items()
        ]

    @cached_property
    def duels(self) -> list[Duel]:
        """Return the challenger against every rival."""
        runs = {key: self.runs.loc[self.runs["model"] == key] for key in self.labels}
        by = [*self.points, "seed"]
        tests = {
            key: paired_test((KEY, key), runs[KEY], rival, by)
            for key, rival in runs.items()
            if key != KEY
        }
        adjusted = holm([test.p for test in tests.values()])
        pairs = zip(tests.items(), adjusted, strict=True)
        return [Duel(self.labels[key], test, p) for (key, test), p in pairs]


def _without_margin(summary: dict[str, float]) -> dict[str, float]:
    """Return a summary in which a sparsity error of 0 is 0: the papers' fit cuts it to a margin."""
    return {
        name: 0.0 if name.startswith("sparse.error") and value <= MARGIN else value
        for name, value in summary.items()
    }


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
