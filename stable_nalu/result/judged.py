"""Runs of an experiment, judged once, and compared with the numbers that were given elsewhere.

A judged run is a row with its settings and its outcome. If the experiment has a criterion, the
outcome is a verdict. If it is measured, the outcome is the last logged row, or the row in which the
measure that the experiment selects by was lowest. Requested values of earlier steps or epochs are
columns of the form `column@step`. NaN and infinity are results.

Two rates are called equal only if their counts are identical, two means only if all printed digits
are. Otherwise the difference has an interval, and a verdict of equivalence follows from it at a
margin of five points. Some of the published seeds are not a random sample of all: they are compared
one by one, if the outcome of each is known. Runs that are shorter than the published ones have no
verdict.

A measure is compared if the tolerance of the number given elsewhere is known. A claim that one
model is below another is tested on the runs of the same seed: few seeds decide nothing.
"""

import functools
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import pandas as pd

from stable_nalu.base.errors import UsageError
from stable_nalu.base.script import plural
from stable_nalu.paper.experiment import (
    ExpectedRun,
    Experiment,
    Measure,
    Model,
    expected_runs,
    seeds_text,
)
from stable_nalu.paper.index import EXPERIMENTS
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
from stable_nalu.statistics.setups import LEVEL, PUBLISHED, config_columns, expand_name
from stable_nalu.statistics.summary import STEP, solved_of, summarize_runs, summary_of
from stable_nalu.statistics.table import (
    DIVERGED,
    SPARSITY,
    Warn,
    best_rows,
    groups,
    judge_tables,
    measured_at_the_end,
    numeric,
)
from stable_nalu.task.table import SCRIPTS

from .shard import how_to_run

TEST_ERROR = "extrapolation.last"
OUTCOME = ("threshold", "solved", STEP, SPARSITY, TEST_ERROR, DIVERGED)
"""Columns behind those that tell judged runs apart, with the names that `statistics` uses."""

Runs = pd.DataFrame
_DIGITS, _DIGITS_OF_FIGURES = 7, 4
_NO_POINT = {"name", "seed", "max.iterations", "max.epochs", "log.interval"}
_OF_MODELS = {"model", "model_code", "layer.type", "extrapolation.range"}
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
_COLUMNS = (
    *("model", "operation", "point", "published.solved", "published.runs", "solved", "runs"),
    *("difference", "difference.lower", "difference.upper", "published.median", "median"),
    *("published.mean", "mean", "published.sparsity", "sparsity", "source", "verdict"),
)
"""Of the comparison of rates."""


def runs_of(
    model: Model, seeds: Sequence[int] | None, max_iterations: int | None
) -> list[ExpectedRun]:
    extra = how_to_run(model, model.variants[0], max_iterations) if max_iterations else None
    return expected_runs(model, seeds, extra)


def iterations_of(run: ExpectedRun) -> int:
    """Return the iterations of a planned run, or its updates where a script counts epochs."""
    config = run.config.as_dict()
    if "max_iterations" in config:
        return int(config["max_iterations"])
    epochs = SCRIPTS[run.model.script].epochs(int(config["max_epochs"]))
    return epochs * run.model.steps_per_epoch


