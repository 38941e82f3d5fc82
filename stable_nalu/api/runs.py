"""What is done with trained runs in Python: read their logs, summarise, compare and draw them.

The same is done by `export/runs.py`, `export/summarize.py` and `export/plot.py`, with this code.
Errors are raised as `UsageError`; what a script would warn of is a warning.
"""

import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
import pandas as pd

from stable_nalu.base.errors import UsageError, did_you_mean, is_text, named_as_in_python
from stable_nalu.base.script import plain, plural
from stable_nalu.options.run_names import column_of, range_label
from stable_nalu.result.export import STEP, RunTable, aligned, open_reader
from stable_nalu.statistics import summary
from stable_nalu.statistics import table as judging
from stable_nalu.statistics.intervals import PairedTest, paired_test
from stable_nalu.statistics.setups import BEST_RANGE, PUBLISHED, Estimators, Judgement, expand_name
from stable_nalu.task.table import SCRIPTS, TASKS
from stable_nalu.writer import RunRecord

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from stable_nalu.figure.style import Palette

# fmt: off
DrawingKind = Literal["range", "success", "distribution", "sweep", "table", "histogram", "curve",
    "metrics", "surface", "path", "matrix"]
# fmt: on
_NAME = "the table of runs"


@dataclass(frozen=True)
class TrainedRun:
    """A trained run: its name, the folder of its log, and its place among its `TrainedRuns`."""

    name: str
    folder: Path
    place: int
    runs: "TrainedRuns"

    @cached_property
    def record(self) -> RunRecord | None:
        """Return how the run was made; None for a run of the published scripts."""
        return RunRecord.read(self.folder)

    @property
    def config(self) -> dict[str, Any]:
        """Return the value of every flag."""
        return dict(self.record.config) if self.record else {}

    @property
    def seed(self) -> int:
        """Return the seed of data and start weights."""
        return int(self.table["seed"].iloc[0])

    @property
    def table(self) -> pd.DataFrame:
        """Return a row per logged step."""
        return self.runs.table.loc[self.runs.table["name"] == self.name]

    @property
    def outcome(self) -> pd.Series:
        """Return how the run ended, as `TrainedRuns.outcomes` has it."""
        return self.runs.outcomes.loc[self.place]

    def __repr__(self) -> str:
        return f"Run({self.place}: {self.folder})"


