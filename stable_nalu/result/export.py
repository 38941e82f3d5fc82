"""Tables of all runs below a folder, and CSV files of them: what the scripts in `export/` share."""

import csv
import logging
import math
import multiprocessing
import pickle
import sys
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import pandas as pd

from stable_nalu.base.errors import OptionError, UsageError
from stable_nalu.base.files import atomic_text_file
from stable_nalu.base.script import bar, usable_cores
from stable_nalu.options import Config
from stable_nalu.options.run_names import has_field, parse_leaf
from stable_nalu.statistics.names import config_columns
from stable_nalu.task.table import SCRIPTS
from stable_nalu.writer.event_file import EventFileReader, RunFiles, TensorboardReader
from stable_nalu.writer.run_folder import RunRecord

from .run_parser import DIVERGED_AT, SPARSITY, STEP, WALL_TIME, RunColumns, RunParser, parser_of

_LOG = logging.getLogger(__name__)
_BYTES_PER_WORKER = 64 << 20
"""Starting workers costs about as much as reading this much."""

_DIVISION_STUDY = "single_layer"
"""The script of the division study, of which one exporter adds imaginary sparsity errors."""


SCORES = ("mse", "rmse", "mae")
"""What scores compare: mean squared errors, their square roots, or mean absolute errors."""

_ERRORS = ("metric.valid.interpolation", "metric.test.extrapolation")


class RunTable(NamedTuple):
    """One run: its name, its columns, of equal length, and its options where they are asked for."""

    name: str
    columns: RunColumns
    options: dict[str, Any] = {}


class RunProblem(NamedTuple):
    """Why a run is missing from the tables (`skipped`), or is there only in part."""

    run: str
    message: str
    skipped: bool


