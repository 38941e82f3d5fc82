"""Numbers of this project beside those that were given elsewhere, and what the comparison shows.

Two rates are called equal only where their counts are identical, two means where they are so in all
printed digits. Otherwise the difference has an interval, and a verdict of equivalence follows from
it at a margin of five points. Seeds
that are only some of the published ones are no sample of all: they are compared one by one, where
the outcome of each is known. Runs that are shorter than the published ones have no verdict.

A measure is compared where the tolerance of the number given elsewhere is known. A claim that one
model is below another is tested on the runs of the same seed: few seeds decide nothing.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from stable_nalu.base.errors import UsageError
from stable_nalu.base.script import plural
from stable_nalu.paper.experiment import Experiment, Measure, seeds_text
from stable_nalu.paper.published import (
    Published,
    PublishedMeasure,
    PublishedSeeds,
    published,
    published_measures,
    published_seeds,
    same_point,
)
from stable_nalu.statistics import intervals as by_seed
from stable_nalu.statistics.intervals import Estimate, Pairs, counted, difference, wilson
from stable_nalu.statistics.setups import LEVEL, PUBLISHED
from stable_nalu.statistics.summary import solved_of, summarize_runs, summary_of
from stable_nalu.statistics.table import groups

from .judged import (
    DIVERGED,
    is_plain,
    label_of,
    measure_columns,
    measure_of,
    options_of,
    point_columns,
    runs_of,
    shortened,
    text_of,
)

MARGIN = 0.05
"""The margin of equivalence: five points of a rate, or five percent of a mean."""

EQUAL, DIFFERS, CANNOT_TELL = "equal", "differs", "inconclusive"
WITHIN_POINTS, WITHIN_PERCENT, WITHIN_LIMIT = "within 5 points", "within 5 %", "below the limit"
CHOSEN, SHORT = "same seeds", "not comparable"
RATE_VERDICTS = (EQUAL, WITHIN_POINTS, CANNOT_TELL, DIFFERS)
"""Verdicts about rates that are compared as rates."""
WITHIN_TOLERANCE, HOLDS, FAILS = "within tolerance", "holds", "does not hold"
NOT_JUDGED = "not judged"
ALL_POINTS = "all together"
"""The point of a number of all points of a unit together."""


@dataclass(frozen=True)
class Chosen:
    """Some of the published seeds, the runs of them here, and how many end as published."""

    seeds: tuple[int, ...]
    runs: int
    same: int

    def __str__(self) -> str:
        what = "seeds" if self.runs == len(self.seeds) else "runs of seeds"
        seeds = seeds_text(self.seeds).replace(",", ", ")
        return f"{self.same} of {self.runs} {what} ({seeds}) end as published"


@dataclass(frozen=True, kw_only=True)
class Point:
    """A model at a point, or at all of them together.

    point: text of the options that tell points apart; empty where none do.
    length: the iterations of our runs and of whole ones, where ours are shorter.
    """

    model: str
    label: str
    point: str = ""
    length: tuple[int, int] | None = None

    @property
    def extent(self) -> str:
        """Return how long our runs are, where they are shorter."""
        return "{:,} of {:,} iterations".format(*self.length) if self.length else ""


@dataclass(frozen=True, kw_only=True)
class RatePoint(Point):
    """The success rate at a point, beside the published one.

    summary: the summary of these runs, by the columns of `statistics.summary`.
    chosen: the fate of the seeds at hand, where they are some of those with a known outcome.
    gap: our rate less the published one, with its interval; None where no rate is compared.
    """

    solved: int
    runs: int
    summary: Mapping[str, float]
    published: Published
    chosen: Chosen | None = None
    gap: Estimate | None = None

    @property
    def kind(self) -> str:
        """Return the kind of verdict about the success rate."""
        known = self.published
        # A short run that failed tells nothing; one that is solved so far does.
        alike = self.chosen is not None and self.chosen.same == self.solved == self.runs
        if self.chosen is not None and (alike or not self.length):
            return CHOSEN
        if self.gap is None:
            return SHORT
        if (self.solved, self.runs) == (known.solved, known.runs):
            return EQUAL
        return equivalence(self.gap, WITHIN_POINTS)

    @property
    def verdict(self) -> str:
        """Return the verdict about the success rate in words."""
        if self.kind == CHOSEN:
            return f"{self.chosen}, after {self.extent}" if self.length else str(self.chosen)
        return f"{SHORT}: {self.extent}" if self.kind == SHORT else self.kind

    def row(self) -> dict[str, Any]:
        """Return the cells of the comparison table by their columns."""
        known, ours, gap = self.published, self.summary, self.gap
        return {
            "model": known.model,
            "operation": known.operation,
            "point": known.point,
            "published.solved": known.solved,
            "published.runs": known.runs,
            "solved": self.solved,
            "runs": self.runs,
            "difference": gap and gap.mean,
            "difference.lower": gap and gap.lower,
            "difference.upper": gap and gap.upper,
            "published.median": known.median,
            "median": ours["converged.at.median"],
            "published.mean": known.mean.value,
            "mean": ours["converged.at.mean"],
            "published.sparsity": known.sparsity.value,
            "sparsity": ours["sparse.error.mean"],
            "source": known.source,
            "verdict": self.verdict,
        }


def summed_up(values: np.ndarray, measure: Measure) -> dict[str, Any]:
    """Return the columns of a summary of one value per run.

    One that is not a number counts as the worst there is; where a measure is optional, as no run.
    """
    if measure.optional:
        values = values[~np.isnan(values)]
    worst = math.inf if measure.lower else -math.inf
    known = np.where(np.isnan(values), worst, values)
    limit = measure.below
    with np.errstate(invalid="ignore", over="ignore"):
        median, mean = float(np.median(known)), float(known.mean())
    return {
        "runs": len(values),
        "median": median,
        "best": float(known.min() if measure.lower else known.max()),
        "mean": mean,
        "limit": limit,
        "share below": None if limit is None else float(np.mean(known < limit)),
        "not finite": int((~np.isfinite(values)).sum()),
    }


@dataclass(frozen=True, kw_only=True)
class MeasuredPoint(Point):
    """One measure at a point, beside the number that was given elsewhere for it, if any.

    name: what tables call the measure. numbers: see `summed_up`.
    as_good: how many runs are as good as the number given elsewhere, or better.
    pairs: what runs with the same seed say of a claim that ours are below another model's.
    """

    column: str
    name: str
    measure: Measure
    numbers: Mapping[str, Any]
    published: PublishedMeasure | None = None
    as_good: int | None = None
    pairs: Pairs | None = None

    @property
    def ours(self) -> float:
        """Return the one number that stands for all runs."""
        return self.numbers[self.measure.typical]

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
            return f"{SHORT}: {self.extent}"
        if self.pairs is not None:
            holds = HOLDS if self.pairs.less > self.pairs.more else FAILS
            return holds if self.pairs.p < LEVEL else CANNOT_TELL
        if known.tolerance is None or self.difference is None:
            return NOT_JUDGED
        return WITHIN_TOLERANCE if abs(self.difference) <= known.tolerance else DIFFERS

    @property
    def differs(self) -> bool:
        """Return whether ours departs from what was given elsewhere."""
        return self.verdict in (DIFFERS, FAILS)

    def summary_row(self) -> dict[str, Any]:
        """Return the cells of the summary by their columns."""
        return {"model": self.model, "point": self.point, "measure": self.column, **self.numbers}

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
            "agree": self.pairs.claim if self.pairs else "",
            "source": known.source if known else "",
            "verdict": self.verdict or "",
        }


def compared(
    experiment: Experiment, runs: pd.DataFrame
) -> tuple[pd.DataFrame, list[dict[str, Any]], str]:
    """Sum up the runs of an experiment, and compare them with what was given elsewhere.

    Return the summary, the rows of the comparison, and how many of them have which verdict.

    runs: one row per run, judged or measured.
    """
    if experiment.is_measured:
        points = measured_points(experiment, runs)
        if not points:
            raise UsageError(f"the exported runs of {experiment.key} hold no measure")
        once = {(point.model, point.point, point.column): point for point in points}
        summary = pd.DataFrame([point.summary_row() for point in once.values()])
        return summary, [point.row() for point in points], measures_counted(points)
    wanted = ("model", "operation", "interpolation.range", experiment.parameter)
    by = [column for column in dict.fromkeys(wanted) if column in runs.columns]
    found = compare(experiment, runs)
    return summarize_runs(runs, by, PUBLISHED), [one.row() for one in found], verdict(found)


def places(
    experiment: Experiment, runs: pd.DataFrame
) -> Iterator[tuple[str, str, Mapping[str, Any], pd.DataFrame]]:
    """Yield the model, the text, the options and the runs of every point.

    Options are those in which points of the model differ. Where there are none, judged runs have
    what is on the x axis of their figure.
    """
    columns = point_columns(experiment.key)
    for (model,), own in groups(runs, ["model"]):
        varying = [column for column in columns if len(own[column].drop_duplicates()) > 1]
        if not (varying or experiment.is_measured):
            varying = [column for column in columns if column == experiment.parameter]
        for key, group in groups(own, varying or ["model"]):
            options = dict(zip(varying, key, strict=True)) if varying else {}
            yield str(model), ", ".join(map(text_of, options.values())), options, group


def compare(experiment: Experiment, runs: pd.DataFrame) -> list[RatePoint]:
    """Compare every published rate of an experiment that there are judged runs for."""
    found = [(known, runs_at(known, runs)) for known in published(experiment.key)]
    return [rate_point(experiment, own, known.point, known) for known, own in found if len(own)]


def runs_at(point: Published, runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs that a published point is to be compared with."""
    chosen = runs.loc[(runs["model"] == point.model) & (runs["operation"] == point.operation)]
    if point.column and point.column in chosen.columns:
        at = [same_point(value, point.point) for value in chosen[point.column]]
        return chosen.loc[at]
    return chosen


