"""What is done with trained runs in Python: read their logs, summarise, compare and draw them.

The same is done by `export/runs.py`, `export/summarize.py` and `export/plot.py`, with this code.
Errors are raised as `UsageError`; what a script would warn of is a warning.
"""

import os
import warnings
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from itertools import chain, combinations
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
import pandas as pd

from stable_nalu.base.errors import UsageError, did_you_mean, is_text, named_as_in_python
from stable_nalu.base.script import plain, plural
from stable_nalu.layer import entries
from stable_nalu.layer.registry import labelled_as_another_key, layer_class, script_name, spelled
from stable_nalu.options.run_names import column_of
from stable_nalu.result.export import STEP, aligned, is_run, open_reader
from stable_nalu.statistics import summary
from stable_nalu.statistics import table as judging
from stable_nalu.statistics.comparison import Comparison, compared
from stable_nalu.statistics.intervals import PairedTest, paired_test
from stable_nalu.statistics.setups import BEST_RANGE, PUBLISHED, Estimators, Judgement, expand_name
from stable_nalu.writer import RunRecord

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from stable_nalu.figure.style import Palette

# fmt: off
DrawingKind = Literal["range", "success", "distribution", "sweep", "table", "histogram", "curve",
    "metrics", "surface", "path", "matrix", "critical-difference", "profile"]
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
        """Return a run by its place, some by a slice or a mask, or columns of the table."""
        if isinstance(key, int):
            if not -len(self) <= key < len(self):
                raise IndexError(f"there is no run {key}, only {plural(len(self), 'run')}")
            place = key % len(self)
            name = self.names[place]
            return TrainedRun(name, self._folders[name], place, self)
        if isinstance(key, slice):
            return self._chosen(self.names[key])
        if _is_mask(key, len(self)):
            return self._chosen([name for name, one in zip(self.names, key, strict=True) if one])
        typed = isinstance(key, str) and key not in self.table
        return self.table[summary.technical_name(key) if typed else key]

    def at(self, folders: Iterable[Path]) -> "TrainedRuns":
        """Return the runs of these folders, in this order."""
        names = {folder: name for name, folder in self._folders.items()}
        return self._chosen([names[folder] for folder in folders if folder in names])

    def _chosen(self, names: Sequence[str]) -> "TrainedRuns":
        chosen = self.table.loc[self.table["name"].isin(names)].reset_index(drop=True)
        return TrainedRuns(chosen, {name: self._folders[name] for name in names})

    def __add__(self, other: "TrainedRuns") -> "TrainedRuns":
        """Return the runs of both; a run that is in both, by its folder, is there once."""
        if not isinstance(other, TrainedRuns):
            kind = type(other).__name__
            raise UsageError(
                f"runs: {kind} is not added to runs; add what train or read_runs returns"
            )
        return joined([self, other])

    def where(self, **fields: Any) -> "TrainedRuns":
        """Return the runs that have these values in `outcomes`; a list allows each of its values.

        Args:
            fields: such as `seed=range(5)`, `interpolation_range=[1, 2]` or `solved=True`. layer:
                a name of the papers, a key, or a class.
        """
        if not len(self):
            return self
        table, chosen = self.outcomes, np.ones(len(self), bool)
        for name, wanted in fields.items():
            if name == "layer":
                chosen &= _of_layers(table, wanted)
            elif name in table:
                given = (run.config.get(name) for run in self)
                cells = zip(table[name].tolist(), given, strict=True)
                values = [_listed(wanted), *([] if isinstance(wanted, str) else _several(wanted))]
                chosen &= [any(cell in values for cell in pair) for pair in cells]
            else:
                remedy = did_you_mean(name, [*table, "layer"], "runs.outcomes shows all")
                raise UsageError(f"where: runs have no field {name!r}; {remedy}")
        return self[chosen]

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_") or name == "table" or not hasattr(self.table, name):
                raise AttributeError(f"TrainedRuns and their table have no {name!r}")
            return getattr(self.table, name)

    @cached_property
    def outcomes(self) -> pd.DataFrame:
        """Return a row per run: what tells it apart, how it ended, and its whole configuration.

        A run that diverged is not solved, and its test error is infinite. CPU time is known of runs
        that this version trained.
        """
        with named_as_in_python():
            judged = judging.judge_tables([(_NAME, self.table)], Judgement(), lambda text: None)
            judged = judged.set_index("name")
        places = {name: place for place, name in enumerate(self.names)}
        judged.index = pd.Index([places[str(name)] for name in judged.index], name="run")
        judged = judged.sort_index()
        records = [self[place].record for place in judged.index]
        configs = [dict(record.config) if record else {} for record in records]
        flags = {column_of(flag): flag for flag in chain.from_iterable(configs)}
        diverged_at = [self.diverged_at[self.names[place]] for place in judged.index]
        options = judged.loc[:, : judging.THRESHOLD].iloc[:, :-1]
        more: dict[str, Any] = {}
        for column in map(str, options):
            name, own = flags.get(column, summary.typed_name(column)), options[column]
            # A flag has a column of another name if its script is not arithmetic.
            more[name] = more[name].where(more[name].notna(), own) if name in more else own
        more |= {f: [c.get(f) for c in configs] for f in flags.values() if f not in more}
        apart = (flags.get(c, summary.typed_name(c)) for c in ("seed", *_varying(judged)))
        cells: dict[str, Any] = {name: more[name] for name in apart}
        cells |= {"solved": judged["solved"], "solved_at": judged["extrapolation.step.solved"]}
        cells |= {"test_error": judged["extrapolation.last"], "threshold": judged["threshold"]}
        cells |= {"sparsity": judged["sparse.error.max"], "diverged": ~np.isnan(diverged_at)}
        cells["diverged_at"] = diverged_at
        cells["cpu_seconds"] = [record.cpu_seconds if record else None for record in records]
        cells["script"] = [record.script if record else None for record in records]
        return pd.DataFrame(cells | {name: more[name] for name in more if name not in cells})

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
            table = self.outcomes.loc[:, :"diverged_at"]
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
        folder: a folder with runs of any training scripts, in it or in folders below.
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
    tables, folders = [], []
    for parent, own in _parents(path, names).items():
        reader = open_reader(parent, None, "--folder", own, **how)
        found = list(reader.tables())
        tables += found
        folders += [parent / table.name for table in found]
    if not tables:
        raise reader.nothing()
    shown = _distinct(folders)
    tables = aligned([table._replace(name=name) for table, name in zip(tables, shown, strict=True)])
    columns: dict[str, Any] = {}
    for name in tables[0].columns:
        columns[name] = list(chain.from_iterable(table.columns[name] for table in tables))
    # What stands behind the code of the model tells runs apart.
    options = sorted(tables[0].options, key=lambda option: option != judging.THRESHOLD)
    cells = {"name": shown}
    cells |= {name: [table.options[name] for table in tables] for name in options}
    place = np.repeat(np.arange(len(tables)), [len(table.columns[STEP]) for table in tables])
    runs = pd.DataFrame(cells).take(place).reset_index(drop=True)
    frame = pd.concat([runs[["name"]], pd.DataFrame(columns), runs[options]], axis=1)
    return TrainedRuns(frame, dict(zip(shown, folders, strict=True)))


