"""A figure, the exported files that it reads, and their runs: judged, summarised, gaps named.

A figure (`stable_nalu.paper.experiment`) says which files it reads; each of its parts is made by a
function of its context, which `kind` marks.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from stable_nalu.base.errors import UsageError
from stable_nalu.base.papers import Paper
from stable_nalu.base.script import plain
from stable_nalu.options.run_names import Columns, NameField, read_fields
from stable_nalu.statistics import table as judge
from stable_nalu.statistics.setups import (
    PUBLISHED,
    USUAL,
    Estimators,
    Judgement,
    expand_name,
    model_label,
)
from stable_nalu.statistics.summary import summarize
from stable_nalu.statistics.table import (
    MODEL_CODE,
    groups,
    numeric,
    parsed_names,
    read_table,
    require,
)
from stable_nalu.statistics.thresholds import from_reference
from stable_nalu.task import pairs, sequences

from .style import Handles, Look, Palette, drawable, footnote, legend_order, looks, range_order


@dataclass(frozen=True)
class Series:
    """One exported file.

    files: paths below the CSV folder without `.csv`; the first that exists is read.
    label: the model that all its runs are shown as; None: as their names say.
    expects: models to miss when the file is missing and `label` does not say.
    """

    files: tuple[str, ...]
    label: str | None = None
    expects: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.label or self.files[0]

    @property
    def missed(self) -> tuple[str, ...]:
        """Return what is missing from a figure without this file."""
        return (self.label,) if self.label is not None else self.expects or (self.files[0],)


def kind(
    title: str, needs: Literal["nothing", "outcomes", "measures", "epochs"] = "measures"
) -> Callable[[Any], Any]:
    """Make a function a kind of drawings or tables, of the context of a figure and its options.

    title: what `--list` calls them.
    needs: what they are drawn from: a formula, the outcome of each run, what was measured at its
        end and at some steps, or at every epoch.
    """

    def marked(make: Any) -> Any:
        make.title, make.needs = title, needs
        return make

    return marked


class Part:
    """One drawing or table: the function that makes it, its options and the name of its file.

    stem: without an ending; `{key}` becomes the key of the figure.
    """

    def __init__(self, kind: Any, stem: str = "{key}", **options: Any):
        self.kind, self.stem, self.options = kind, stem, options


@dataclass(frozen=True)
class Drawing:
    """A figure of an experiment, or of a user's own files.

    series: files in the order of the legend; none: a file per model of the experiment, and if
        several models share a file, its runs are shown by their names.
    folders: subfolders of the CSV folder that may contain the files too.
    key, title, number: its own, if the experiment has several figures; the key finds it.
    paper: whose figure it is, if no paper shows the experiment; None for a user's files.
    judgement: when runs are solved, by the experiment, or for a user's files as usual.
    trained_in: table of a model -> folder of its runs, which exporters name other tables by.
    """

    parts: tuple[Part, ...]
    series: tuple[Series, ...] = ()
    folders: tuple[str, ...] = ()
    key: str = ""
    title: str = ""
    number: str = ""
    paper: Paper | None = None
    judgement: Judgement = USUAL
    trained_in: Mapping[str, str] = field(default_factory=dict)

    @property
    def needs(self) -> set[str]:
        return {part.kind.needs for part in self.parts}


def drawn(
    *parts: Part, series: tuple[Series, ...] = (), folders: tuple[str, ...] = ()
) -> tuple[Drawing]:
    return (Drawing(parts, series, folders),)


@dataclass(frozen=True)
class Product:
    """One drawing or table, not yet written.

    stem: its file name without ending.
    text: LaTeX, where it is a table.
    side: further tables by their whole file name without `.csv`.
    """

    stem: str
    figure: Figure | None = None
    text: str | None = None
    side: dict[str, pd.DataFrame] = field(default_factory=dict)


@dataclass
class Context:
    """A figure, its exported files or tables in memory, and how a user wants it drawn.

    Folders of the figure are searched before the folder itself; names of other things are prefixes
    of files.

    tables: path of an exported file, without `.csv` -> what it would hold; None: files are read.
    is_judged: whether tables have a row per judged run; figures then show no models without runs.
    setups, threshold: replace the figure's own, see `Judgement.given`.
    warnings: say what is missing, each once. notes: say what else a reader should know.
    shared: what parts of one figure make once and use together.
    stem: file name of the part that is drawn, without ending.
    """

    figure: Drawing
    folder: Path
    tables: Mapping[str, pd.DataFrame] | None = None
    is_judged: bool = False
    setups: Sequence[Path] = ()
    threshold: float | None = None
    estimators: Estimators = PUBLISHED
    palette: Palette = "safe"
    warnings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    shared: dict[Any, Any] = field(default_factory=dict)
    stem: str = ""

    def warn(self, text: str) -> None:
        if text not in self.warnings:
            self.warnings.append(text)

    def nothing(self) -> UsageError:
        """Return the error of a figure without data, for the reasons that were remembered."""
        return UsageError(f"nothing to draw: {'; '.join(self.warnings) or 'no run is left'}")

    def find(self, files: Iterable[str]) -> Path | None:
        """Return the first of the files that exists, or has a table."""
        for path in self.candidates(files):
            if path.is_file() if self.tables is None else path.as_posix() in self.tables:
                return path
        return None

    def candidates(self, files: Iterable[str]) -> Iterator[Path]:
        """Yield every path that one of the files may have, those below the CSV folder first.

        The published commands name the folder of some figures, and the one above it of others.
        """
        stems: list[str] = []
        for name in files:
            tried = [(Path(folder) / name).as_posix() for folder in (*self.figure.folders, "")]
            if not Path(name).is_absolute():
                tried += [f"{folder}{name}" for folder in self.figure.folders]
                known = self.figure.trained_in
                tried += [known[stem] for stem in tried if stem in known]
            stems += tried
        inner, roots = self.folder.parts, [self.folder]
        for parts in (Path(stem).parts for stem in stems):
            for depth in range(1, min(len(parts), len(inner)) + 1):
                if inner[-depth:] == parts[:depth] and len(inner) > depth:
                    roots.append(self.folder.parents[depth - 1])
        for path in (root / stem for root in roots for stem in stems):
            yield path.with_name(f"{path.name}.csv")
            yield path

    def read(
        self, path: Path, columns: Iterable[str], kind: str = "an export of runs"
    ) -> pd.DataFrame:
        if self.tables is None:
            table = read_table(path)
        else:
            known = self.tables[path.as_posix()]
            table = known.where(known.notna())
        require(table, columns, path, kind)
        return table

    def expect(self, files: Sequence[str], missed: Iterable[str]) -> Path | None:
        """Find a file, or warn of what the figure lacks without it."""
        path = self.find(files)
        if path is None:
            names, file = ", ".join(map(plain, missed)), f"{self.folder / files[0]}.csv"
            absent = f"missing: {names} (no file {file})"
            self.warn(f"no runs are kept of {names}" if self.is_judged else absent)
        return path

    def require(self, one: Series) -> Path:
        """Find a file that a drawing cannot do without."""
        path = self.find(one.files)
        if path is None:
            raise UsageError(f"no file {self.folder / one.files[0]}.csv")
        return path

    def exported(
        self,
        columns: Iterable[str],
        kind: str = "an export of runs",
        made: Callable[[pd.DataFrame, Path], pd.DataFrame] = lambda table, _: table,
    ) -> dict[str, pd.DataFrame | None]:
        """Return what is made of the table of each series, by its name; None where it has none."""
        found = {}
        for one in self.figure.series:
            path = self.expect(one.files, (one.name,))
            found[one.name] = None if path is None else made(self.read(path, columns, kind), path)
        if all(table is None for table in found.values()):
            raise self.nothing()
        return found

    def present(self, columns: Iterable[str]) -> dict[str, pd.DataFrame]:
        """Return the table of each series that has one, by its name."""
        tables = self.exported(columns)
        return {name: table for name, table in tables.items() if table is not None}

    def looks(self, labels: Iterable[str]) -> dict[str, Look]:
        return looks(list(labels), self.palette)

    def plotted(
        self,
        figure: Figure,
        points: pd.DataFrame | Sequence[pd.DataFrame],
        *sentences: str,
        handles: Handles = (),
        text: str | None = None,
        side: str = "plot_data",
    ) -> Product:
        """Return a drawing with its legend and footnote, and the table of what is drawn.

        points: the table, or parts of it. side: how the name of its file ends.
        """
        footnote(figure, *sentences, handles=handles)
        if not isinstance(points, pd.DataFrame):
            points = pd.concat(points or [pd.DataFrame()], ignore_index=True)
        return Product(self.stem, figure, text, {f"{self.stem}_{side}": points})


def together(tables: Mapping[str, pd.DataFrame | None]) -> pd.DataFrame:
    """Return all tables in one, with their names in a column `model`."""
    found = [own.assign(model=name) for name, own in tables.items() if own is not None]
    return pd.concat(found or [pd.DataFrame()], ignore_index=True)


def numbers(table: pd.DataFrame, column: str) -> pd.Series:
    """Return a column of numbers, missing where a run has none."""
    return pd.Series(pd.to_numeric(table[column], errors="coerce"))


def matching(names: Iterable[object], pattern: str) -> Iterator[tuple[re.Match[str], str]]:
    """Yield what a pattern finds in the names of columns, with the names that it matches whole."""
    for name in map(str, names):
        if match := re.fullmatch(pattern, name):
            yield match, name


def last_rows(table: pd.DataFrame, time: str = "step") -> pd.DataFrame:
    """Return the last row of each run."""
    rows = table.sort_values(time, kind="stable").drop_duplicates("name", keep="last")
    return judge.measured_at_the_end(rows)


def with_names(
    table: pd.DataFrame, parse: Callable[[str, Columns | None], Columns], path: Path
) -> pd.DataFrame:
    """Add the columns that run names hold; each name is parsed once."""
    codes, parsed = parsed_names(table, parse, path)
    if MODEL_CODE in table:
        table = table.loc[:, :MODEL_CODE].drop(columns=MODEL_CODE)
    parsed = parsed.drop(columns=[column for column in parsed if column in table])
    return pd.concat([table, parsed.take(codes).set_axis(table.index)], axis=1)


def sequence_name(name: str, _: Columns | None = None) -> Columns:
    wanted = (
        "operation regualizer regualizer.z regualizer.oob interpolation.length hidden.size seed"
    )
    found = _named(name, sequences.name_fields("mnist"), wanted, "a sequence task")
    return {"name": name, "model": model_label(name.split("_")[0]), **found}


def two_digit_name(name: str, _: Columns | None = None) -> Columns:
    return _named(name, pairs.NAME, "operation learn.labels2out seed", "a two-digit task")


def _named(name: str, fields: Sequence[NameField], wanted: str, task: str) -> Columns:
    """Return these columns of a name; raise ValueError where it lacks one."""
    found = read_fields(name, fields)
    if any(column not in found for column in wanted.split()):
        raise ValueError(f"run name {name!r} is not of {task}")
    return {column: found[column] for column in wanted.split()}


SEQUENCE_VALIDATION = "metric.valid.mse"
SEQUENCES_LOGGED = ("name", "step", SEQUENCE_VALIDATION, judge.SPARSITY)
_TEST_OF_SEQUENCES = r"metric\.test\.extrapolation\.(\d+)\.mse"
_NUMBER = r"-?\d+\.?\d*"
_NORMAL = re.compile(rf"tn-({_NUMBER})-({_NUMBER})(?:-{_NUMBER}-{_NUMBER})?")

Run = Mapping[str, Any]
"""What the name of a run holds: column -> value."""


@dataclass(frozen=True)
class Only:
    """Rows to keep: those whose `column` is one of `values`; rows of other `models` pass."""

    column: str
    values: tuple[object, ...]
    models: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Reference:
    """Runs with a solved accumulator: the file that may have them, and the seeds that count.

    level, of_one_run: the bound on their errors; see `statistics.thresholds.from_reference`.
    """

    file: str
    seeds: tuple[int, ...]
    level: float = 0.99
    of_one_run: bool = False


@dataclass(frozen=True)
class Runs:
    """How the rows of exported files become one row per run.

    x: the column that groups runs besides the model.
    models: models that the figure should have; with `closed`, it has no others.
    expected: values of x that every model should have.
    extra: one more grouping column.
    reference: what gives the thresholds of sequence tasks.
    length: the test length of sequence tasks that is shown; None: all, and x is the length.
    derive: further columns, or labels of models, made from the columns that run names hold.
    """

    x: str
    models: tuple[str, ...] = ()
    closed: bool = False
    expected: tuple[object, ...] = ()
    only: tuple[Only, ...] = ()
    extra: str | None = None
    reference: Reference | None = None
    length: int | None = None
    derive: tuple[tuple[str, Callable[[Run], str]], ...] = ()


def reduced_and_estimated(
    context: Context, spec: Runs, by: list[str], series: tuple[Series, ...] = ()
) -> tuple[pd.DataFrame, tuple[str, ...], pd.DataFrame]:
    """Return runs, models and a summary of a figure, made once for parts that show the same.

    series: replaces the figure's series.
    """
    key = (spec, tuple(by), series)
    if key not in context.shared:
        runs, models = reduce_series(context, spec, series)
        context.shared[key] = (runs, models, estimate(runs, by, context.estimators))
    return context.shared[key]


def estimate(runs: pd.DataFrame, by: list[str], estimators: Estimators) -> pd.DataFrame:
    """Return one row per group: the summary columns, and how many runs (`n`) and failures it has.

    The success rate counts all n runs; the other two measures use the n - failed solved runs.
    """
    groups = runs.groupby(by, sort=False, dropna=False, observed=True)["solved"]
    sizes = groups.size()
    counts = pd.DataFrame({"n": sizes, "failed": sizes - groups.sum()}).reset_index()
    return summarize(runs, by, estimators).merge(counts, on=by, how="left")


def points(summary: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Return mean, interval and number of runs of one measure, and the number to write.

    A success rate is written with the number of failed runs, other measures with the solved runs.
    """
    of_all = measure == "success.rate"
    solved = summary["n"] - summary["failed"]
    found = {end: summary[f"{measure}.{end}"] for end in ("mean", "lower", "upper")}
    found["count"] = summary["n"] if of_all else solved
    return pd.DataFrame(found | {"written": summary["failed"] if of_all else solved})