def rate_point(
    experiment: Experiment, runs: pd.DataFrame, point: str, known: Published
) -> RatePoint:
    """Return the point of judged runs of one model, compared with what was published of it."""
    length, fates = shortened(experiment, runs), fates_of(known, runs)
    chosen = gap = None
    if fates is not None and len(runs) < known.runs:
        same = sum(ours == theirs for ours, theirs in fates)
        chosen = Chosen(tuple(sorted(set(runs["seed"].tolist()))), len(runs), same)
    elif fates is not None and len(fates) == known.runs and not length:
        gap = by_seed.gap(runs["seed"].tolist(), fates)
    elif not length:
        effect = by_seed.effect_of(runs)
        counts = ((solved_of(runs), len(runs)), (known.solved, known.runs))
        gap = difference(*(wilson(*count, effect) for count in counts))
    model = experiment.model(str(runs["model"].iloc[0]))
    return RatePoint(
        model=model.key,
        label=model.label,
        point=point,
        length=length,
        solved=solved_of(runs),
        runs=len(runs),
        summary=summary_of(runs),
        published=known,
        chosen=chosen,
        gap=gap,
    )


def fates_of(point: Published, runs: pd.DataFrame) -> list[tuple[bool, bool]] | None:
    """Return per run whether it is solved here and in the papers; None where a seed is unknown.

    Where all published runs or none were solved, the outcome of every seed follows.
    """
    ours = list(zip(runs["seed"].tolist(), runs["solved"].astype(bool).tolist(), strict=True))
    if point.solved in (0, point.runs) and all(0 <= seed < point.runs for seed, _ in ours):
        return [(solved, point.solved > 0) for _, solved in ours]
    known = seeds_of(point)
    if known is None or not all(0 <= seed < known.runs for seed, _ in ours):
        return None
    return [(solved, seed in known.solved_at) for seed, solved in ours]