def _parents(path: Path, names: Collection[str] | None) -> dict[Path, list[str] | None]:
    """Return the folders, from this one on, that hold runs, and which to read; None: all."""
    if names is not None and all((path / str(name)).is_dir() for name in names):
        return {path: [*names]}
    if is_run(path):
        return {path.parent: [path.name]}
    found: dict[Path, list[str]] = {}
    for place, inner, _ in os.walk(path):
        there = sorted(name for name in inner if not name.startswith("."))
        inner[:] = [name for name in there if not is_run(Path(place, name))]
        if len(inner) < len(there):
            found[Path(place)] = there
    above = set(chain.from_iterable(folder.parents for folder in found))
    own: dict[Path, list[str] | None] = {}
    for folder, there in found.items():
        kept = [name for name in there if names is None or name in names]
        deeper = above | (found.keys() - {folder})
        own[folder] = [name for name in kept if folder / name not in deeper]
        if names is None and len(own[folder] or ()) == len(there):
            own[folder] = None  # and what is no folder is warned of
    if names is not None:
        own = {folder: chosen for folder, chosen in own.items() if chosen}
        if set(names) - set(chain.from_iterable(chosen or () for chosen in own.values())):
            return {path: [*names]}
    return own or {path: None}


def _distinct(folders: Sequence[Path]) -> list[str]:
    """Return names of runs: those of their folders, with as many above as tell them apart."""
    names, depth = [folder.name for folder in folders], 1
    while len(set(names)) < len(names):
        depth, counts = depth + 1, Counter(names)
        more = ["/".join(folder.parts[-depth:]) for folder in folders]
        names = [m if counts[n] > 1 else n for n, m in zip(names, more, strict=True)]
    return names


