"""Measures of many runs beside numbers that were given elsewhere, each with what stands behind it.

A number is compared where its tolerance is known. A claim that one model is below another is tested
on the runs of the same seed: few seeds decide nothing.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from stable_nalu.errors import UsageError
from stable_nalu.paper.experiment import Experiment, Measure
from stable_nalu.paper.published import PublishedMeasure, published_measures
from stable_nalu.statistics.estimators import LEVEL
from stable_nalu.statistics.intervals import Estimate, sign_test, wilson
from stable_nalu.statistics.table import groups

from .compare import CANNOT_TELL, DIFFERS, SHORT, same_point, shortened
from .judged import (
    DIVERGED,
    is_plain,
    label_of,
    measure_columns,
    measure_of,
    options_of,
    point_columns,
    runs_of,
    text_of,
)

if TYPE_CHECKING:
    import pandas as pd

WITHIN_TOLERANCE, HOLDS, FAILS = "within tolerance", "holds", "does not hold"
NOT_JUDGED = "not judged"


@dataclass(frozen=True)
class Numbers:
    """What sums up the values of some runs; one that is not a number counts as the worst there is.

    share: of the runs that are below the limit of the measure; None without one.
    unending: how many values are not finite.
    """

    runs: int
    median: float
    mean: float
    best: float
    share: float | None
    unending: int

    @classmethod
    def of(cls, values: np.ndarray, measure: Measure) -> Numbers:
        """Sum up one value per run."""
        if measure.optional:
            values = values[~np.isnan(values)]
        worst = math.inf if measure.lower else -math.inf
        known = np.where(np.isnan(values), worst, values)
        share = None if measure.below is None else float(np.mean(known < measure.below))
        best = known.min() if measure.lower else known.max()
        with np.errstate(invalid="ignore", over="ignore"):
            median, mean = float(np.median(known)), float(known.mean())
        unending = int((~np.isfinite(values)).sum())
        return cls(len(values), median, mean, float(best), share, unending)


@dataclass(frozen=True)
class Order:
    """How many pairs of runs of the same seed agree with a claim about two models.

    Pairs of equal runs are neither.
    """

    agree: int
    against: int
    equal: int

    @property
    def share(self) -> Estimate:
        """Return the share of all pairs that agree, with Wilson's interval."""
        return wilson(self.agree, self.agree + self.against + self.equal)

    @property
    def p(self) -> float:
        """Return the p of the sign test."""
        return sign_test(self.agree, self.against)

    @property
    def verdict(self) -> str:
        """Return whether the claim holds, fails, or cannot be decided."""
        if self.p >= LEVEL:
            return CANNOT_TELL
        return HOLDS if self.agree > self.against else FAILS

    def __str__(self) -> str:
        found = self.share
        pairs = self.agree + self.against + self.equal
        return (
            f"{self.agree} of {pairs} runs of the same seed "
            f"[{100 * found.lower:.0f}–{100 * found.upper:.0f} %], p = {self.p:.2g}"
        )


@dataclass(frozen=True)
class MeasuredPoint:
    """One measure of a model at a point, and what was given elsewhere for it, if anything.

    point: text of the options that tell points apart. operation: one of them.
    name: what tables call the measure.
    length: the iterations of our runs and of whole ones, where ours are shorter.
    as_good: how many runs are as good as the number given elsewhere, or better.
    order: what runs with the same seed say of a claim about two models.
    """

    model: str
    label: str
    point: str
    operation: str
    column: str
    name: str
    measure: Measure
    numbers: Numbers
    length: tuple[int, int] | None = None
    published: PublishedMeasure | None = None
    as_good: int | None = None
    order: Order | None = None

    @property
    def ours(self) -> float:
        """Return the one number that stands for all runs."""
        return getattr(self.numbers, self.measure.typical)

    @property
    def difference(self) -> float | None:
        """Return our number less the one given elsewhere."""
        known = self.published and self.published.number
        return None if known is None else self.ours - known

    @property
    def verdict(self) -> str | None:
        """Return the verdict; None where nothing is compared."""
        known = self.published
        if known is None:
            return None
        if self.length:
            return "{}: {:,} of {:,} iterations".format(SHORT, *self.length)
        if self.order is not None:
            return self.order.verdict
        if known.tolerance is None or self.difference is None:
            return NOT_JUDGED
        return WITHIN_TOLERANCE if abs(self.difference) <= known.tolerance else DIFFERS

    @property
    def differs(self) -> bool:
        """Return whether ours departs from what was given elsewhere."""
        return self.verdict in (DIFFERS, FAILS)

    def summary_row(self) -> dict[str, Any]:
        """Return the cells of the summary by their columns."""
        found = self.numbers
        return {
            "model": self.model,
            "point": self.point,
            "measure": self.column,
            "runs": found.runs,
            "median": found.median,
            "best": found.best,
            "mean": found.mean,
            "limit": self.measure.below,
            "share below": found.share,
            "not finite": found.unending,
        }

    def row(self) -> dict[str, Any]:
        """Return the cells of the comparison by their columns."""
        known = self.published
        return {
            **self.summary_row(),
            "compared": self.measure.typical if known else "",
            "given": known.value if known else "",
            "which is": known.standing if known else "",
            "difference": self.difference,
            "as good": self.as_good,
            "agree": str(self.order or ""),
            "source": known.source if known else "",
            "verdict": self.verdict or "",
        }


