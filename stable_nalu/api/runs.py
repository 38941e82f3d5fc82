"""Trained runs in Python: their logs, read as one table, and how each run ended."""

import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

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
from stable_nalu.statistics.setups import Judgement
from stable_nalu.writer import RunRecord

TABLE = "the table of runs"


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
            problem = f"{type(other).__name__} is not added to runs"
            raise UsageError(f"runs: {problem}; add what train or read_runs returns")
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
                listed = _listed(wanted)
                values = [listed, *(listed if isinstance(listed, list) else [])]
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
            judged = judging.judge_tables([(TABLE, self.table)], Judgement(), lambda text: None)
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
        apart = (flags.get(c, summary.typed_name(c)) for c in ("seed", *varying(judged)))
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
        curves = self.table.pivot_table(index="step", columns="name", values=column, dropna=False)
        curves = curves.reindex(columns=self.names)
        return curves.set_axis(pd.RangeIndex(len(self), name="run"), axis=1)

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
    """Return the runs of a folder, with their table.

    The columns of the configuration come last. They are made of the record of a run; a run of the
    published scripts, which has none, has those that its name holds. A run that cannot be read, or
    only in part, is logged as a warning.

    Args:
        folder: a folder with runs of any training scripts, in it or in folders below.
        names: the runs to read, by the names of their folders; all of them when None.
        processes: most processes that read; None: one per CPU where there is enough to read. More
            than this one import the main program again, which then needs a `__main__` guard.
        progress_bar: whether a person who watches a terminal sees how far it is.

    Examples:
        >>> runs = sn.read_runs("tensorboard/simple_function_static")
        >>> runs.best.config["layer_type"]
        'ReRegualizedLinearMNAC'
    """
    path = path_of("folder", folder)
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
        read = list(reader.tables())
        tables += read
        folders += [parent / table.name for table in read]
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
    inside: dict[Path, list[str]] = {}
    for place, inner, _ in os.walk(path):
        there = sorted(name for name in inner if not name.startswith("."))
        inner[:] = [name for name in there if not is_run(Path(place, name))]
        if len(inner) < len(there):
            inside[Path(place)] = there
    above = set(chain.from_iterable(folder.parents for folder in inside))
    own: dict[Path, list[str] | None] = {}
    for folder, there in inside.items():
        kept = [name for name in there if names is None or name in names]
        deeper = above | (inside.keys() - {folder})
        own[folder] = [name for name in kept if folder / name not in deeper]
        if names is None and len(own[folder] or ()) == len(there):
            own[folder] = None  # and what is no folder is warned of
    if names is not None:
        own = {folder: chosen for folder, chosen in own.items() if chosen}
        if set(names) - set(chain.from_iterable(chosen or () for chosen in own.values())):
            return {path: [*names]}
    return own or {path: None}


def _distinct(folders: Sequence[Path]) -> list[str]:
    """Return names of runs: their folders, with as many parent folders as make them unique."""
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


def _listed(value: Any) -> Any:
    """Return a value as records hold it: a list for whatever has values."""
    value = value.tolist() if isinstance(value, np.ndarray | np.generic | pd.Series) else value
    several = isinstance(value, list | tuple | range | set | frozenset)
    return [_listed(part) for part in value] if several else value


def _of_layers(outcomes: pd.DataFrame, wanted: Any) -> list[bool]:
    """Return which runs are of one of these layers, by their names in papers, keys or classes."""
    chosen = np.zeros(len(outcomes), bool)
    for layer in wanted if isinstance(wanted, list | tuple | set) else [wanted]:
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
        chosen |= own
    return chosen.tolist()


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


TASK = ("operation", "interpolation.range", "extrapolation.range")


def varying(options: pd.DataFrame) -> list[str]:
    """Return the task's columns, and options, that differ between judged runs."""
    columns = list(options.columns)
    return [
        *(c for c in ("model", *TASK) if len(options[c].drop_duplicates()) > 1),
        *summary.differing_options(options[columns[: columns.index("threshold")]]),
    ]


def path_of(name: str, given: object) -> Path:
    if not isinstance(given, str | PathLike) or not is_text(str(given), of_path=True):
        raise UsageError(f"{name}: {given!r} is not a path")
    return Path(given)