def joined(parts: Sequence[TrainedRuns]) -> TrainedRuns:
    """Return the runs of all parts; a run that is in several, by its folder, is there once."""
    folders = {f.resolve(): f for part in parts for f in part._folders.values()}
    names = dict(zip(folders, _distinct([*folders.values()]), strict=True))
    tables, left = list[pd.DataFrame](), dict(names)
    for part in parts:
        own = {name: folder.resolve() for name, folder in part._folders.items()}
        new = {name: left.pop(folder) for name, folder in own.items() if folder in left}
        table = part.table.loc[part.table["name"].isin(list(new))]
        tables.append(table.assign(name=table["name"].map(new)))
    columns: dict[bool, dict[str, None]] = {True: {}, False: {}}
    for table in tables:
        ends = [*table].index(judging.MODEL_CODE) if judging.MODEL_CODE in table else len([*table])
        for place, column in enumerate(table):
            columns[place < ends and column != judging.THRESHOLD][str(column)] = None
    options = sorted(columns[False], key=lambda option: option != judging.THRESHOLD)
    # A column without a value has no type that would be kept.
    whole = pd.concat([t.dropna(axis=1, how="all") for t in tables], ignore_index=True)
    whole = whole.reindex(columns=[*columns[True], *options])
    return TrainedRuns(whole, {names[key]: folder for key, folder in folders.items()})


def _several(value: Any) -> list[Any]:
    """Return the values of a list, a range or an array, or the one value."""
    listed = _listed(value)
    return listed if isinstance(listed, list) else [listed]


def _listed(value: Any) -> Any:
    """Return a value as records hold it: a list for whatever has values."""
    value = value.tolist() if isinstance(value, np.ndarray | np.generic | pd.Series) else value
    several = isinstance(value, list | tuple | range | set | frozenset)
    return [_listed(part) for part in value] if several else value


def _of_layers(outcomes: pd.DataFrame, wanted: Any) -> list[bool]:
    """Return which runs are of one of these layers, by their names in papers, keys or classes."""
    found = np.zeros(len(outcomes), bool)
    for layer in _several(wanted):
        known = (key for key, e in entries().items() if layer in (e.layer, e.module))
        name = layer if isinstance(layer, str) else next(known, None) or script_name(layer)
        name = name or getattr(layer, "__name__", repr(layer))
        key, own = labelled_as_another_key(name) or name, list[bool]()
        for row in outcomes.to_dict("records"):
            typed = str(row.get("layer_type", row.get("nalm_name")))
            entry = entries().get(typed)
            labels = (str(row.get("model")), entry.label if entry else "")
            own.append(typed == key or spelled(name) in [spelled(plain(one)) for one in labels])
        if not any(own):
            layer_class(name, "layer")  # which refuses what no layer is called
        found |= own
    return found.tolist()


def _is_mask(key: Any, runs: int) -> bool:
    """Return whether a key says of each run, and not of each row of the table, if it is wanted."""
    if isinstance(key, pd.Series):
        if key.index.name != "run" or key.dtype != bool:
            return False
        if len(key) != runs:
            raise UsageError(f"a mask of {plural(len(key), 'run')} is given for {runs}")
        return True
    several = isinstance(key, list | np.ndarray) and len(key) == runs
    return several and all(isinstance(one, bool | np.bool_) for one in key)


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
        runs: what `train` and `read_runs` return, of any script, or their table; or that of another
            loop, with the columns model, task, seed, step and error.
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
    judged = judging.judge_tables([(_NAME, _table(runs, threshold))], judgement, _warn)
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


Models = Mapping[str, TrainedRuns] | Mapping[str, pd.DataFrame]


@overload
def compare(
    runs_a: TrainedRuns | pd.DataFrame,
    runs_b: TrainedRuns | pd.DataFrame,
    *,
    threshold: float | None = None,
    labels: tuple[str, str] | None = None,
) -> PairedTest: ...
@overload
def compare(
    runs_a: Models | TrainedRuns | pd.DataFrame, *, threshold: float | None = None
) -> Comparison: ...
@named_as_in_python(runs="runs_a")
def compare(
    runs_a: Models | TrainedRuns | pd.DataFrame,
    runs_b: TrainedRuns | pd.DataFrame | None = None,
    *,
    threshold: float | None = None,
    labels: tuple[str, str] | None = None,
) -> PairedTest | Comparison:
    """Return whether one model solves more often than another, by pairs of runs of one seed.

    Runs are paired that have the same seed, operation and ranges, and the same value of every
    option that differs within one of both. The test is exact and two-sided, and exchanges the sides
    of whole seeds: of one run for each seed it is McNemar's, with Newcombe's interval for pairs;
    of several it has Student's interval of the seeds' differences.

    Of several models it returns a table of all pairs, with p by Holm's method.

    Args:
        runs_a: runs of one model; or several models by their labels; or runs of several models,
            without `runs_b`. A table of another loop has the columns model, task, seed, step and
            error.
        runs_b: runs of the other.
        threshold: the test error below which a run is solved, in place of that of its task.
        labels: what to call both; None: the names of their models.

    Examples:
        >>> others = sn.train("single_layer", layer="NAC", seed=range(8), **how)
        >>> sn.compare(runs, others).p
        0.0078125
    """
    if runs_b is not None:
        ones = _judged(runs_a, threshold)
        with named_as_in_python(runs="runs_b"):
            others = _judged(runs_b, threshold)
        if labels is None:
            names = [", ".join(dict.fromkeys(table["model"])) for table in (ones, others)]
            labels = (names[0], names[1]) if names[0] != names[1] else ("the first", "the second")
        return _tested(ones, others, labels, ("the first", "the second"))
    if labels is not None:
        raise UsageError("labels: they are of two models; give several as {label: runs}")
    if isinstance(runs_a, Mapping):
        models = {_label(name): _judged(runs, threshold) for name, runs in runs_a.items()}
    else:
        judged = _judged(runs_a, threshold)
        models = {str(name): rows for (name,), rows in judging.groups(judged, ["model"])}
    if len(models) < 2:
        raise UsageError(f"runs_a: {plural(len(models), 'model')} is given; two are compared")
    pairs = combinations(models.items(), 2)
    tests = [_tested(ones, others, (a, b), (a, b)) for (a, ones), (b, others) in pairs]
    return compared(tests)


