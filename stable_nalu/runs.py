"""What is done with trained runs in Python: read their logs, summarise them, draw them.

The same is done by `export/runs.py`, `export/summarize.py` and `export/plot.py`, with this code.
Errors are raised as `UsageError`; what a script would warn of is a warning.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pandas as pd

from stable_nalu.errors import UsageError, is_text
from stable_nalu.result.export import RunTable, open_reader
from stable_nalu.result.run_parser import STEP
from stable_nalu.statistics.estimators import BEST_RANGE, PUBLISHED, Estimators
from stable_nalu.statistics.judge import Judgement, judge_tables
from stable_nalu.statistics.summary import summarize_runs
from stable_nalu.statistics.table import write_plain_frame

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from stable_nalu.figure.style import Palette


def read_runs(
    folder: str | Path,
    *,
    names: Collection[str] | None = None,
    processes: int | None = 1,
    progress_bar: bool = True,
) -> pd.DataFrame:
    """Return one row per run and logged step: its name, what it logged, and its configuration.

    The columns of the configuration come last. They are made of the record of a run; a run of the
    published scripts, which has none, has those that its name holds. A run that cannot be read, or
    only in part, is logged as a warning.

    Args:
        folder: the parent folder of the runs, of any training script.
        names: the runs to read, by the names of their folders; all of them when None.
        processes: most processes that read; None: one per CPU where there is enough to read. More
            than this one import the main program anew, which then needs a `__main__` guard.
        progress_bar: whether a person who watches a terminal sees how far it is.
    """
    path = _path("folder", folder)
    if isinstance(names, str):
        names = [names]
    elif names is not None and not isinstance(names, Collection):
        raise UsageError(f"names: {names!r} is not a list of names of runs")
    if not (processes is None or isinstance(processes, int)):
        raise UsageError(f"processes: {processes!r} is not a whole number")
    reader = open_reader(
        path,
        None,
        processes=processes,
        progress_bar=progress_bar,
        with_config=True,
        names=names,
    )
    tables = list(reader.tables())
    if not tables:
        raise reader.nothing()
    columns: dict[str, Any] = {"name": _repeated(tables, [table.name for table in tables])}
    for name in tables[0].columns:
        columns[name] = list(chain.from_iterable(table.columns[name] for table in tables))
    for name in tables[0].options:
        columns[name] = _repeated(tables, [table.options[name] for table in tables])
    return pd.DataFrame(columns)


def _repeated(tables: Sequence[RunTable], cells: Iterable[Any]) -> list[Any]:
    """Return a cell of each table as often as that has rows."""
    pairs = zip(tables, cells, strict=True)
    return list(chain.from_iterable([cell] * len(table.columns[STEP]) for table, cell in pairs))


def summarize(
    runs: pd.DataFrame,
    *,
    by: Sequence[str] | str | None = None,
    threshold: float | None = None,
    parameter: str | None = None,
    exp_setups: Iterable[str | Path] = (),
    best_range: int = BEST_RANGE,
    estimators: Estimators = PUBLISHED,
) -> pd.DataFrame:
    """Return one row per group: success rate, solved at and sparsity error, with 95 % intervals.

    Args:
        runs: what `read_runs` returns, of arithmetic scripts.
        by: options that tell groups apart; None: model, operation, ranges and what else differs.
        threshold: the test error below which a run is solved, in place of that of its task.
        parameter: rows of the tables to use; None: those of a run's script and model.
        exp_setups: tables of thresholds in place of the usual ones; runs without a row are left
            out then.
        best_range: a run is judged at the lowest validation error of its last so many rows.
        estimators: how means and intervals are made.
    """
    by = [by] if isinstance(by, str) else by
    if by is not None and not isinstance(by, Sequence):
        raise UsageError(f"by: {by!r} is not a list of columns")
    setups = _paths("exp_setups", exp_setups)
    judgement = Judgement(setups, threshold, parameter, best_range)
    _require_estimators(estimators)
    judged = judge_tables([("the table of runs", _table(runs))], judgement, _warn)
    return summarize_runs(judged, by, estimators)


def plot(
    runs: pd.DataFrame | Mapping[str, pd.DataFrame],
    kind: str = "range",
    *,
    column: str | None = None,
    threshold: float | None = None,
    exp_setups: Iterable[str | Path] = (),
    estimators: Estimators = PUBLISHED,
    palette: Palette = "safe",
) -> Figure:
    """Return a drawing of runs.

    Args:
        runs: what `read_runs` returns, or several such tables by the names of their models.
        kind: what to draw, as `--kind` of `export/plot.py`, except for its tables.
        column: the x of a sweep; what other kinds show.
        threshold: the test error below which a run is solved, in place of that of its task.
        exp_setups: tables of thresholds in place of the usual ones.
        estimators: how means and intervals are made.
        palette: colours that read in print and for colour-blind readers, or the published hues.
    """
    from stable_nalu.figure.entries import entry_of_files
    from stable_nalu.figure.entry import Context
    from stable_nalu.figure.render import made
    from stable_nalu.figure.source import Source

    _require_look(palette, column)
    _require_estimators(estimators)
    setups = _paths("exp_setups", exp_setups)
    Judgement(setups, threshold)  # refuses a threshold that is none
    tables = _tables(runs if isinstance(runs, Mapping) else {"": runs})
    labels = list(tables) if isinstance(runs, Mapping) else []
    with TemporaryDirectory() as folder:
        paths = [Path(folder, f"{place}.csv") for place in range(len(tables))]
        for path, table in zip(paths, tables.values(), strict=True):
            write_plain_frame(path, table)
        names = {str(p): f"the table of {n or 'runs'}" for p, n in zip(paths, tables, strict=True)}
        source = Source(Path(folder))
        try:
            entry = entry_of_files(kind, paths, labels, "figure", column, threshold)
            context = Context(entry.key, entry.series, source, setups, estimators, palette)
            figure = made(entry.parts[0], context).figure
        except UsageError as error:
            raise UsageError(_renamed(str(error), names)) from None
    for text in source.warnings:
        _warn(_renamed(text, names))
    if figure is None:
        raise UsageError(f"kind {kind!r} is not a drawing; export/plot.py writes it")
    return figure


def _renamed(text: str, names: Mapping[str, str]) -> str:
    """Return a message about files with other names for them."""
    for file, name in names.items():
        text = text.replace(file, name)
    return text


def _require_look(palette: object, column: object) -> None:
    from stable_nalu.figure.style import PALETTES

    if palette not in PALETTES:
        raise UsageError(f"palette: {palette!r} is none of {', '.join(PALETTES)}")
    if not isinstance(column, str | None):
        raise UsageError(f"column: {column!r} is not a name of a column")


def _require_estimators(given: object) -> None:
    if not isinstance(given, Estimators):
        raise UsageError(f"estimators: {given!r} is none; give an Estimators of statistics")


def _table(runs: object) -> pd.DataFrame:
    if not isinstance(runs, pd.DataFrame):
        found = type(runs).__name__
        raise UsageError(f"runs: {found} is not a table; give the DataFrame that read_runs returns")
    return runs


def _tables(given: Mapping[Any, object]) -> dict[str, pd.DataFrame]:
    found: dict[str, pd.DataFrame] = {}
    for label, runs in given.items():
        if not isinstance(label, str) or not is_text(label):
            raise UsageError(f"label of a model: {label!r} is not text")
        found[label] = _table(runs)
    return found


def _path(name: str, given: object) -> Path:
    if not isinstance(given, str | PathLike) or not is_text(str(given), of_path=True):
        raise UsageError(f"{name}: {given!r} is not a path")
    return Path(given)


def _paths(name: str, given: object) -> list[Path]:
    """Return the paths of a list, or the one."""
    several = [given] if isinstance(given, str) or not isinstance(given, Iterable) else given
    return [_path(name, one) for one in several]


def _warn(text: str) -> None:
    warnings.warn(text, stacklevel=3)