class RunReader:
    """Iterates over one data frame per run, in run-name order; rows are logged steps.

    The first run that has data fixes the columns; later ones are brought into that order, with
    missing values for columns they lack. A run that cannot be read, or only in part, is logged as
    a warning and listed in `problems`; the others go on.

    parser: makes the rows; None: what suits the script of each run, with the columns of all runs,
        which are read before the first is given.
    processes: most workers, all CPUs when None; small inputs are read in this process.
    published_names: whether runs of --short-names have their long names, which hold the options.
    with_config: whether every row has the options of its run, too.
    names: the runs to read, all if None.
    score: what scores compare; see `with_scores`.
    """

    def __init__(
        self,
        folder: str | Path,
        parser: RunParser | None,
        *,
        processes: int | None = None,
        progress_bar: bool = True,
        published_names: bool = False,
        with_config: bool = False,
        names: Container[str] | None = None,
        score: str = SCORES[0],
    ):
        self._reader = TensorboardReader(folder, auto_open=False, names=names)
        self._parse = partial(_parse_run, parser, published_names, with_config, score)
        self._has_all_columns = parser is None
        self._processes = processes or usable_cores()
        self._progress_bar = progress_bar
        self.problems: list[RunProblem] = []

    def __len__(self) -> int:
        return len(self._reader)

    @property
    def names(self) -> list[str]:
        """Return the names of the runs."""
        return self._reader.names

    def __iter__(self) -> Iterator[pd.DataFrame]:
        for table in self.tables():
            yield pd.DataFrame({"name": table.name, **table.columns, **table.options})

    def tables(self) -> Iterator[RunTable]:
        """Yield the same as plain columns, which spares callers that only write them pandas."""
        found = self._found()
        header: RunTable | None = None
        if self._has_all_columns:
            found = list(found)
            header = header_of(found)
        for table in found:
            header = header or table
            yield in_order(table, header)

    def _found(self) -> Iterator[RunTable]:
        """Yield every run that has data, with the columns that it has."""
        self.problems = []
        runs = list(self._reader.runs())
        shown = {"total": len(runs), "unit": "runs", "what": "reading"}
        for table, problem in bar(self._parsed(runs), hidden=not self._progress_bar, **shown):
            if problem is not None:
                verb = "read in part" if table.columns else "skipped"
                _LOG.warning("Warning: %s %s: %s", verb, table.name, problem)
            elif not table.columns:
                _LOG.warning("Warning: No data for %s", table.name)
            if problem is not None or not table.columns:
                found = RunProblem(table.name, problem or "no data", not table.columns)
                self.problems.append(found)
            if table.columns:
                yield table

    def _parsed(self, runs: list[RunFiles]) -> Iterator[tuple[RunTable, str | None]]:
        """Yield the table and the problem of every run, read by workers where that is quicker."""
        size = sum(run.path.stat().st_size for run in runs if run.path is not None)
        workers = min(self._processes, len(runs), size // _BYTES_PER_WORKER)
        if workers < 2 or not _can_travel(self._parse):
            yield from map(self._parse, runs)
            return
        # A server that has imported what reading takes starts every worker at once.
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload([__name__, "tensorboardX"])
        with ProcessPoolExecutor(workers, mp_context=context) as pool:
            yield from pool.map(self._parse, runs)

    def nothing(self) -> UsageError:
        """Return the error of a folder where no run has data."""
        reasons = "; ".join(f"{p.run}: {p.message}" for p in self.problems[:3])
        return UsageError(f"nothing to export, no run has data ({reasons})")

    def tell(self) -> None:
        """Say on stderr how many runs are absent or incomplete, if there are some."""
        if self.problems:
            skipped = sum(problem.skipped for problem in self.problems)
            in_part = len(self.problems) - skipped
            sys.stderr.write(f"{len(self)} runs: {skipped} skipped, {in_part} read in part\n")


def _parse_run(
    parser: RunParser | None,
    published_names: bool,
    with_config: bool,
    score: str,
    run: RunFiles,
) -> tuple[RunTable, str | None]:
    """Return the table of one run, and what is wrong with its file."""
    if run.path is None:
        return RunTable(run.name, {}), run.problem
    events = EventFileReader(run.path)
    record = RunRecord.read(run.path.parent)
    parser = parser or parser_of(run.name, record.script if record else "")
    try:
        # Names of runs without a record have a distribution in two studies only.
        of_study = has_field(run.name, "D-") and not has_field(run.name, "TB-")
        of_study = of_study if record is None else record.script == _DIVISION_STUDY
        columns = parser.parse(events, sums_imaginary=of_study)
    except OSError as error:
        return RunTable(run.name, {}), str(error)
    ends = columns.pop(DIVERGED_AT, [math.nan])
    if with_config:
        columns = _with_divergence(columns, ends[0])
    problem, steps = events.problem, columns.get(STEP, [])
    if len(set(steps)) < len(steps):
        columns = _last_of_each(columns)
        again = len(steps) - len(columns[STEP])
        repeated = f"rows of repeated steps: {again}; the last values are kept"
        problem = "; ".join(filter(None, (repeated, problem)))
    options = _options(run.name, record) if with_config else {}
    name = run.name
    if published_names and record and record.config.get("short_names") is not None:
        spec = SCRIPTS[record.script]
        name = spec.published_leaf(Config(spec, spec.defaults | {**record.config}))
    return RunTable(name, with_scores(columns, score), options), problem


def _with_divergence(columns: RunColumns, at: float) -> RunColumns:
    """Return the columns of a run with the step at which it diverged, NaN if it did not.

    A run that had logged no row by then has one, of no numbers.
    """
    if not columns and not math.isnan(at):
        valid, test = _ERRORS
        row = {valid: math.nan, STEP: int(at), WALL_TIME: math.nan, test: math.nan}
        columns = {name: [cell] for name, cell in (row | {SPARSITY: math.nan}).items()}
    return columns | {DIVERGED_AT: [at] * len(columns[STEP])} if columns else {}


def with_scores(columns: dict[str, list], base: str) -> dict[str, list]:
    """Return the columns of a run, with its scores where it has logged untrained networks.

    A model whose error is NaN, after an overflow, has the score infinity. There is no score where
    the untrained networks' error is 0 or not finite.
    """
    suffix = "" if base == "mse" else f".{base}"
    scored = dict(columns)
    for error in _ERRORS:
        split = error.rpartition(".")[2]
        errors = columns.get(error + (suffix if base == "mae" else ""))
        untrained = columns.get(f"metric.random.{split}{suffix}")
        if errors is not None and untrained is not None:
            power = 0.5 if base == "rmse" else 1
            pairs = zip(errors, untrained, strict=True)
            scored[f"score.{split}"] = [_score(e**power, u) for e, u in pairs]
    return scored


def _score(error: float, untrained: float) -> float:
    if not untrained or not math.isfinite(untrained):
        return math.nan
    return math.inf if math.isnan(error) else 100 * error / untrained


def _last_of_each(columns: RunColumns) -> RunColumns:
    """Return one row per step, of the last values that are there."""
    places: dict[int, int] = {}
    rows = [places.setdefault(step, len(places)) for step in columns[STEP]]
    kept = {name: [math.nan] * len(places) for name in columns}
    for name, cells in columns.items():
        for row, cell in zip(rows, cells, strict=True):
            if cell == cell:
                kept[name][row] = cell
    return kept


def _options(name: str, record: RunRecord | None) -> dict[str, Any]:
    """Return the options of a run: those of its record, else those that its name holds."""
    try:
        if record is not None:
            return config_columns(Config(SCRIPTS[record.script], record.config))
    except (LookupError, AttributeError, TypeError, ValueError):  # of another version
        pass
    try:
        return parse_leaf(name)
    except ValueError:
        return {}


def header_of(tables: Sequence[RunTable]) -> RunTable:
    """Return a table of no run that has the columns and options of all tables."""
    columns: RunColumns = {name: [] for table in tables for name in table.columns}
    return RunTable("", columns, {name: None for table in tables for name in table.options})


def in_order(table: RunTable, first: RunTable) -> RunTable:
    """Bring the columns of a run into the order of the first run."""
    names, columns, options = table
    left_out = [name for name in columns if name not in first.columns]
    left_out += [name for name in options if name not in first.options]
    if left_out:
        _LOG.warning(
            "Warning: left out of %s, as the first run lacks them: %s", names, ", ".join(left_out)
        )
    missing = [math.nan] * len(columns[STEP])
    return RunTable(
        names,
        {name: columns.get(name, missing) for name in first.columns},
        {name: options.get(name) for name in first.options},
    )


def _can_travel(parse: Callable[..., object]) -> bool:
    """Return whether workers can be given a parser: its matcher may be a lambda, which cannot."""
    try:
        pickle.dumps(parse)
    except (pickle.PicklingError, AttributeError, TypeError):
        return False
    return True


_FORMULAS = ("=", "+", "-", "@")
"""What spreadsheets take for the beginning of a formula."""


def write_tables(tables: Iterable[RunTable], file: TextIO) -> bool:
    """Write a header once, then the rows of every run; return whether there were any.

    Numbers have Python's shortest form that reads back as the same float64, and missing cells are
    empty: the text that pandas writes. Texts of a run are quoted when its name begins as formulas
    of spreadsheets do.
    """
    plain = csv.writer(file, lineterminator="\n")
    quoting = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    started = False
    for table in tables:
        if not started:
            plain.writerow(("name", *table.columns, *table.options))
            started = True
        cells = [["" if cell != cell else cell for cell in c] for c in table.columns.values()]
        same = [[cell] * len(cells[0]) for cell in (table.name, *table.options.values())]
        writer = quoting if table.name.startswith(_FORMULAS) else plain
        writer.writerows(zip(same[0], *cells, *same[1:], strict=True))
    return started


def open_reader(
    folder: str | Path,
    parser: RunParser | None,
    flag: str | None = None,
    names: Collection[str] | None = None,
    **options: Any,
) -> RunReader:
    """Return a reader with these options, after making sure that there are runs in the folder.

    flag: the one that names the folder. names: the runs to read, all if None.
    """
    try:
        reader = RunReader(folder, parser, names=names, **options)
    except OSError as error:
        raise OptionError(
            flag, f"cannot read {folder}: {error.strerror}", "name another"
        ) from error
    absent = sorted(set(names or ()) - set(reader.names))
    if absent:
        raise OptionError(flag, f"there is no run {absent[0]} in {folder}", "name their parent")
    if len(reader) == 0:
        raise OptionError(flag, f"there are no runs in {folder}", "name their parent")
    return reader


def export_csv(
    folder: str,
    csv_out: str,
    parser: RunParser | None,
    kept: Callable[[RunTable], object] = lambda table: None,
    **options: Any,
) -> RunReader:
    """Write the runs of a folder to a file, which is left alone when there is no data.

    kept: gets every table that is written. options: of the reader, which is returned.
    """
    reader = open_reader(folder, parser, "--tensorboard-dir", published_names=True, **options)

    def tables() -> Iterator[RunTable]:
        for table in reader.tables():
            kept(table)
            yield table

    try:
        with atomic_text_file(Path(csv_out), named=True) as file:
            if not write_tables(tables(), file):
                raise reader.nothing()
    except BrokenPipeError:  # the reader of standard output has enough
        raise
    except OSError as error:
        raise UsageError(f"argument --csv-out: cannot write {csv_out}: {error.strerror}") from error
    return reader