def _judged(runs: object, threshold: float | None) -> pd.DataFrame:
    """Return a row per judged run, with its last step."""
    table = _table(runs, threshold)
    found = judging.judge_tables([(_NAME, table)], Judgement(threshold=threshold), _warn)
    steps: Any = table.groupby("name")["step"]
    last = steps.max().to_dict()
    return found.assign(iterations=[last[name] for name in found["name"]])


def _tested(
    ones: pd.DataFrame, others: pd.DataFrame, labels: tuple[str, str], called: tuple[str, str]
) -> PairedTest:
    varying = dict.fromkeys(chain.from_iterable(map(_varying, (ones, others))))
    by = [c for c in (*_TASK, *varying) if c in ones and c in others]
    test = paired_test(labels, ones, others, [*by, "seed"])
    if not test.pairs:
        one, other = map(plain, called)
        raise UsageError(f"no run of {one} has the task and the seed of one of {other}")
    return test


def _label(given: object) -> str:
    if not isinstance(given, str) or not is_text(given):
        raise UsageError(f"label of a model: {given!r} is not text")
    return given


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
        runs: what `train` and `read_runs` return, or several of them by the names of their models;
            or a table of another loop, as `summarize` takes it.
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
        tables[_label(label)] = _table(own, threshold)
    if column is None and kind in ("range", "success") and _has_no_ranges(tables.values()):
        column = "operation"
    by_task = kind in ("histogram", "critical-difference", "profile")
    beside = (column, *_X, *(["operation"] if by_task else []))
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


def _has_no_ranges(tables: Iterable[pd.DataFrame]) -> bool:
    """Return whether training ranges would tell no tasks apart."""
    column = column_of("interpolation_range")
    return all(column in table and table[column].isin(["", None]).all() for table in tables)


def _table(runs: object, threshold: float | None) -> pd.DataFrame:
    table = runs.table if isinstance(runs, TrainedRuns) else runs
    if not isinstance(table, pd.DataFrame):
        found = type(runs).__name__
        raise UsageError(f"runs: {found} is not a table; give what train or read_runs returns")
    return _of_other_loop(table, threshold) if "error" in table and "name" not in table else table


_TIDY = ("model", "task", "seed", "step", "error")


def _of_other_loop(tidy: pd.DataFrame, threshold: float | None) -> pd.DataFrame:
    """Return the table of runs that a program logged itself, which is judged at their last rows."""
    judging.require(tidy, _TIDY, _NAME, f"one of {', '.join(_TIDY)}")
    if threshold is None and judging.THRESHOLD not in tidy:
        raise UsageError("threshold: this table has none; give one, such as threshold=1e-5")
    given = judging.numeric(tidy, ("seed", "step", "error"), _NAME).reset_index(drop=True)
    judging.refuse_rows(given["seed"].isna(), given, "seed", _NAME, "no seed")
    judging.refuse_rows(given["error"] < 0, given, "error", _NAME, "an error below 0")
    texts = {name: given[name].astype(str) for name in ("model", "task", "seed")}
    missing = dict.fromkeys((judging.VALIDATION, judging.SPARSITY), float("nan"))
    own = {"name": texts["model"] + "/" + texts["task"] + "/" + texts["seed"]}
    own |= {"step": given["step"], judging.TEST: given["error"], **missing}
    own[judging.THRESHOLD] = given.get(judging.THRESHOLD, float("nan"))
    own |= {judging.MODEL_CODE: texts["model"], "model": texts["model"]}
    own |= {"operation": texts["task"], **dict.fromkeys(_TASK[1:], ""), "seed": given["seed"]}
    return pd.DataFrame(own)


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