class TrainedRuns:
    """Trained runs: `runs[3]` is one of them, `runs["step"]` a column of `table`.

    table: a row per run and logged step; what else is asked for, such as `loc`, is the table's.
    """

    def __init__(self, table: pd.DataFrame, folders: Mapping[str, Path]):
        self.table = table
        there = set(table["name"])
        self._folders = {name: folder for name, folder in folders.items() if name in there}

    @property
    def names(self) -> list[str]:
        """Return the names of the runs."""
        return list(self._folders)

    def __len__(self) -> int:
        return len(self._folders)

    def __iter__(self) -> Iterator[TrainedRun]:
        return (self[place] for place in range(len(self)))

    @overload
    def __getitem__(self, key: int) -> TrainedRun: ...
    @overload
    def __getitem__(self, key: slice) -> "TrainedRuns": ...
    @overload
    def __getitem__(self, key: Any) -> Any: ...
    def __getitem__(self, key: Any) -> Any:
        """Return a run by its place, some runs by a slice, or columns of the table."""
        if isinstance(key, int):
            if not -len(self) <= key < len(self):
                raise IndexError(f"there is no run {key}, only {plural(len(self), 'run')}")
            place = key % len(self)
            name = self.names[place]
            return TrainedRun(name, self._folders[name], place, self)
        if isinstance(key, slice):
            names = self.names[key]
            chosen = self.table.loc[self.table["name"].isin(names)].reset_index(drop=True)
            return TrainedRuns(chosen, {name: self._folders[name] for name in names})
        typed = isinstance(key, str) and key not in self.table
        return self.table[summary.technical_name(key) if typed else key]

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_") or name == "table" or not hasattr(self.table, name):
                raise AttributeError(f"TrainedRuns and their table have no {name!r}")
            return getattr(self.table, name)

    @cached_property
    def outcomes(self) -> pd.DataFrame:
        """Return a row per run: what tells it apart, its threshold, and how it ended.

        A run that diverged is not solved, and its test error is infinite.
        """
        with named_as_in_python():
            judged = judging.judge_tables([(_NAME, self.table)], Judgement(), lambda text: None)
            judged = judged.set_index("name")
        places = {name: place for place, name in enumerate(self.names)}
        judged.index = pd.Index([places[str(name)] for name in judged.index], name="run")
        judged = judged.sort_index()
        diverged_at = [self.diverged_at[self.names[place]] for place in judged.index]
        columns = {"seed": "seed"} | {summary.typed_name(c): c for c in _varying(judged)}
        columns |= {"solved": "solved", "solved_at": "extrapolation.step.solved"}
        columns |= {"test_error": "extrapolation.last", "threshold": "threshold"}
        columns |= {"sparsity": "sparse.error.max"}
        found = pd.DataFrame({name: judged[column] for name, column in columns.items()})
        return found.assign(diverged=~np.isnan(diverged_at), diverged_at=diverged_at)

    @property
    def diverged_at(self) -> dict[str, float]:
        """Return the step at which each run diverged, NaN of one that did not."""
        if judging.DIVERGED_AT not in self.table:
            return dict.fromkeys(self.names, float("nan"))
        return self.table.drop_duplicates("name").set_index("name")[judging.DIVERGED_AT].to_dict()

    @property
    def solved(self) -> pd.Series:
        """Return whether each run is solved; the mean is the success rate."""
        return self.outcomes.loc[:, "solved"]

    @property
    def best(self) -> TrainedRun:
        """Return the run of the lowest test error."""
        errors: Any = self.outcomes["test_error"]
        return self[int(errors.fillna(float("inf")).argmin())]

    def curve(self, column: str = judging.TEST) -> pd.DataFrame:
        """Return what was logged, by default the test error: a row per step, a column per run."""
        if column not in self.table:
            known = [name for name in self.table if name.startswith(("metric", "loss", "sparse"))]
            remedy = did_you_mean(column, known, f"one of {', '.join(known)}")
            raise UsageError(f"column: there is no column {column!r}; {remedy}")
        found = self.table.pivot_table(index="step", columns="name", values=column, dropna=False)
        found = found.reindex(columns=self.names)
        return found.set_axis(pd.RangeIndex(len(self), name="run"), axis=1)

    def _shown(self) -> tuple[str, pd.DataFrame]:
        """Return a line about all runs, and a table of them."""
        head = plural(len(self), "run")
        try:
            table = self.outcomes
        except UsageError:  # of published logs whose names cannot be read
            return head, pd.DataFrame({"name": self.names})
        if table["threshold"].isna().all():
            return f"{head}, of a task without a threshold", table
        return f"{head}, {sum(table['solved'].tolist())} solved", table

    def __repr__(self) -> str:
        head, table = self._shown()
        return f"{head}\n{table.to_string(max_rows=12)}"

    def _repr_html_(self) -> str:
        head, table = self._shown()
        return f"<p>{escape(head)}</p>{table.to_html(max_rows=12)}"


