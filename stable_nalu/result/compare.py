"""Reproduced numbers beside the published ones, and what the comparison shows.

Two rates are called equal only where their counts are identical. Otherwise the difference has
Newcombe's interval, and a verdict of equivalence follows from it at a margin of five points. Seeds
that are only some of the published ones are no sample of all: they are compared one by one, where
the outcome of each is known. Runs that are shorter than the published ones have no verdict.
"""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stable_nalu.console import plural
from stable_nalu.paper.experiment import Experiment, seeds_text
from stable_nalu.paper.published import (
    Bounded,
    Published,
    PublishedSeeds,
    published,
    published_seeds,
)
from stable_nalu.statistics.estimators import LEVEL
from stable_nalu.statistics.intervals import (
    Estimate,
    difference,
    paired_difference,
    sign_test,
    wilson,
)
from stable_nalu.statistics.table import in_columns

if TYPE_CHECKING:
    import pandas as pd

MARGIN = 0.05
"""The margin of equivalence: five points of a rate, or five percent of a mean."""

EQUAL, DIFFERS, CANNOT_TELL = "equal", "differs", "inconclusive"
WITHIN_POINTS, WITHIN_PERCENT, WITHIN_LIMIT = "within 5 points", "within 5 %", "below the limit"
CHOSEN, SHORT = "chosen seeds", "not comparable"
RATE_VERDICTS = (EQUAL, WITHIN_POINTS, CANNOT_TELL, DIFFERS)
"""Verdicts about rates that are compared as rates."""


@dataclass(frozen=True)
class SolvedSteps:
    """Where seeds were solved that are solved here and in the papers, as pairs of steps."""

    pairs: Sequence[tuple[float, float]]

    @property
    def same(self) -> int:
        """Return how many are solved at the same logged step."""
        return sum(ours == theirs for ours, theirs in self.pairs)

    @property
    def sooner(self) -> int:
        """Return how many are solved sooner here."""
        return sum(ours < theirs for ours, theirs in self.pairs)

    @property
    def later(self) -> int:
        """Return how many are solved later here."""
        return len(self.pairs) - self.same - self.sooner

    @property
    def means(self) -> tuple[float, float]:
        """Return the arithmetic means, here and in the papers."""
        ours, theirs = (sum(side) / len(self.pairs) for side in zip(*self.pairs, strict=True))
        return ours, theirs

    @property
    def p(self) -> float:
        """Return the p of the sign test: whether sooner and later are equally likely."""
        return sign_test(self.sooner, self.later)

    def __str__(self) -> str:
        told = f"{self.same} of {len(self.pairs)} at the same step"
        moved = f"{self.sooner} sooner, {self.later} later, p = {self.p:.2g}"
        return f"{told}; {moved}" if self.sooner or self.later else told


@dataclass(frozen=True)
class Chosen:
    """Some of the published seeds, the runs of them here, and how many end as published.

    steps: of seeds that are solved on both sides; None where the papers do not tell them.
    """

    seeds: tuple[int, ...]
    runs: int
    same: int
    steps: SolvedSteps | None = None

    def __str__(self) -> str:
        what = "chosen seeds" if self.runs == len(self.seeds) else "runs of chosen seeds"
        seeds = seeds_text(self.seeds).replace(",", ", ")
        return f"{self.same} of {self.runs} {what} ({seeds}) end as published"


@dataclass(frozen=True)
class Comparison:
    """One published point and what the runs at hand give for it.

    chosen: the fate of the seeds at hand, where they are some of those with a known outcome.
    length: the iterations of our runs and of the published ones, where ours are shorter.
    gap: our rate less the published one, with its interval; None where no rate is compared.
    summary: the summary of these runs, by the columns of `statistics.summary`.
    """

    published: Published
    chosen: Chosen | None
    solved: int
    runs: int
    length: tuple[int, int] | None
    gap: Estimate | None
    summary: Mapping[str, float]

    @property
    def kind(self) -> str:
        """Return the kind of verdict about the success rate."""
        known = self.published
        # A short run that failed tells nothing; one that is solved so far does.
        told = self.chosen is not None and self.chosen.same == self.solved == self.runs
        if self.chosen is not None and (told or not self.length):
            return CHOSEN
        if self.gap is None:
            return SHORT
        if (self.solved, self.runs) == (known.solved, known.runs):
            return EQUAL
        return equivalence(self.gap, WITHIN_POINTS)

    @property
    def verdict(self) -> str:
        """Return the verdict about the success rate in words."""
        length = "{:,} of {:,} iterations".format(*self.length) if self.length else ""
        if self.kind == CHOSEN:
            return f"{self.chosen}, after {length}" if length else str(self.chosen)
        return f"{SHORT}: {length}" if self.kind == SHORT else self.kind

    @property
    def steps(self) -> str | None:
        """Return the kind of verdict about the steps solved at: of the means, or of the same seeds.

        None where a mean has no interval, where runs were shorter and late ones are not solved yet,
        and where ours are only some of the published seeds, whose steps are not known.
        """
        if self.chosen is not None:
            steps = self.chosen.steps
            if steps is None or self.length:
                return None
            return DIFFERS if steps.p < LEVEL else CHOSEN
        return self._of_means(self.published.mean, "converged.at")

    @property
    def steps_verdict(self) -> str | None:
        """Return the verdict about the steps in words."""
        chosen = self.chosen
        return str(chosen.steps) if self.steps and chosen and chosen.steps else self.steps

    @property
    def sparsity(self) -> str | None:
        """Return the verdict about the mean sparsity errors; a published limit is one here, too."""
        return self._of_means(self.published.sparsity, "sparse.error")

    def _of_means(self, theirs: Bounded, measure: str) -> str | None:
        # Some of the published seeds are no sample of all.
        if self.length or self.runs < self.published.runs:
            return None
        return _verdict_of_means(theirs, self.summary, measure)

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