def points_of(experiment: Experiment, runs: pd.DataFrame) -> list[MeasuredPoint]:
    """Return every measure of every point that there are runs for; families where one is given.

    runs: one row per measured run.
    """
    labels = {model.key: model.label for model in experiment.models}
    given = published_measures(experiment.key)
    found: list[MeasuredPoint] = []
    for (model,), of_model in groups(runs, ["model"]):
        length = shortened(experiment, of_model)
        common = options_of(experiment, runs_of(experiment.model(str(model)), [0], None)[0])
        varying = [
            column
            for column in point_columns(experiment.key)
            if len(of_model[column].drop_duplicates()) > 1
        ]
        for key, group in groups(of_model, varying or ["model"]):
            point = ", ".join(map(text_of, key)) if varying else ""
            settings = common | {column: group[column].iloc[0] for column in varying}
            known = [one for one in given if one.model == model and is_about(one, settings)]
            place = (str(model), str(labels.get(model, model)), point)
            found += _of_point(experiment, place, group, known, length, runs)
    return found


def is_about(known: PublishedMeasure, settings: Mapping[str, Any]) -> bool:
    """Return whether a number is about runs of these settings, as far as it names some."""
    column, _, value = known.point.partition("=")
    wanted = {"operation": known.operation, column: value}
    return all(same_point(settings.get(name), text) for name, text in wanted.items() if text)


def _of_point(
    experiment: Experiment,
    place: tuple[str, str, str],
    group: pd.DataFrame,
    known: Sequence[PublishedMeasure],
    length: tuple[int, int] | None,
    runs: pd.DataFrame,
) -> list[MeasuredPoint]:
    operation = str(group["operation"].iloc[0]) if "operation" in group.columns else ""
    found: list[MeasuredPoint] = []
    for column in measure_columns(experiment, group.columns):
        measure = measure_of(experiment, column)
        given = [one for one in known if one.measure == column]
        if measure is None or not (given or is_plain(experiment, column)):
            continue
        values = group[column].to_numpy(float)
        if np.isnan(values).all() and not group[DIVERGED].to_numpy().any():
            continue
        numbers, name = Numbers.of(values, measure), label_of(experiment, measure, column)
        point = MeasuredPoint(*place, operation, column, name, measure, numbers, length)
        found += [_beside(point, one, group, runs) for one in given] or [point]
    return found


def _beside(
    point: MeasuredPoint, known: PublishedMeasure, group: pd.DataFrame, runs: pd.DataFrame
) -> MeasuredPoint:
    """Return the point with a number that was given elsewhere."""
    if known.number is not None:
        limit = known.number + (known.tolerance or 0) * (1 if point.measure.lower else -1)
        values = group[point.column].to_numpy(float)
        as_good = (values <= limit) if point.measure.lower else (values >= limit)
        return replace(point, published=known, as_good=int(as_good.sum()))
    points = list(point_columns(known.experiment))
    others = runs.loc[runs["model"] == known.better_than]
    both = group.merge(others, on=[*points, "seed"], suffixes=("", ".rival"))
    if both.empty:
        return point
    worst = math.inf if point.measure.lower else -math.inf
    ours, theirs = (
        both[name].fillna(worst).to_numpy(float) for name in (point.column, f"{point.column}.rival")
    )
    agree, equal = int((ours < theirs).sum()), int((ours == theirs).sum())
    return replace(point, published=known, order=Order(agree, len(both) - agree - equal, equal))


def compared(
    experiment: Experiment, runs: pd.DataFrame
) -> tuple[pd.DataFrame, list[dict[str, Any]], str]:
    """Do the same as `compare.compared` for runs that measured something."""
    import pandas as pd

    points = points_of(experiment, runs)
    if not points:
        raise UsageError(f"the exported runs of {experiment.key} hold no measure")
    once = {(point.model, point.point, point.column): point for point in points}
    summary = pd.DataFrame([point.summary_row() for point in once.values()])
    rows = [point.row() for point in points]
    return summary, rows, measures_counted(points)


def measures_counted(points: Sequence[MeasuredPoint]) -> str:
    """Return how many numbers that were given elsewhere have which verdict."""
    given = [point for point in points if point.published is not None]
    if not given:
        return "no number given elsewhere to compare with"
    kinds = Counter(SHORT if point.length else str(point.verdict) for point in given)
    counted = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())
    return f"{len(given)} numbers given elsewhere: {counted}"