@named_as_in_python()
def read_runs(
    folder: str | Path,
    *,
    names: Collection[str] | None = None,
    processes: int | None = 1,
    progress_bar: bool = True,
) -> TrainedRuns:
    """Return the runs of a folder, with a table of one row per run and logged step.

    The columns of the configuration come last. They are made of the record of a run; a run of the
    published scripts, which has none, has those that its name holds. A run that cannot be read, or
    only in part, is logged as a warning.

    Args:
        folder: the parent folder of the runs, of any training script.
        names: the runs to read, by the names of their folders; all of them when None.
        processes: most processes that read; None: one per CPU where there is enough to read. More
            than this one import the main program anew, which then needs a `__main__` guard.
        progress_bar: whether a person who watches a terminal sees how far it is.

    Examples:
        >>> runs = sn.read_runs("tensorboard/simple_function_static")
        >>> runs.best.config["layer_type"]
        'ReRegualizedLinearMNAC'
    """
    path = _path("folder", folder)
    if isinstance(names, str):
        names = [names]
    elif names is not None and not isinstance(names, Collection):
        raise UsageError(f"names: {names!r} is not a list of names of runs")
    if not (processes is None or isinstance(processes, int)):
        raise UsageError(f"processes: {processes!r} is not a whole number")
    how = {"processes": processes, "progress_bar": progress_bar, "with_config": True}
    reader = open_reader(path, None, "--folder", names, **how)
    tables = aligned([_for_judging(table, path / table.name) for table in reader.tables()])
    if not tables:
        raise reader.nothing()
    columns: dict[str, Any] = {}
    for name in tables[0].columns:
        columns[name] = list(chain.from_iterable(table.columns[name] for table in tables))
    # What stands behind the code of the model tells runs apart.
    options = sorted(tables[0].options, key=lambda option: option != judging.THRESHOLD)
    cells = {"name": [table.name for table in tables]}
    cells |= {name: [table.options[name] for table in tables] for name in options}
    place = np.repeat(np.arange(len(tables)), [len(table.columns[STEP]) for table in tables])
    runs = pd.DataFrame(cells).take(place).reset_index(drop=True)
    frame = pd.concat([runs[["name"]], pd.DataFrame(columns), runs[options]], axis=1)
    return TrainedRuns(frame, {table.name: path / table.name for table in tables})


def _for_judging(table: RunTable, folder: Path) -> RunTable:
    """Return the table of a run whose errors and options have the names of arithmetic scripts.

    All runs are judged by these. A run without a record is left as it is.
    """
    if judging.MODEL_CODE in table.options:
        return table
    record = RunRecord.read(folder)
    if record is None or record.script not in SCRIPTS:
        return table
    spec = SCRIPTS[record.script]
    config = spec.recorded(record.config)
    missing = [float("nan")] * len(table.columns[STEP])
    goal = TASKS[spec.name].goal(config)
    tags = {judging.VALIDATION: goal.valid, judging.TEST: goal.test}.items()
    errors = {name: table.columns.get(str(tag).replace("/", "."), missing) for name, tag in tags}
    own = {
        judging.THRESHOLD: goal.limit.threshold if goal.limit else float("nan"),
        judging.MODEL_CODE: spec.fields[0].text(config),
        "operation": goal.operation or str(getattr(config, "operation", spec.name)),
    }
    for dest in ("interpolation_range", "extrapolation_range"):
        value = getattr(config, dest, None)
        own[column_of(dest)] = range_label(value) if value else ""
    others = {name: value for name, value in table.options.items() if name not in own}
    return RunTable(table.name, errors | {judging.SPARSITY: missing} | table.columns, own | others)


@named_as_in_python()
def summarize(
    runs: TrainedRuns | pd.DataFrame,
    *,
    by: Sequence[str] | str | None = None,
    threshold: float | None = None,
    parameter: str | None = None,
    exp_setups: Iterable[str | Path] = (),
    best_range: int = BEST_RANGE,
    estimators: Estimators = PUBLISHED,
    technical: bool = False,
) -> summary.Summary:
    """Return one row per group: success rate, solved at and sparsity error, with 95 % intervals.

    Args:
        runs: what `train` and `read_runs` return, of any script, or their table.
        by: options that tell groups apart; None: model, operation, ranges and what else differs.
        threshold: the test error below which a run is solved, in place of that of its task.
        parameter: rows of the tables to use; None: those of a run's script and model.
        exp_setups: tables of thresholds in place of the usual ones; runs without a row are left
            out then.
        best_range: a run is judged at the lowest validation error of its last so many rows.
        estimators: how means and intervals are made.
        technical: whether columns are those of `export/summarize.py`, as the papers have them.

    Examples:
        >>> sn.summarize(runs)[["model", "n", "success_rate"]]
          model  n  success_rate
        0   NMU  8           1.0
    """
    by = [by] if isinstance(by, str) else by
    if by is not None and not isinstance(by, Sequence):
        raise UsageError(f"by: {by!r} is not a list of columns")
    setups = _paths("exp_setups", exp_setups)
    judgement = Judgement(threshold, parameter, tuple(setups), best_range)
    _require_estimators(estimators)
    judged = judging.judge_tables([(_NAME, _table(runs))], judgement, _warn)
    options = list(judged.columns)[: list(judged.columns).index("threshold")]
    table = summary.summarize_runs(judged, None if by is None else _known(options, by), estimators)
    return summary.Summary(table) if technical else summary.typed_summary(table)