def reduce_series(
    context: Context, spec: Runs, series: Sequence[Series] = (), also: Sequence[str] = ()
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Return one row per judged run of a figure, and its models in the order of the legend.

    Models without a run are among them.

    series: replaces the figure's series.
    also: further columns to return, from the row that a run is judged at.
    """
    tables, missed, series = [], [], series or context.figure.series
    judgement = judgement_of(context, spec)
    columns = SEQUENCES_LOGGED if spec.reference else judge.EXPORTED
    limits: Limits | None = judgement.threshold
    for one in series:
        if context.is_judged and (path := context.find(one.files)):
            judged = context.read(path, ("name", "solved"))
            tables.append(judged.merge(labelled(judged, one, spec, path), on="name"))
            continue
        read = read_series(context, one, spec, columns)
        if read is None:
            missed += one.missed
            continue
        rows, runs = read
        if absent := [column for column in also if column not in rows]:
            problem = f"{one.files[0]}.csv lacks the column {absent[0]}"
            raise UsageError(f"{problem}: export with --export-gate")
        if spec.reference is None:
            needed = (spec.x, spec.extra)
            if lacking := [column for column in needed if column and column not in runs]:
                raise UsageError(f"run names of {one.files[0]} hold no {', '.join(lacking)}")
            parts = [(rows, judge.with_limits(runs, judgement, context.warn))]
        else:
            if limits is None:
                limits = reference_thresholds(context, spec.reference, judgement.best_range)
            parts = of_lengths(context, rows, runs, limits, spec)
        kept = [part for part in parts if not part[1].empty]
        tables += [reduce_rows(*part, spec, judgement.best_range, also) for part in kept]
    tables = [table for table in tables if not table.empty]
    if not tables:
        raise context.nothing()
    runs = pd.concat(tables, ignore_index=True)
    if "name" in runs:
        own = dict.fromkeys(("model", "name", "operation", spec.x, spec.extra))
        twice = runs.loc[runs.duplicated([column for column in own if column in runs])]
        if len(twice):
            problem = f"run {twice['name'].iloc[0]} is there twice"
            raise UsageError(f"{problem}; give each run once, or label the files apart")
        _warn_of_mixtures(context, runs, spec)
    return runs, _legend_models(context, runs, series, missed, spec)


def judgement_of(context: Context, spec: Runs) -> Judgement:
    """Return how the runs of a figure are judged: as a user asks for, or as the figure has it."""
    beside = context.find(map(str, context.figure.judgement.setups))
    own = replace(context.figure.judgement, setups=() if beside is None else (beside,))
    found = own.given(context.threshold, context.setups)
    note = f"thresholds: {', '.join(map(str, found.setups))}"
    if found.setups and spec.reference is None and note not in context.notes:
        context.notes.append(note)
    return found


def _warn_of_mixtures(context: Context, runs: pd.DataFrame, spec: Runs) -> None:
    """Warn where a point is of several runs with one seed: they differ in options besides x."""
    point = [column for column in ("model", "operation", spec.x, spec.extra) if column in runs]
    names = runs.groupby([*point, "seed"], sort=False, dropna=False)["name"].agg(list)
    for (model, *_), found in names.loc[names.map(len) > 1].head(1).items():
        first, second = (name.split("_") for name in found[:2])
        one = "_".join(part for part in first if part not in second)
        other = "_".join(part for part in second if part not in first)
        context.warn(
            f"{plain(model)}: runs that differ in more than {spec.x} count as one point, such as "
            f"{one} and {other} of one seed; give them in files of their own, with --label"
        )


def read_series(
    context: Context, one: Series, spec: Runs, columns: Sequence[str]
) -> tuple[pd.DataFrame, pd.DataFrame] | None:
    """Return the rows of one file, and its runs that a figure is about, with their options."""
    path = context.expect(one.files, one.missed)
    if path is None:
        return None
    table = context.read(path, columns)
    runs = table
    if len(table):
        table = numeric(table, [column for column in columns if column != "name"], path)
        runs = labelled(table, one, spec, path)
    if runs.empty:
        lacking = "no such runs" if len(table) else "no rows"
        context.warn(f"missing: {', '.join(map(plain, one.missed))} ({path} has {lacking})")
        return None
    return table, runs


def logged(context: Context, spec: Runs, columns: Sequence[str]) -> pd.DataFrame:
    """Return all rows of the runs that a figure is about, with the options of their runs."""
    read = [read_series(context, one, spec, columns) for one in context.figure.series]
    tables = [
        rows.drop(columns=[c for c in runs if c in rows and c != "name"]).merge(runs, on="name")
        for rows, runs in filter(None, read)
    ]
    if not tables:
        raise context.nothing()
    return pd.concat(tables, ignore_index=True)


def _distribution(run: Run) -> str:
    """Return what a run is trained on, with the range: `U:[-50,50]`, `TN(-1,3):[-5,10]`."""
    family, bounds = str(run["train.distribution"]), run["interpolation.range"].replace("U[", "[")
    if normal := _NORMAL.fullmatch(family):
        return f"TN({normal[1]},{normal[2]}):{bounds}"
    return f"{family.split('-')[0].upper()}:{bounds}"


def labelled(table: pd.DataFrame, one: Series, spec: Runs, path: Path) -> pd.DataFrame:
    """Return the runs of a table that the figure is about, with their options and models."""
    parse = expand_name if spec.reference is None else sequence_name
    _, runs = parsed_names(table, parse, path)
    runs["model"] = runs["model"].map(drawable) if one.label is None else one.label
    made = [*spec.derive, *([("distribution", _distribution)] if spec.x == "distribution" else [])]
    try:
        for column, make in made:
            runs[column] = list(map(make, runs.to_dict("records")))
    except KeyError as error:
        raise UsageError(f"{path}: run names hold no {error.args[0]}") from None
    models = runs["model"]
    wanted = models.isin(spec.models) | (not spec.closed)
    for only in spec.only:
        if only.column not in runs:
            raise UsageError(f"run names hold no {only.column}")
        others = False if only.models is None else ~models.isin(only.models)
        wanted &= runs[only.column].isin(only.values) | others
    return runs.loc[wanted]


def reduce_rows(
    rows: pd.DataFrame, runs: pd.DataFrame, spec: Runs, best_range: int, also: Sequence[str] = ()
) -> pd.DataFrame:
    """Return one row per run, in the column order of the published side files."""
    found = judge.outcomes(rows, runs, best_range, also).sort_values(["model", "name"])
    outcome = found.loc[:, "threshold":"solved"].columns
    columns = ["name", spec.x, *outcome, "model", "operation", "seed", "size", judge.BEST_STEP]
    extra = [spec.extra] if spec.extra else []
    return found.loc[:, list(dict.fromkeys([*columns, *extra, *also]))]


def _legend_models(
    context: Context, runs: pd.DataFrame, series: Sequence[Series], missed: list[str], spec: Runs
) -> tuple[str, ...]:
    """Return the models of a legend; warn of expected models and points without a run."""
    present = dict.fromkeys(runs["model"])
    absent = [model for model in (*missed, *spec.models) if model not in present]
    for model in dict.fromkeys(absent):
        if model not in missed:
            context.warn(f"missing: {plain(model)} (no run of it)")
    if without := int(runs[spec.x].isna().to_numpy().sum()):
        context.warn(f"{without} runs have no {spec.x} and are left out")
    labels = list(dict.fromkeys(one.label for one in series if one.label is not None))
    if any(one.label is None for one in series):
        labels = legend_order([*present, *absent])
    if context.is_judged:
        labels = [model for model in labels if model in present]
    for model in present:
        there = set(runs.loc[runs["model"] == model, spec.x])
        if gaps := [str(value) for value in spec.expected if value not in there]:
            context.warn(f"missing: {plain(model)} at {spec.x} {', '.join(gaps)} (no run)")
    return tuple(labels)


def in_order(values: Iterable[Any], column: str) -> list:
    """Return the different values of a column: numbers ascending, ranges and texts as they come."""
    found: list[Any] = list(dict.fromkeys(values))
    if all(isinstance(value, str) for value in found):
        return range_order(found) if column == "interpolation.range" else found
    return sorted(found)


def tested_lengths(table: pd.DataFrame) -> dict[int, str]:
    """Return the column of every test length, in ascending order."""
    found = {int(match[1]): name for match, name in matching(table, _TEST_OF_SEQUENCES)}
    return dict(sorted(found.items()))


def reference_thresholds(context: Context, reference: Reference, last: int) -> Mapping[int, float]:
    """Return the threshold of every length: a 99 % bound on the errors of reference networks.

    last: number of rows at the end of a run that its best one is among.
    """
    name = reference.file
    path = context.find((name,))
    if path is None:
        raise UsageError(
            f"no file {context.folder / name}.csv: it gives the thresholds; train `reference` of "
            f"{name.replace('_reference', '_long')}, or use --threshold"
        )
    table = context.read(path, SEQUENCES_LOGGED[:3])
    columns = tested_lengths(table)
    table = numeric(table, [SEQUENCE_VALIDATION, *columns.values()], path)
    rows = with_names(table, sequence_name, path).sort_values("step", kind="stable")
    best = {
        int(seed): run.iloc[judge.best_row(run[SEQUENCE_VALIDATION].to_numpy(), last)]
        for (_, seed), run in groups(rows, ["name", "seed"])
    }
    absent = [str(seed) for seed in reference.seeds if seed not in best]
    if absent:
        context.warn(f"missing: reference seeds {', '.join(absent)} ({path})")
    seeds = [seed for seed in reference.seeds if seed in best]
    if len(seeds) < 2:
        raise UsageError(f"{path} holds {len(seeds)} of the reference seeds: two are needed")
    bound = {"level": reference.level, "of_one_run": reference.of_one_run}
    return {
        length: from_reference([float(best[seed][column]) for seed in seeds], **bound)
        for length, column in columns.items()
    }


Limits = float | Mapping[int, float]
"""The threshold of every test length, or one of all."""


def of_lengths(
    context: Context, rows: pd.DataFrame, runs: pd.DataFrame, limits: Limits, spec: Runs
) -> list[tuple[pd.DataFrame, pd.DataFrame]]:
    """Return rows of every length, in the columns of the arithmetic tasks, and runs with limits."""
    parts = []
    for length, column in tested_lengths(rows).items():
        if spec.length not in (None, length):
            continue
        threshold = limits.get(length, np.nan) if isinstance(limits, Mapping) else limits
        if np.isnan(threshold):
            context.warn(f"length {length} left out, the reference has no threshold for it")
            continue
        one = rows.rename(columns={SEQUENCE_VALIDATION: judge.VALIDATION, column: judge.TEST})
        x = {spec.x: length} if spec.length is None else {}
        parts.append((one, runs.assign(threshold=threshold, inclusive=False, **x)))
    if not parts and spec.length is not None:
        context.warn(f"no run was tested at length {spec.length}")
    return parts
