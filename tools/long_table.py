"""The long table that the page is made of: a line for each number of ours, beside a published one.

It is written as `tables/results.csv`. No line is written by hand, and the page counts these lines.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pandas as pd

from stable_nalu.paper.experiment import Experiment, seeds_text
from stable_nalu.paper.index import EXPERIMENTS
from stable_nalu.paper.published import Bounded, Published, PublishedSeeds, published
from stable_nalu.result import judged
from stable_nalu.statistics import intervals as by_seed
from stable_nalu.statistics.intervals import Estimate, Pairs, difference, wilson
from stable_nalu.statistics.setups import LEVEL
from stable_nalu.statistics.summary import STEP, solved_of
from stable_nalu.statistics.table import SPARSITY as ERROR

from .notes import note

RATE = "success rate"
MEANS = MEAN_STEP, SPARSITY = ("mean step", "sparsity error")
_WITHIN = (judged.WITHIN_POINTS, judged.WITHIN_PERCENT, judged.WITHIN_LIMIT)
GOOD = (*_WITHIN, judged.WITHIN_TOLERANCE, judged.HOLDS)
BAD = (judged.DIFFERS, judged.FAILS)
FEWEST_PAIRS = 5
"""Pairs below which means are compared as printed."""
COMPARABLE = (judged.EQUAL, *GOOD, judged.CANNOT_TELL, *BAD)
"""Verdicts of numbers that can be compared with a published one."""

PAPER = "paper, "
SOURCES = {where: f"{PAPER}{where}" for where in ("table", "figure", "abstract", "derived")} | {
    "report": "report of 2023, not reviewed",
    "talk": "slide deck of 2021, by pixel",
    "repository": "repository of the unit, of an earlier state of it",
}
"""Where a rate was read, in words; published are those of papers."""
OF_ANOTHER = SOURCES["repository"]
"""The source of numbers that are of another unit than ours: shown beside ours, not counted."""


_NAMES = (
    "paper figure key model unit operation point measure rule n seeds solved ours lower upper "
    "median_step source published_n published_solved published published_lower published_upper gap "
    "gap_lower gap_upper verdict test informative counted note"
)
_EMPTY = dict.fromkeys(_NAMES.split()) | dict.fromkeys(("source", "verdict", "test", "note"), "")
_EMPTY |= {"informative": 0, "counted": 0}


class Line(SimpleNamespace):
    """A number of ours, and the published one, if there is one.

    point: the setting, such as a range. n, seeds: the runs behind our number.
    solved: of a success rate. median_step: the median step at which they are solved.
    lower, upper, gap_lower, gap_upper: ends of 95 % intervals. gap: ours less the published one.
    rule: which errors count as solved, by the name of the criterion.
    test: what runs of the same seed say, and other words behind the verdict.
    informative: 0 where both rates are 0 %, or both are 100 %, which nearly any code would give.
    counted: 1 in one of the lines that hold the same published number, if it can be compared.
    """

    def __init__(self, **values: Any):
        super().__init__(**_EMPTY | values)

    @property
    def here(self) -> Estimate:
        return _estimate(self.ours, self.lower, self.upper)

    @property
    def there(self) -> Estimate:
        return _estimate(self.published, self.published_lower, self.published_upper)

    @property
    def gap_ends(self) -> Estimate | None:
        ends = (self.gap, self.gap_lower or 0, self.gap_upper or 0)
        return None if self.gap is None else Estimate(*ends)

    @property
    def is_of_rates(self) -> bool:
        """Return whether it is a rate, or a mean of runs that are solved or not."""
        return self.solved is not None


def _estimate(*ends: float | None) -> Estimate:
    return Estimate(*(math.nan if end is None else end for end in ends))


Kept = Mapping[str, pd.DataFrame]
"""Key of an experiment -> its kept runs."""
Lines = Sequence[Line]
Values = dict[str, Any]
Found = Iterator[tuple[Values, Any]]
"""Values of lines, each with what was published."""


def long_table(every: Kept, notes: Mapping[str, str]) -> list[Line]:
    """Return all lines; each published number is counted once, though several figures show it."""
    seen, lines = set(), []
    for key, runs in every.items():
        experiment = EXPERIMENTS[key]
        of_kind = _measured if experiment.is_measured else _judged
        for values, known in of_kind(experiment, runs, notes):
            line = Line(**place_of(experiment), **values)
            pair = known, line.measure
            if known and line.verdict in COMPARABLE and pair not in seen:
                line.counted = int(line.source != OF_ANOTHER)
            seen |= {pair} if line.counted else set()
            lines.append(line)
    return lines


def _judged(experiment: Experiment, runs: pd.DataFrame, notes: Mapping[str, str]) -> Found:
    """Yield every point that there are runs for, in order; whole models follow their points."""
    left = [(known, judged.runs_at(known, runs)) for known in published(experiment.key)]
    found: dict[str, list[tuple[str, pd.DataFrame, Published | None]]] = {}
    for model, point, _, group in judged.places(experiment, runs):
        match = [known for known, own in left if own.index.equals(group.index)]
        left = [pair for pair in left if pair[0] not in match]
        found.setdefault(model, []).append((point, group, match[0] if match else None))
    for known, own in left:
        if len(own):
            found[known.model].append((judged.ALL_POINTS, own, known))
    for model, of_model in found.items():
        for point, group, known in of_model:
            remark = note(notes, experiment.key, model, point)
            one = _rate(experiment, model, point, group)
            yield from _compared(one, experiment, known, group, remark) if known else [(one, None)]


def _rate(experiment: Experiment, model: str, point: str, runs: pd.DataFrame) -> dict[str, Any]:
    found = by_seed.rate(runs["seed"].tolist(), runs["solved"].to_numpy(bool).tolist())
    steps = runs.loc[runs["solved"].astype(bool), STEP]
    return {
        **{"model": model, "unit": str(experiment.model(model).label), "point": point},
        **{"operation": str(runs["operation"].iloc[0]), "measure": RATE, "n": len(runs)},
        **{"seeds": seeds_text(set(runs["seed"].tolist())), "solved": solved_of(runs)},
        **_in_columns(*found),
        "median_step": _short(steps.median()) if len(steps) else None,
    }


def _in_columns(*ends: Any, of: Sequence[str] = ("ours", "lower", "upper")) -> Values:
    return {name: _short(end) for name, end in zip(of, ends, strict=True)}


_THEIRS = ("published", "published_lower", "published_upper")
_GAP = ("gap", "gap_lower", "gap_upper")


def _compared(
    values: Values, e: Experiment, known: Published, runs: pd.DataFrame, remark: str
) -> Found:
    """Yield our rate beside a published one, then the mean step and the sparsity error.

    These have a line where one was published.
    """
    one = judged.RatePoint(e, runs, values["point"], known)
    theirs = wilson(known.solved, known.runs, by_seed.effect_of(runs))
    values |= {"source": SOURCES[known.source], "published_n": known.runs}
    values |= {"published_solved": known.solved}
    own = _in_columns(*theirs, of=_THEIRS) | _in_columns(*(one.gap or [None] * 3), of=_GAP)
    own |= {"verdict": str(one.kind), "note": remark if one.kind == judged.DIFFERS else ""}
    own["test"] = str(one.verdict) if one.kind in (judged.CHOSEN, judged.SHORT) else ""
    own["informative"] = int({values["ours"], theirs.mean} not in ({0.0}, {1.0}))
    yield values | own, known
    parts = (
        (MEAN_STEP, "converged.at", known.mean, *verdict_of(one, runs, STEP)),
        (SPARSITY, "sparse.error", known.sparsity, *verdict_of(one, runs, ERROR)),
    )
    for measure, name, bounds, kind, words in parts:
        if kind is not None or bounds.value is not None or bounds.upper is not None:
            own = _in_columns(*(one.summary[f"{name}.{end}"] for end in Estimate._fields))
            own |= _in_columns(bounds.value, bounds.lower, bounds.upper, of=_THEIRS)
            own |= {"measure": measure, "median_step": None, "informative": 1}
            own |= {"verdict": kind or "", "note": remark if kind == judged.DIFFERS else ""}
            yield values | own | {"test": words if words and words != kind else ""}, known


def place_of(experiment: Experiment) -> dict[str, Any]:
    """Return where an experiment is shown, its key and its rule."""
    paper = experiment.paper.key if experiment.paper else ""
    place = {"paper": paper, "figure": "; ".join(experiment.numbers)}
    return place | {"key": experiment.key, "rule": experiment.criterion}


def anchor_of(experiment: Experiment) -> str:
    """Return where the page tells of an experiment: in the section of a paper, or of none."""
    return experiment.paper.key if experiment.paper else "other"


def pairs_of(known: PublishedSeeds, runs: pd.DataFrame, column: str) -> Pairs | None:
    """Return the steps, or sparsity errors, of seeds that are solved on both sides."""
    theirs = known.solved_at if column == STEP else known.sparsity
    solved = runs.loc[runs["solved"].astype(bool)]
    ours = zip(solved["seed"].tolist(), solved[column].tolist(), strict=True)
    pairs = [(value, theirs[seed]) for seed, value in ours if seed in theirs]
    return Pairs(pairs) if pairs else None


Verdict = tuple[str | None, str | None]
"""The kind of a verdict, and the same in words; None where nothing is compared."""


def verdict_of(one: judged.RatePoint, runs: pd.DataFrame, column: str) -> Verdict:
    """Return the verdict about the mean of a column: `STEP`, or the sparsity error.

    It is of the means as printed, or by seed where the outcome of every seed is known. None where a
    mean has no interval, where runs were shorter and late ones are not solved yet, and where ours
    are only some of the published seeds, whose steps are not known.
    """
    known = None if one.length else judged.seeds_of(one.published)
    pairs = None if known is None else pairs_of(known, runs, column)
    if one.chosen is not None:
        if pairs is None or column != STEP:
            return None, None
        return judged.DIFFERS if pairs.p < LEVEL else judged.CHOSEN, pairs.steps
    of_steps = one.published.mean, "converged.at"
    of_errors = one.published.sparsity, "sparse.error"
    kind = mean_verdict(one, *(of_steps if column == STEP else of_errors))
    if pairs is None or kind in (None, judged.EQUAL) or len(pairs.values) < FEWEST_PAIRS:
        return kind, kind
    ratio = pairs.ratio
    low, mean, high = (f"{100 * share:+.0f}" for share in (ratio.lower, ratio.mean, ratio.upper))
    return judged.equivalence(ratio, judged.WITHIN_PERCENT), f"by seed {mean} [{low},{high}] %"


def mean_verdict(one: judged.RatePoint, theirs: Bounded, measure: str) -> str | None:
    """Return the verdict about the difference of two means, in shares of the published one.

    Its interval follows from theirs as Newcombe's does from Wilson's (the method MOVER). A
    published limit is one here, too. Some of the published seeds are no sample of all.
    """
    if theirs.upper is None or one.length or one.runs < one.published.runs:
        return None
    here = Estimate(*(one.summary[f"{measure}.{end}"] for end in ("mean", "lower", "upper")))
    if math.isnan(here.mean):
        return None
    if theirs.value is None:
        lower, upper = (here.mean if math.isnan(x) else x for x in (here.lower, here.upper))
        if upper <= theirs.upper:
            return judged.WITHIN_LIMIT
        return judged.DIFFERS if lower > theirs.upper else judged.CANNOT_TELL
    if theirs.lower is None or math.isnan(here.lower) or math.isnan(here.upper):
        return None
    printed = Estimate(theirs.value, theirs.lower, theirs.upper)
    if is_printed(here, printed):
        return judged.EQUAL
    gap = difference(here, printed)
    unit = abs(theirs.value) or 1.0
    return judged.equivalence(Estimate(*(end / unit for end in gap)), judged.WITHIN_PERCENT)


def is_printed(here: Estimate, printed: Estimate) -> bool:
    """Return whether a mean and the ends of its interval equal printed ones in all their digits."""
    texts = [Decimal(repr(value)).normalize() for value in printed]
    last = Decimal(1).scaleb(min(int(text.as_tuple().exponent) for text in texts))
    ours = [(Decimal(repr(float(value))) / last).to_integral_value() * last for value in here]
    return ours == texts


def _measured(experiment: Experiment, runs: pd.DataFrame, notes: Mapping[str, str]) -> Found:
    """Yield every measure of every point; a claim that one is below another is in `test`."""
    for one in judged.measured_points(experiment, runs):
        known = one.published
        own = runs.loc[runs["model"] == one.model]
        values = {
            **{"model": one.model, "unit": one.label, "operation": "", "point": one.point},
            **{"measure": f"{one.name}, {one.measure.typical}", "n": one.numbers["runs"]},
            **{"seeds": seeds_text(set(own["seed"].tolist())), "ours": _short(one.ours)},
        }
        if known is not None:
            claim = f"below {known.better_than}: " if known.better_than else ""
            remark = note(notes, experiment.key, one.model, one.point)
            # Where it is published it was read in the paper, else as it is stated.
            stands = "claim" if known.standing == "published" else known.standing
            read_in = f"{PAPER if known.label == 'PUB' else ''}{stands}: {known.source}"
            ends = (None, None)
            if known.number is not None and known.tolerance is not None:
                ends = (known.number - known.tolerance, known.number + known.tolerance)
            values |= _in_columns(known.number, *ends, of=_THEIRS)
            values |= {"source": read_in, "gap": _short(one.difference), "informative": 1}
            values |= {"verdict": str(one.verdict), "note": remark if one.differs else ""}
            values["test"] = f"{claim}{one.pairs.claim}" if one.pairs else ""
        yield values, known


def _short(value: Any) -> float | None:
    """Return a number in six digits, which machines do not tell apart by last bits."""
    if value is None or math.isnan(value):
        return None
    return float(f"{value:.6g}")


def tally(lines: Lines) -> dict[str, int]:
    """Return how many numbers are compared, and how many of them have which verdict."""
    counted = [line for line in lines if line.counted]
    informative = [line for line in counted if line.informative]
    every, actual = (Counter(line.verdict for line in own) for own in (counted, informative))
    return {
        **{"compared": len(counted), "identical": every[judged.EQUAL]},
        **{"informative": len(informative), "of these identical": actual[judged.EQUAL]},
        "within the margin": sum(every[kind] for kind in GOOD),
        "inconclusive": every[judged.CANNOT_TELL],
        "differ": sum(every[kind] for kind in BAD),
    }


def margins(lines: Lines) -> str:
    """Return how many of the numbers within the margin have which verdict, in words."""
    found = Counter(line.verdict for line in lines if line.counted and line.verdict in GOOD)
    words = {judged.HOLDS: "by a sign test"}
    return ", ".join(f"{found[kind]} {words.get(kind, kind)}" for kind in GOOD if found[kind])