def seeds_of(point: Published) -> PublishedSeeds | None:
    """Return the published outcome of every seed, where it is known."""
    wanted = (point.model, point.operation)
    every = published_seeds(point.experiment)
    return next((one for one in every if (one.model, one.operation) == wanted), None)


def equivalence(gap: Estimate, within: str) -> str:
    """Return the verdict about a difference by its 95 % interval and the margin."""
    if gap.lower >= -MARGIN and gap.upper <= MARGIN:
        return within
    return DIFFERS if gap.lower > 0 or gap.upper < 0 else CANNOT_TELL


def verdict(comparisons: Sequence[RatePoint]) -> str:
    """Return in one line how many points equal the published ones; `OK` where none differs."""
    kinds = Counter(found.kind for found in comparisons)
    compared = len(comparisons) - kinds[SHORT]
    equal = kinds[EQUAL] + sum(
        found.kind == CHOSEN and found.chosen is not None and found.chosen.same == found.runs
        for found in comparisons
    )
    counted = [f"{kinds[kind]} {kind}" for kind in RATE_VERDICTS[1:] if kinds[kind]]
    counted += [f"{n} end otherwise" for n in [kinds[EQUAL] + kinds[CHOSEN] - equal] if n]
    counted += [f"{n} {SHORT} (shortened runs)" for n in [kinds[SHORT]] if n]
    text = f"{equal} of {plural(compared, 'comparable point')} equal the published ones"
    start = "OK: " if equal == compared > 0 else ""
    return "; ".join([start + text, *counted])