def _known(columns: Collection[str], by: Sequence[str]) -> list[str]:
    """Return options by which runs can be grouped, which may be called as arguments of `train`."""
    found = []
    for name in by:
        typed = isinstance(name, str) and name not in columns
        column = summary.technical_name(name) if typed else name
        if column not in columns:
            others = [one for one in columns if one not in ("name", "model_code")]
            known = list(map(summary.typed_name, others))
            remedy = did_you_mean(str(name), known, f"one of {', '.join(known)}")
            raise UsageError(f"by: there is no option {name!r}; {remedy}")
        found.append(column)
    return found


@named_as_in_python()
def compare(
    runs_a: TrainedRuns | pd.DataFrame,
    runs_b: TrainedRuns | pd.DataFrame,
    *,
    threshold: float | None = None,
    labels: tuple[str, str] | None = None,
) -> PairedTest:
    """Return whether one model solves more often than another, by pairs of runs of one seed.

    Runs are paired that have the same seed, operation and ranges, and the same value of every
    option that differs within one of both. The test is exact and two-sided, and exchanges the sides
    of whole seeds: of one run for each seed it is McNemar's, with Newcombe's interval for pairs;
    of several it has Student's interval of the seeds' differences.

    Args:
        runs_a: runs of one model.
        runs_b: runs of the other.
        threshold: the test error below which a run is solved, in place of that of its task.
        labels: what to call both; None: the names of their models.

    Examples:
        >>> others = sn.train("single_layer", layer="NAC", seed=range(8), **how)
        >>> sn.compare(runs, others).p
        0.0078125
    """
    judged = []
    for runs in (runs_a, runs_b):
        table = _table(runs)
        found = judging.judge_tables([(_NAME, table)], Judgement(threshold=threshold), _warn)
        steps: Any = table.groupby("name")["step"]
        last = steps.max().to_dict()
        judged.append(found.assign(iterations=[last[name] for name in found["name"]]))
    ones, others = judged
    varying = dict.fromkeys(chain.from_iterable(map(_varying, judged)))
    by = [c for c in (*_TASK, *varying) if c in ones and c in others]
    if labels is None:
        names = [plain(", ".join(dict.fromkeys(table["model"]))) for table in judged]
        labels = (names[0], names[1]) if names[0] != names[1] else ("the first", "the second")
    test = paired_test(labels, ones, others, [*by, "seed"])
    if not test.pairs:
        raise UsageError("no run of the first has the task and the seed of one of the second")
    return test


_TASK = ("operation", "interpolation.range", "extrapolation.range")


def _varying(options: pd.DataFrame) -> list[str]:
    """Return the task's columns, and options, that differ between judged runs."""
    columns = list(options.columns)
    return [
        *(c for c in ("model", *_TASK) if len(options[c].drop_duplicates()) > 1),
        *summary.differing_options(options[columns[: columns.index("threshold")]]),
    ]