def shortened(experiment: Experiment, runs: pd.DataFrame) -> tuple[int, int] | None:
    """Return the iterations of one model's shortest run and of the published, longer runs.

    Return None if no run is shorter: a run of the length of any variant counts as whole, and so do
    runs without a column of iterations.
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


def options_of(experiment: Experiment, run: ExpectedRun) -> dict[str, Any]:
    columns = config_columns(run.config)
    return columns if experiment.is_measured else expand_name(run.leaf, columns)


@functools.cache
def point_columns(key: str) -> tuple[str, ...]:
    """Return the columns that tell the points of a model apart, as planned.

    Of judged runs that is the operation, the range, the parameter, and what has several values in a
    model. Of measured ones it is the fewest options that do, the operation first.
    """
    experiment = EXPERIMENTS[key]
    measured, parameter = experiment.is_measured, experiment.parameter
    found = dict.fromkeys(() if measured else ("operation", "interpolation.range"))
    left_out = _NO_POINT if measured else _NO_POINT | _OF_MODELS
    for model in experiment.models:
        runs = runs_of(model, model.seeds[:1] if measured else [0], None)
        options = [options_of(experiment, run) for run in runs]

        def distinct(*columns: str, options: Sequence[Mapping[str, Any]] = options) -> int:
            return len({tuple(text_of(one.get(c)) for c in columns) for one in options})

        chosen = [column for column in found if column in options[0]]
        for column in ("operation", parameter, *options[0]):
            if column in options[0] and column not in (*chosen, *left_out):
                adds = distinct(*chosen, column) > distinct(*chosen)
                if adds if measured else column == parameter or distinct(column) > 1:
                    chosen.append(column)
        found |= dict.fromkeys(chosen)
    return tuple(found)


def identifying(key: str) -> list[str]:
    return ["model", *point_columns(key), "seed"]


def runs_of_rows(experiment: Experiment, kept: pd.DataFrame) -> list[ExpectedRun | None]:
    """Return the whole run that each kept row is of, as planned; None where none is."""
    runs: dict[tuple[str, ...], ExpectedRun] = {}
    for key, found in kept.groupby("model", sort=False):
        model = experiment.model(str(key))
        for run in runs_of(model, sorted(set(found["seed"].tolist())), None):
            options = options_of(experiment, run) | {"model": model.key, "seed": run.seed}
            runs[identity_of(experiment, options)] = run
    return [runs.get(identity_of(experiment, row)) for row in kept.to_dict("records")]


def identity_of(experiment: Experiment, row: Mapping[Any, Any]) -> tuple[str, ...]:
    return tuple(text_of(row.get(column)) for column in identifying(experiment.key))


def text_of(cell: Any) -> str:
    """Return a cell as text that is the same for a configuration and for a table read back."""
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return ""
    return f"{cell:g}" if isinstance(cell, float) else str(cell)


def measure_of(experiment: Experiment, column: str) -> Measure | None:
    """Return the measure that a kept column is of; a column may be one of a family, or a step."""
    name = column.partition("@")[0]
    return next((one for one in experiment.measures if fnmatchcase(name, one.column)), None)


def clock_of(experiment: Experiment) -> str:
    """Return what the scripts of its runs count: epochs, or steps."""
    return "epoch" if any(model.steps_per_epoch for model in experiment.models) else "step"


def label_of(experiment: Experiment, measure: Measure, column: str) -> str:
    name, _, step = column.partition("@")
    rest = name.removeprefix(measure.column.removesuffix("*"))
    at_step = f", {clock_of(experiment)} {int(step):,}" if step else ""
    return measure.label.replace("*", rest) + at_step


def is_plain(experiment: Experiment, column: str) -> bool:
    """Return whether a kept column is one that every table shows: no family, no earlier step."""
    return column in {measure.column for measure in experiment.measures}


def measure_columns(experiment: Experiment, columns: Iterable[str]) -> list[str]:
    """Return the columns that are measures, in the order of the measures."""
    of = {column: measure_of(experiment, column) for column in columns}
    return [c for measure in experiment.measures for c, found in of.items() if found is measure]


def outcome_columns(experiment: Experiment, table: pd.DataFrame) -> tuple[str, ...]:
    if experiment.is_measured:
        return (*measure_columns(experiment, table.columns), DIVERGED)
    return OUTCOME


def judged_runs(
    experiment: Experiment, tables: Mapping[str, Runs], expected: Iterable[ExpectedRun], warn: Warn
) -> Runs:
    """Return one row per logged run, with the key of its model as `model`.

    Every row has its `name`, what tells it apart, its `iterations`, what came of it, and whether
    it `diverged`: its log ends early then.

    tables: what runs logged, by the names of their models' tables. expected: the same runs, as
        planned.
    """
    planned_in: dict[str, dict[str, ExpectedRun]] = {}
    for run in expected:
        planned_in.setdefault(run.model.csv, {})[run.leaf] = run
    of_table = _measures if experiment.is_measured else _verdicts
    parts: list[pd.DataFrame] = []
    for csv, own in planned_in.items():
        found = of_table(experiment, csv, tables[csv], own, warn)
        planned = [own[name] for name in found["name"]]
        found["model"] = [run.model.key for run in planned]
        found["iterations"] = list(map(iterations_of, planned))
        parts.append(found)
    table = pd.concat(parts, ignore_index=True)
    if experiment.is_measured:
        # A run whose log ends before that of another one of the same length.
        ends = table.groupby("iterations")["step"].transform("max")
        table[DIVERGED] = (table["step"] < ends).astype(int)
        kept = (*identifying(experiment.key), "iterations", *outcome_columns(experiment, table))
        table = table.loc[:, ["name", *kept]]
    return table


def _verdicts(
    experiment: Experiment, csv: str, table: Runs, runs: Mapping[str, ExpectedRun], warn: Warn
) -> Runs:
    found = judge_tables([(f"{csv}.csv", table)], replace(experiment.judgement, setups=()), warn)
    found = found.loc[found["name"].isin(list(runs))].copy()
    planned = [runs[name] for name in found["name"]]
    whole = [iterations_of(run) // run.config.log_interval + 1 for run in planned]
    diverged = found["size"] < whole
    found[DIVERGED] = diverged.astype(int)
    # Its last row is of a network that is no more.
    found.loc[diverged, "solved"] = False
    found.loc[diverged, STEP] = math.nan
    for column in ("interpolation.last", TEST_ERROR):
        found.loc[diverged & found[column].notna(), column] = math.inf
    return found


def _measures(
    experiment: Experiment, csv: str, table: Runs, runs: Mapping[str, ExpectedRun], warn: Warn
) -> Runs:
    table = table.loc[table["name"].isin(list(runs))]
    columns = measure_columns(experiment, table.columns)
    for measure in experiment.measures:
        if not any(measure_of(experiment, column) is measure for column in columns):
            warn(f"{csv}.csv holds no column {measure.column}")
    table = numeric(table, ["step", *columns], csv).sort_values("step", kind="stable")
    last = table.drop_duplicates("name", keep="last").set_index("name")
    chosen = last
    if by := experiment.selected_by:
        chosen = best_rows(table, by).set_index("name").loc[last.index]
    found: dict[str, Any] = {c: _rounded(chosen[c], experiment, c) for c in columns}
    clock = numeric(table, ["epoch"], csv)["epoch"] if "epoch" in table else table["step"]
    for column in columns:
        measure = measure_of(experiment, column)
        for step in measure.steps if measure else ():
            then = table.loc[clock == step].drop_duplicates("name", keep="last")
            if not then.empty:
                at_step: Any = then.set_index("name")[column]
                name = f"{column}@{step}"
                found[name] = _rounded(at_step.reindex(last.index), experiment, name)
    rows = []
    for name in last.index:
        run = runs[str(name)]
        options = options_of(experiment, run)
        known = {column: options.get(column) for column in point_columns(experiment.key)}
        rows.append({"name": name} | known | {"seed": run.seed})
    numbers = pd.DataFrame({"step": last["step"], **found}).reset_index(drop=True)
    return pd.concat([pd.DataFrame(rows), numbers], axis=1)


def _rounded(values: Any, experiment: Experiment, column: str) -> Any:
    """Return values in few digits, fewer where only figures show them."""
    digits = _DIGITS if is_plain(experiment, column) else _DIGITS_OF_FIGURES
    return values.map(lambda value: float(f"{value:.{digits}g}"))


def compact(row: Mapping[Any, Any]) -> dict[str, Any]:
    """Return a judged run with errors in few digits, on the same side of its threshold."""
    short = {name: float(f"{row[name]:.{_DIGITS}g}") for name in (SPARSITY, TEST_ERROR)}
    threshold, errors = row["threshold"], (short[TEST_ERROR], row[TEST_ERROR])
    if len({(error < threshold, error <= threshold) for error in errors}) > 1:
        short[TEST_ERROR] = row[TEST_ERROR]
    return {str(name): cell for name, cell in row.items()} | short | {"solved": int(row["solved"])}


class Point:
    """A model at a point, or at all of them together.

    point: text of the options that tell points apart; empty where none do.
    length: the iterations of our runs and of whole ones, where ours are shorter. extent: in words.
    """

    def __init__(self, experiment: Experiment, own: Runs, point: str):
        model = experiment.model(str(own["model"].iloc[0]))
        self.experiment, self.point = experiment, point
        self.model, self.label = model.key, model.label
        self.length = shortened(experiment, own)
        self.extent = "{:,} of {:,} iterations".format(*self.length) if self.length else ""


class RatePoint(Point):
    """The success rate of judged runs at a point, compared with the published one.

    summary: the summary of these runs, by the columns of `statistics.summary`.
    chosen: the fate of the seeds at hand, where they are some of those with a known outcome; same:
        how many of them end as published.
    gap: our rate minus the published one, with its interval; None if no rate is compared.
    kind, verdict: the verdict about the success rate, and in words.
    """

    def __init__(self, experiment: Experiment, runs: Runs, point: str, known: Published):
        super().__init__(experiment, runs, point)
        self.published, self.summary = known, summary_of(runs)
        self.solved, self.runs = solved_of(runs), len(runs)
        self.chosen: str | None = None
        self.same, self.gap = 0, None
        fates = fates_of(known, runs)
        if fates is not None and len(runs) < known.runs:
            self.same = sum(ours == theirs for ours, theirs in fates)
            seeds = sorted(set(runs["seed"].tolist()))
            what = "seeds" if len(runs) == len(seeds) else "runs of seeds"
            listed = seeds_text(seeds).replace(",", ", ")
            self.chosen = f"{self.same} of {len(runs)} {what} ({listed}) end as published"
        elif fates is not None and len(fates) == known.runs and not self.length:
            self.gap = by_seed.gap(runs["seed"].tolist(), fates)
        elif not self.length:
            effect = by_seed.effect_of(runs)
            counts = ((self.solved, self.runs), (known.solved, known.runs))
            here, there = (wilson(*count, effect) for count in counts)
            self.gap = difference(here, there)
        self.kind = self._kind()
        after = f", after {self.extent}" if self.length else ""
        words = {CHOSEN: f"{self.chosen}{after}", SHORT: f"{SHORT}: {self.extent}"}
        self.verdict = words.get(self.kind, self.kind)

    def _kind(self) -> str:
        # A short run that failed tells nothing; one that is solved so far does.
        alike = self.same == self.solved == self.runs
        if self.chosen is not None and (alike or not self.length):
            return CHOSEN
        if self.gap is None:
            return SHORT
        if (self.solved, self.runs) == (self.published.solved, self.published.runs):
            return EQUAL
        return equivalence(self.gap, WITHIN_POINTS)

    def row(self) -> dict[str, Any]:
        known, ours = self.published, self.summary
        cells = (
            *(known.model, known.operation, known.point, known.solved, known.runs),
            *(self.solved, self.runs, *(self.gap or (None, None, None))),
            *(known.median, ours["converged.at.median"]),
            *(known.mean.value, ours["converged.at.mean"]),
            *(known.sparsity.value, ours["sparse.error.mean"], known.source, self.verdict),
        )
        return dict(zip(_COLUMNS, cells, strict=True))


def summed_up(values: np.ndarray, measure: Measure) -> dict[str, Any]:
    """Return the columns of a summary of one value per run.

    One that is not a number counts as the worst there is; where a measure is optional, as no run.
    """
    if measure.optional:
        values = values[~np.isnan(values)]
    worst = math.inf if measure.lower else -math.inf
    known = np.where(np.isnan(values), worst, values)
    limit, best = measure.below, float(known.min() if measure.lower else known.max())
    with np.errstate(invalid="ignore", over="ignore"):
        median, mean = float(np.median(known)), float(known.mean())
    found = {"runs": len(values), "median": median, "best": best, "mean": mean, "limit": limit}
    found["share below"] = None if limit is None else float(np.mean(known < limit))
    return found | {"not finite": int((~np.isfinite(values)).sum())}


class MeasuredPoint(Point):
    """One measure of the runs at a point, compared with the number given elsewhere, if any.

    name: what tables call the measure. numbers: see `summed_up`. ours: the typical one of them.
    as_good: how many runs are as good as the number given elsewhere, or better.
    pairs: the test, by runs of the same seed, of a claim that ours are below another model's.
    """

    def __init__(
        self, place: Point, column: str, group: Runs, known: PublishedMeasure | None, runs: Runs
    ):
        vars(self).update(vars(place))
        self.column, self.published = column, known
        measure = measure_of(self.experiment, column)
        assert measure is not None
        self.measure, lower = measure, measure.lower
        values = group[column].to_numpy(float)
        self.name = label_of(self.experiment, self.measure, column)
        self.numbers = summed_up(values, self.measure)
        self.ours: float = self.numbers[self.measure.typical]
        self.as_good: int | None = None
        self.pairs: Pairs | None = None
        self.difference: float | None = None
        if known is not None and known.number is not None:
            self.difference = self.ours - known.number
            limit = known.number + (known.tolerance or 0) * (1 if lower else -1)
            self.as_good = int((values <= limit if lower else values >= limit).sum())
        elif known is not None:
            others = runs.loc[runs["model"] == known.better_than]
            by = [*point_columns(known.experiment), "seed"]
            both = group.merge(others, on=by, suffixes=("", ".rival"))
            sides = both[[column, f"{column}.rival"]].fillna(math.inf if lower else -math.inf)
            if both.empty:
                self.published = None
            else:
                self.pairs = Pairs(sides.to_numpy(float).tolist())

    @property
    def differs(self) -> bool:
        """Return whether ours departs from what was given elsewhere."""
        return self.verdict in (DIFFERS, FAILS)

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

    def row(self) -> dict[str, Any]:
        known, agree = self.published, self.pairs.claim if self.pairs else ""
        row = {"model": self.model, "point": self.point, "measure": self.column, **self.numbers}
        given = (self.measure.typical, known.value, known.standing) if known else ("", "", "")
        row |= zip(("compared", "given", "which is"), given, strict=True)
        row |= {"difference": self.difference, "as good": self.as_good, "agree": agree}
        return row | {"source": known.source if known else "", "verdict": self.verdict or ""}


def compared(experiment: Experiment, runs: pd.DataFrame) -> tuple[Runs, list[dict[str, Any]], str]:
    """Sum up the runs of an experiment, and compare them with what was given elsewhere.

    Return the summary, the rows of the comparison, and how many of them have which verdict.

    runs: one row per run, judged or measured.
    """
    if experiment.is_measured:
        points = measured_points(experiment, runs)
        if not points:
            raise UsageError(f"the exported runs of {experiment.key} hold no measure")
        rows = [point.row() for point in points]
        summary = pd.DataFrame(rows).drop_duplicates(["model", "point", "measure"])
        given = [point for point in points if point.published is not None]
        kinds = Counter(SHORT if point.length else str(point.verdict) for point in given)
        counts = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())
        said = f"{len(given)} numbers given elsewhere: {counts}"
        said = said if given else "no number given elsewhere to compare with"
        return summary.loc[:, :"not finite"], rows, said
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
    found = [(known, runs_at(known, runs)) for known in published(experiment.key)]
    return [RatePoint(experiment, own, known.point, known) for known, own in found if len(own)]


def runs_at(point: Published, runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs that a published point is to be compared with."""
    chosen = runs.loc[(runs["model"] == point.model) & (runs["operation"] == point.operation)]
    if point.column and point.column in chosen.columns:
        at = [same_point(value, point.point) for value in chosen[point.column]]
        return chosen.loc[at]
    return chosen


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
    equal = kinds[EQUAL] + sum(one.kind == CHOSEN and one.same == one.runs for one in comparisons)
    counted = [f"{kinds[kind]} {kind}" for kind in RATE_VERDICTS[1:] if kinds[kind]]
    counted += [f"{n} end otherwise" for n in [kinds[EQUAL] + kinds[CHOSEN] - equal] if n]
    counted += [f"{n} {SHORT} (shortened runs)" for n in [kinds[SHORT]] if n]
    text = f"{equal} of {plural(compared, 'comparable point')} equal the published ones"
    start = "OK: " if equal == compared > 0 else ""
    return "; ".join([start + text, *counted])