def compared(
    experiment: Experiment, runs: pd.DataFrame
) -> tuple[pd.DataFrame, list[dict[str, Any]], str]:
    """Sum up judged runs, and compare them with what was published.

    Return the summary, the rows of the comparison, and how many of them have which verdict.
    """
    from stable_nalu.statistics.estimators import PUBLISHED
    from stable_nalu.statistics.summary import summarize_runs

    wanted = ("model", "operation", "interpolation.range", experiment.parameter)
    points = [column for column in dict.fromkeys(wanted) if column in runs.columns]
    found = compare(experiment, runs)
    rows, summary = [one.row() for one in found], summarize_runs(runs, points, PUBLISHED)
    return summary, rows, verdict(found)


def compare(experiment: Experiment, runs: pd.DataFrame) -> list[Comparison]:
    """Compare every published point of an experiment that there are runs for.

    runs: one row per judged run.
    """
    found = [(point, runs_at(point, runs)) for point in published(experiment.key)]
    return [comparison(experiment, *pair) for pair in found if not pair[1].empty]


def runs_at(point: Published, runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs that a published point is to be compared with."""
    chosen = runs.loc[(runs["model"] == point.model) & (runs["operation"] == point.operation)]
    if point.column and point.column in chosen.columns:
        at = [same_point(value, point.point) for value in chosen[point.column]]
        return chosen.loc[at]
    return chosen


def comparison(experiment: Experiment, point: Published, runs: pd.DataFrame) -> Comparison:
    """Compare a published point with the runs for it."""
    length, chosen = shortened(experiment, runs), chosen_of(point, runs)
    gap = None if chosen or length else _gap(point, runs)
    return Comparison(point, chosen, solved_of(runs), len(runs), length, gap, summary_of(runs))


def shortened(experiment: Experiment, runs: pd.DataFrame) -> tuple[int, int] | None:
    """Return the iterations of runs of one model and of the published ones, if those had more.

    They are those of the shortest run. A run of the length of any variant counts as whole, and so
    do runs without a column of iterations.
    """
    if "iterations" not in runs.columns or runs.empty:
        return None
    model = experiment.model(runs["model"].iloc[0])
    lengths = {model.length(variant) for variant in model.variants}
    short = [n for n in runs["iterations"].tolist() if n < max(lengths) and n not in lengths]
    if not short:
        return None
    kept = int(min(short))
    return kept, min(length for length in lengths if length > kept)


def cut_short(experiment: Experiment, runs: pd.DataFrame) -> str:
    """Return `NMU 2,000 of 50,000 iterations` for all models with shorter runs than published.

    Where a script counts epochs, it is these.
    """
    told, unit = [], "iterations"
    for model in experiment.models:
        if length := shortened(experiment, runs.loc[runs["model"] == model.key]):
            if model.steps_per_epoch:
                length, unit = [count // model.steps_per_epoch for count in length], "epochs"
            told.append("{} {:,} of {:,}".format(model.label, *length))
    return f"{'; '.join(told)} {unit}" if told else ""


def chosen_of(point: Published, runs: pd.DataFrame) -> Chosen | None:
    """Return what became of runs that are only some of the published ones.

    None where they are all, or where the outcome of a seed is not known.
    """
    fates = fates_of(point, runs)
    if fates is None or len(runs) >= point.runs:
        return None
    same = sum(ours == theirs for ours, theirs in fates)
    known = _known_of(point)
    steps = None if known is None else steps_of(known, runs)
    return Chosen(tuple(sorted(set(runs["seed"].tolist()))), len(runs), same, steps)


def fates_of(point: Published, runs: pd.DataFrame) -> list[tuple[bool, bool]] | None:
    """Return per run whether it is solved here and in the papers; None where a seed is unknown.

    Where all published runs or none were solved, the outcome of every seed follows.
    """
    ours = list(zip(runs["seed"].tolist(), runs["solved"].astype(bool).tolist(), strict=True))
    if point.solved in (0, point.runs) and all(0 <= seed < point.runs for seed, _ in ours):
        return [(solved, point.solved > 0) for _, solved in ours]
    known = _known_of(point)
    if known is None or not all(0 <= seed < known.runs for seed, _ in ours):
        return None
    return [(solved, seed in known.solved_at) for seed, solved in ours]


def _known_of(point: Published) -> PublishedSeeds | None:
    wanted = (point.model, point.operation)
    every = published_seeds(point.experiment)
    return next((one for one in every if (one.model, one.operation) == wanted), None)


def steps_of(known: PublishedSeeds, runs: pd.DataFrame) -> SolvedSteps | None:
    """Return the steps of seeds that are solved on both sides; None where there are none."""
    solved = runs.loc[runs["solved"].astype(bool)]
    ours = zip(solved["seed"].tolist(), solved["extrapolation.step.solved"].tolist(), strict=True)
    pairs = [(step, known.solved_at[seed]) for seed, step in ours if seed in known.solved_at]
    return SolvedSteps(pairs) if pairs else None


def _gap(point: Published, runs: pd.DataFrame) -> Estimate:
    """Return our rate less the published one; paired, where the outcomes of seeds are known."""
    fates = fates_of(point, runs)
    if fates is not None and len(fates) == point.runs:
        return paired_difference(fates)
    return difference(wilson(solved_of(runs), len(runs)), wilson(point.solved, point.runs))


def solved_of(runs: pd.DataFrame) -> int:
    """Return how many of these runs are solved."""
    return int(runs["solved"].to_numpy(bool).sum())


def summary_of(runs: pd.DataFrame) -> dict[str, float]:
    """Return the estimates of some judged runs, made as the papers do."""
    from stable_nalu.statistics.summary import SOLVED, SPARSITY, STEP

    columns = (runs[SOLVED].astype(bool), runs[STEP].astype(float), runs[SPARSITY].astype(float))
    return _summary(*(tuple(column) for column in columns))


@functools.cache
def _summary(
    solved: tuple[bool, ...], steps: tuple[float, ...], sparsity: tuple[float, ...]
) -> dict[str, float]:
    """Return the summary; runs that several figures share are summarised once."""
    import numpy as np

    from stable_nalu.statistics.summary import summarize_group

    return summarize_group(np.array(solved, bool), np.array(steps), np.array(sparsity))


def _verdict_of_means(theirs: Bounded, ours: Mapping[str, float], measure: str) -> str | None:
    """Return the verdict about the difference of two means, in shares of the published one.

    Its interval follows from theirs as Newcombe's does from Wilson's (the method MOVER).
    """
    here = Estimate(*(ours[f"{measure}.{end}"] for end in ("mean", "lower", "upper")))
    if theirs.upper is None or math.isnan(here.mean):
        return None
    if theirs.value is None:
        lower, upper = (here.mean if math.isnan(x) else x for x in (here.lower, here.upper))
        limit = theirs.upper
        return WITHIN_LIMIT if upper <= limit else DIFFERS if lower > limit else CANNOT_TELL
    if theirs.lower is None or math.isnan(here.lower) or math.isnan(here.upper):
        return None
    gap = difference(here, Estimate(theirs.value, theirs.lower, theirs.upper))
    unit = abs(theirs.value) or 1.0
    return equivalence(
        Estimate(gap.mean / unit, gap.lower / unit, gap.upper / unit), WITHIN_PERCENT
    )


def equivalence(gap: Estimate, within: str) -> str:
    """Return the verdict about a difference by its 95 % interval and the margin."""
    if gap.lower >= -MARGIN and gap.upper <= MARGIN:
        return within
    return DIFFERS if gap.lower > 0 or gap.upper < 0 else CANNOT_TELL


def same_point(value: object, text: str) -> bool:
    """Return whether a cell is the published point: by number where both are numbers, else by text.

    A published two-part range is named by its ends alone.
    """
    try:
        return math.isclose(float(str(value)), float(text))
    except ValueError:
        return str(value).replace(" ", "") == text.replace(" ", "")


def aligned(rows: Sequence[Mapping[str, object]]) -> list[str]:
    """Return a line of names and one per row, in aligned columns; nothing without rows."""
    cells = [[_shown(c) for c in row.values()] for row in rows]
    return in_columns(list(rows[0]), cells) if cells else []


def verdict(comparisons: Sequence[Comparison]) -> str:
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
    found = []
    for model, own in runs.groupby("model", sort=False):
        rate = wilson(solved_of(own), len(own))
        interval = f"{100 * rate.lower:.0f}–{100 * rate.upper:.0f} %"
        found.append(f"{model} {solved_of(own)} of {len(own)} [{interval}]")
    return found


def _shown(cell: object) -> str:
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return "-"
    return f"{cell:.3g}" if isinstance(cell, float) else str(cell)