@named_as_in_python()
def plot(
    runs: TrainedRuns | pd.DataFrame | Mapping[str, TrainedRuns] | Mapping[str, pd.DataFrame],
    kind: DrawingKind = "range",
    *,
    by: Sequence[str] | str | None = None,
    column: str | None = None,
    threshold: float | None = None,
    exp_setups: Iterable[str | Path] = (),
    estimators: Estimators = PUBLISHED,
    palette: "Palette" = "safe",
) -> "Figure":
    """Return a drawing of runs.

    Args:
        runs: what `train` and `read_runs` return, or several of them by the names of their models.
        kind: what to draw, as `--kind` of `export/plot.py`, except for its tables.
        by: options that tell lines apart; None: model, and what else differs but x.
        column: the x of a sweep; what other kinds show.
        threshold: the test error below which a run is solved, in place of that of its task.
        exp_setups: tables of thresholds in place of the usual ones.
        estimators: how means and intervals are made.
        palette: colours that read in print and for colour-blind readers, or the published hues.

    Examples:
        >>> sn.plot({"NMU": runs, "NAC": others}, kind="success").savefig("success.png")
    """
    from stable_nalu.figure.entries import entry_of_tables, made
    from stable_nalu.figure.runs import Context
    from stable_nalu.figure.style import PALETTES

    if palette not in PALETTES:
        raise UsageError(f"palette: {palette!r} is not one of {', '.join(PALETTES)}")
    if not isinstance(column, str | None):
        raise UsageError(f"column: {column!r} is not a name of a column")
    _require_estimators(estimators)
    setups = _paths("exp_setups", exp_setups)
    Judgement(threshold)  # refuses a threshold that is none
    column = column if column is None or "." in column else summary.technical_name(column)
    tables: dict[str, pd.DataFrame] = {}
    for label, own in (runs if isinstance(runs, Mapping) else {"": runs}).items():
        if not isinstance(label, str) or not is_text(label):
            raise UsageError(f"label of a model: {label!r} is not text")
        tables[label] = _table(own)
    beside = (column, *_X, *(["operation"] if kind == "histogram" else []))
    tables = {k: v for name, t in tables.items() for k, v in _split(name, t, by, beside).items()}
    labels = [] if list(tables) == [""] else list(tables)
    # A name with slashes would be a path of folders.
    named = ((label.replace("/", "∕") or "runs", table) for label, table in tables.items())
    names = {f"the table of {label}": table for label, table in named}
    header = [str(name) for name in next(iter(tables.values()))]
    entry = entry_of_tables(kind, list(names), header, labels, "figure", column)
    how: Any = {"threshold": threshold, "estimators": estimators, "palette": palette}
    context = Context(entry, Path(), names, setups=setups, **how)
    figure = made(entry.parts[0], context).figure
    for text in context.warnings:
        _warn(text)
    if figure is None:
        raise UsageError(f"kind {kind!r} is not a drawing; export/plot.py writes it")
    return figure


_X = ("hidden.size", "train.distribution", "test.distribution", "distribution")
"""Options that kinds have on their x axes."""
_WORDS = ("model", "operation")
"""Options whose values name a group on their own: `mul on U[1,2)`, with no `operation=`."""


def _split(
    name: str, table: pd.DataFrame, by: Sequence[str] | str | None, x: Collection[str | None]
) -> dict[str, pd.DataFrame]:
    """Return the runs of a table by what tells them apart besides the model and x.

    A table in which nothing does so is left whole.
    """
    by = [by] if isinstance(by, str) else by
    try:
        codes, options = judging.parsed_names(table, expand_name, _NAME)
    except (UsageError, KeyError):  # of a script without these options
        return {name: table}
    if by is None:
        operation = ["operation"] if len(set(options["operation"])) > 1 else []
        by = [c for c in (*operation, *summary.differing_options(options)) if c not in x]
    by = _known(list(options), by)
    if not name or len(set(options["model"])) > 1:
        by = list(dict.fromkeys(["model", *by]))
    if not by or (by == ["model"] and not name):
        return {name: table}
    found: dict[str, pd.DataFrame] = {}
    for values, group in judging.groups(options, by):
        pairs = zip(by, values, strict=True)
        parts = [str(v) if c in _WORDS else f"{c.replace('.', ' ')} {v}" for c, v in pairs]
        found[", ".join([name, *parts] if name else parts)] = table.loc[
            pd.Series(codes, table.index).isin(group.index)
        ]
    return found


def _require_estimators(given: object) -> None:
    if not isinstance(given, Estimators):
        raise UsageError(f"estimators: {given!r} is none; give an Estimators of statistics")


def _table(runs: object) -> pd.DataFrame:
    table = runs.table if isinstance(runs, TrainedRuns) else runs
    if not isinstance(table, pd.DataFrame):
        found = type(runs).__name__
        raise UsageError(f"runs: {found} is not a table; give what train or read_runs returns")
    return table


def _path(name: str, given: object) -> Path:
    if not isinstance(given, str | PathLike) or not is_text(str(given), of_path=True):
        raise UsageError(f"{name}: {given!r} is not a path")
    return Path(given)


def _paths(name: str, given: object) -> list[Path]:
    """Return the paths of a list, or the one."""
    several = [given] if isinstance(given, str) or not isinstance(given, Iterable) else given
    return [_path(name, one) for one in several]


def _warn(text: str) -> None:
    warnings.warn(text, stacklevel=4)