def rates(runs: pd.DataFrame) -> list[str]:
    every = [(key, by_seed.effect_of(own), own) for key, own in runs.groupby("model", sort=False)]
    return [f"{key} {counted(solved_of(own), len(own), effect)}" for key, effect, own in every]


def measured_points(experiment: Experiment, runs: pd.DataFrame) -> list[MeasuredPoint]:
    """Return every measure of every point that there are runs for; families where one is given.

    runs: one row per measured run.
    """
    given, found = published_measures(experiment.key), list[MeasuredPoint]()
    errors = [m.column for m in experiment.measures if m.lower and m.column in runs]
    runs = measured_at_the_end(runs, errors)
    for key, point, options, group in places(experiment, runs):
        model = experiment.model(key)
        settings = options_of(experiment, runs_of(model, [0], None)[0]) | dict(options)
        known = [one for one in given if one.model == key and one.is_about(settings)]
        place = Point(experiment, runs.loc[runs["model"] == key], point)
        for column in measure_columns(experiment, group.columns):
            about = [one for one in known if one.measure == column]
            if not (about or is_plain(experiment, column)):
                continue
            if group[column].isna().all() and not group[DIVERGED].any():
                continue
            found += [MeasuredPoint(place, column, group, one, runs) for one in about or (None,)]
    return found