def rates(runs: pd.DataFrame) -> list[str]:
    """Return the success rate of every model, with its interval."""
    every = runs.groupby("model", sort=False)
    return [
        f"{model} {counted(solved_of(own), len(own), by_seed.effect_of(own))}"
        for model, own in every
    ]


def measured_points(experiment: Experiment, runs: pd.DataFrame) -> list[MeasuredPoint]:
    """Return every measure of every point that there are runs for; families where one is given.

    runs: one row per measured run.
    """
    given = published_measures(experiment.key)
    found: list[MeasuredPoint] = []
    for key, point, options, group in places(experiment, runs):
        model = experiment.model(key)
        settings = options_of(experiment, runs_of(model, [0], None)[0]) | dict(options)
        known = [one for one in given if one.model == key and one.is_about(settings)]
        length = shortened(experiment, runs.loc[runs["model"] == key])
        place = Point(model=key, label=model.label, point=point, length=length)
        found += _of_point(experiment, place, group, known, runs)
    return found


def _of_point(
    experiment: Experiment,
    place: Point,
    group: pd.DataFrame,
    known: Sequence[PublishedMeasure],
    runs: pd.DataFrame,
) -> list[MeasuredPoint]:
    found: list[MeasuredPoint] = []
    for column in measure_columns(experiment, group.columns):
        measure = measure_of(experiment, column)
        given = [one for one in known if one.measure == column]
        if measure is None or not (given or is_plain(experiment, column)):
            continue
        values = group[column].to_numpy(float)
        if np.isnan(values).all() and not group[DIVERGED].to_numpy().any():
            continue
        name, numbers = label_of(experiment, measure, column), summed_up(values, measure)
        own = {"column": column, "name": name, "measure": measure, "numbers": numbers}
        point = MeasuredPoint(**vars(place), **own)
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
    return replace(point, published=known, pairs=Pairs([*zip(ours, theirs, strict=True)]))


def measures_counted(points: Sequence[MeasuredPoint]) -> str:
    """Return how many numbers that were given elsewhere have which verdict."""
    given = [point for point in points if point.published is not None]
    if not given:
        return "no number given elsewhere to compare with"
    kinds = Counter(SHORT if point.length else str(point.verdict) for point in given)
    counted = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())
    return f"{len(given)} numbers given elsewhere: {counted}"
