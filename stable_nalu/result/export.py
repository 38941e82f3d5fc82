"""Rows of the events of a run, tables of all runs of a folder, and the exporters as commands.

A value belongs to a row when its event has the step of the row. Training loops log validation
metrics first and what the forward pass of the same step shows afterwards, so the metrics open a
row and weights and sparsity errors join it.
"""

import argparse
import csv
import logging
import math
import multiprocessing
import os
import pickle
import re
import sys
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import numpy as np
import pandas as pd

from stable_nalu.base.errors import OptionError, UsageError
from stable_nalu.base.files import EVENT_FILE, STREAMS, atomic_text_file, visible_entries
from stable_nalu.base.script import (
    ScriptParser,
    adder,
    bar,
    exit_code,
    granted_cores,
    say,
    usable_cores,
)
from stable_nalu.options import Config
from stable_nalu.options.flags import range_label
from stable_nalu.options.run_names import column_of, has_field, parse_leaf
from stable_nalu.statistics.setups import MODEL_CODE, THRESHOLD, config_columns
from stable_nalu.statistics.table import DIVERGED_AT, SPARSITY, TEST, VALIDATION
from stable_nalu.task.table import SCRIPTS, TASKS
from stable_nalu.writer import RunRecord, event_file
from stable_nalu.writer.event_file import Event, EventFileReader

RunColumns = dict[str, list]
STEP, WALL_TIME, RECURSIVE = "step", "wall.time", "recursive.weight"

_SPARSITY_RULES = {
    "W/sparsity_error": 0,
    "W_real/sparsity_error": 0,
    "W_im/sparsity_error": 1,
    "mcfc_junction/sparsity_error": 0,
    "mcfc_out_gate/sparsity_error": 1,
    "mulmcfc_bias/sparsity_error": 2,
    "mulmcfcsignrealnpu_g_hat/sparsity_error": 3,
}
"""Tag ending, and k: 0 takes the maximum over layers; otherwise entry = (k entry + value)/(k+1)."""

_SUMMED = "W_im/sparsity_error"
"""In runs of the division study, entry = entry + value, as its exporter had it."""
_WEIGHTS, _GATES = ("weights.w0", "weights.w1"), ("gate.g0", "gate.g1")
_MATRICES = {"W": _WEIGHTS, "W_real": _WEIGHTS, "gate": _GATES}
_MATRIX_RULES = {f"{name}{event_file.TEXT_SUFFIX}": cells for name, cells in _MATRICES.items()}
_AFTER_METRICS = (*_WEIGHTS, SPARSITY, *_GATES, RECURSIVE)

_PAIR_WEIGHTS = {f"{event_file.LABEL_WEIGHTS}/w{k}": f"label2out.w{k}" for k in (0, 1)}

_SCORED = (
    "metric/(valid/interpolation|test/extrapolation)(/mae)?"
    "|metric/random/(inter|extra)polation(/rmse|/mae)?"
)
is_scored = re.compile(_SCORED).fullmatch
"""Whether a tag is an error of validation or test, or what a score compares it with."""
is_scored_or_gate = re.compile(f"{_SCORED}|.*{event_file.GATE_MEAN_SUFFIX}").fullmatch
"""Whether a tag is one of those, or the mean gate of a NALU layer."""
is_sequence_metric = re.compile("metric/(train|valid|test/extrapolation/).*/mse").fullmatch
"""Whether a tag is a mean squared error of training, validation or a test length."""
is_pair_metric = re.compile("metric/(train|valid|test).*/(mse|acc|loss)").fullmatch
"""Whether a tag of a run on pairs of digits is an error or accuracy of its sets."""

_DIVERGED = f"/{event_file.DIVERGED}{event_file.TEXT_SUFFIX}"
_CURVE = f"{event_file.ERROR_CURVE}{event_file.TEXT_SUFFIX}"
_OPEN, _CLOSE = b"<pre>", b"</pre>"
_NO_BRACKETS = bytes.maketrans(b"[],", b"   ")


@dataclass(frozen=True)
class MetricParser:
    """Rows from the tags that `matcher` accepts, with epoch, sparsity error and first weights.

    step = event step - `step_start`. `recursive_weight` adds the first two elements of the first
    weight and gate matrix of a step. A run killed within a step has missing cells in its last row.

    of_pairs: whether rows are of runs on pairs of digits. These have the two weights of the last
        layer, which are empty where there is nothing to learn, but no times and sparsity errors.
    """

    matcher: Callable[[str], object]
    step_start: int = 0
    recursive_weight: bool = False
    of_pairs: bool = False

    def parse(self, events: Iterable[Event], *, sums_imaginary: bool = False) -> RunColumns:
        """Return the columns: first metric, step, time, epoch, metrics, weights, sparsity, gates.

        They are of equal length, without the name of the run; there are none without rows.

        `sums_imaginary` adds sparsity errors of imaginary weights to the row's sparsity error,
        instead of averaging the two. Of a run that diverged there is `DIVERGED_AT`, too, and of
        one that did so before its first row nothing else.
        """
        rows: list[dict[str, Any]] = []
        row: dict[str, Any] = {}
        ends: RunColumns = {}
        epoch = logged = None
        rule_of = cache(self._rule)
        for event in events:
            for tag, value in zip(event.tags, event.values, strict=True):
                kind, what = rule_of(tag)
                if not kind:
                    continue
                if kind == event_file.EPOCH:
                    epoch = value  # of the rows that follow
                elif kind == event_file.DIVERGED:
                    ends = {DIVERGED_AT: [float(event.step - self.step_start)]}
                elif kind == event_file.METRIC and (event.step != logged or what in row):
                    logged = event.step
                    row = {what: _text(value), STEP: logged - self.step_start}
                    row[WALL_TIME] = event.wall_time
                    row |= {} if epoch is None else {event_file.EPOCH: epoch}
                    rows.append(row)
                elif event.step != logged:
                    continue
                elif kind in (event_file.METRIC, event_file.LABEL_WEIGHTS):
                    row[what] = _text(value)
                elif kind == SPARSITY:
                    _join_sparsity(row, what, value, sums_imaginary and tag.endswith(_SUMMED))
                elif kind == event_file.ERROR_CURVE:
                    row |= _curve(value)
                elif isinstance(value, bytes) and what[0] not in row:
                    cells = [*(matrix_elements(value) or ()), math.nan, math.nan]
                    row |= zip(what, cells, strict=False)
        found = self._ordered(_columns(rows), [math.nan] * len(rows)) if rows else {}
        return found | {name: cells * (len(rows) or 1) for name, cells in ends.items()}

    def _rule(self, tag: str) -> tuple[str, Any]:
        """Return the kind of values of `tag`, and their place, by the first rule that applies."""
        if self.of_pairs and (label := next(filter(tag.endswith, _PAIR_WEIGHTS), None)):
            return event_file.LABEL_WEIGHTS, _PAIR_WEIGHTS[label]
        if tag == event_file.EPOCH or (self.of_pairs and "sparsity_error" in tag):
            return (event_file.EPOCH if tag == event_file.EPOCH else ""), None
        if tag.endswith(_DIVERGED):
            return event_file.DIVERGED, None
        if self.matcher(tag):
            return event_file.METRIC, tag
        if tag == _CURVE:
            return event_file.ERROR_CURVE, None
        if matrix := next(filter(tag.endswith, _MATRIX_RULES), None):
            return (matrix if self.recursive_weight else ""), _MATRIX_RULES[matrix]
        if error := next(filter(tag.endswith, _SPARSITY_RULES), None):
            return SPARSITY, _SPARSITY_RULES[error]
        return "", None

    def _ordered(self, columns: RunColumns, missing: list[float]) -> RunColumns:
        """Put values of inner layers, such as the mean gate, last, whatever was logged first."""
        if self.of_pairs:
            late = {name: columns.pop(name, missing) for name in _PAIR_WEIGHTS.values()}
            del columns[WALL_TIME]
            return {name.replace("/", "."): cells for name, cells in (columns | late).items()}
        columns.setdefault(SPARSITY, missing)
        if self.recursive_weight:
            columns.setdefault(RECURSIVE, missing)
        late = [name for name in list(columns)[1:] if name.startswith("network/")]
        after = [name for name in _AFTER_METRICS if name in columns]
        first = [name for name in columns if name not in late and name not in after]
        return {name.replace("/", "."): columns[name] for name in (*first, *after, *late)}


def _text(value: float | bytes) -> float | str:
    return value.decode(errors="replace") if isinstance(value, bytes) else value


def _curve(value: float | bytes) -> dict[str, float]:
    """Return the points of a curve: a table of inputs, as they were written, and errors."""
    with suppress(AttributeError, ValueError):  # Of what is no such table, nothing is read.
        rows = _text(value).splitlines()[2:]
        cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
        return {f"{event_file.CURVE_COLUMNS}{at}": float(error) for at, error in cells}
    return {}


def _join_sparsity(row: dict[str, Any], share: int, value: float | bytes, summed: bool) -> None:
    """Combine a sparsity error with the row's, as `_SPARSITY_RULES` says."""
    if isinstance(value, bytes):
        return
    entry = row.get(SPARSITY)
    if entry is None:
        if share == 0:
            row[SPARSITY] = value
    elif summed:
        row[SPARSITY] = entry + value
    elif share:
        row[SPARSITY] = (share * entry + value) / (share + 1)
    elif not (entry >= value or math.isnan(entry)):
        row[SPARSITY] = value


@dataclass(frozen=True)
class WeightsParser:
    """One row per step with every element of every matrix text: `param.<P>.<i>`.

    P is the second-to-last part of the tag. Only the first matrix of a name in a step counts:
    in networks of several layers the names repeat, and this table has only the first.
    """

    step_start: int = 0

    def parse(self, events: Iterable[Event], *, sums_imaginary: bool = False) -> RunColumns:  # noqa: ARG002
        """Return the columns: all of the first parameter, step, the further parameters."""
        rows: list[dict[str, Any]] = []
        step, first = None, ""
        for event in events:
            for tag, value in zip(event.tags, event.values, strict=True):
                elements = matrix_elements(value) if tag.endswith(event_file.TEXT_SUFFIX) else None
                if elements is None:
                    continue
                if event.step != step:
                    step = event.step
                    rows.append({STEP: step - self.step_start})
                parameter = f"param.{tag.split('/')[-2]}."
                first = first or parameter
                if f"{parameter}0" not in rows[-1]:
                    rows[-1] |= {f"{parameter}{i}": element for i, element in enumerate(elements)}
        columns = _columns(rows)
        leading = [name for name in columns if first and name.startswith(first)]
        return {name: columns[name] for name in (*leading, STEP, *columns) if name in columns}


RunParser = MetricParser | WeightsParser
"""Makes the columns of one run; it travels to worker processes, so it can be pickled."""


def _is_metric(tag: str) -> bool:
    """Return whether a tag is a number that a script measures, under the name of any script."""
    known = (f"{event_file.METRIC}/", event_file.LOSS_VALID)
    measured = tag.startswith(known) or tag in event_file.TASK_LOSSES
    return measured and not tag.endswith(event_file.TEXT_SUFFIX)


# Where training counts updates from 1, rows do from 0.
SEQUENCES = MetricParser(is_sequence_metric, step_start=1, recursive_weight=True)
PAIRS = MetricParser(is_pair_metric, step_start=1, of_pairs=True)
SEQUENCE_SCRIPTS = ("sequential_mnist", "sequential_svhn")
PAIR_SCRIPTS = ("two_digit_mnist", "ST_mnist_labels")
"""The scripts of digits, and the parsers of their runs."""


def parser_of(name: str, script: str) -> RunParser:
    """Return what makes the rows of a run, by the script that made it, else by its name."""
    if script in SEQUENCE_SCRIPTS or (not script and has_field(name, "d-", "m-")):
        return SEQUENCES
    if script in PAIR_SCRIPTS or (not script and has_field(name, "learnL")):
        return PAIRS
    return MetricParser(_is_metric)


def _columns(rows: Sequence[Mapping[str, Any]]) -> RunColumns:
    """Return columns in the order of their first cell; missing cells are NaN."""
    names = dict.fromkeys(chain.from_iterable(rows))
    return {name: [row.get(name, math.nan) for row in rows] for name in names}


def matrix_elements(text: float | bytes) -> list[float] | None:
    """Return the elements of a logged matrix in row-major order; None for anything else.

    A matrix is logged as `<pre>`, NumPy's text of it and `</pre>`; `nan`, `inf` and trailing dots
    are numbers, too.
    """
    if not (isinstance(text, bytes) and text.startswith(_OPEN) and text.endswith(_CLOSE)):
        return None
    words = text[len(_OPEN) : -len(_CLOSE)].translate(_NO_BRACKETS).split()
    try:
        return [float(word) for word in words]
    except ValueError:
        return None


_LOG = logging.getLogger(__name__)
_BYTES_PER_WORKER = 64 << 20
"""Starting workers costs about as much as reading this much."""

_DIVISION_STUDY = "single_layer"
"""The script of the division study, of which one exporter adds imaginary sparsity errors."""
SCORES = ("mse", "rmse", "mae")
"""What scores compare: mean squared errors, their square roots, or mean absolute errors."""
_FORMULAS = ("=", "+", "-", "@")
"""What spreadsheets take for the beginning of a formula."""


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
        self._reader = event_file.TensorboardReader(folder, auto_open=False, names=names)
        self._parse = partial(_parse_run, parser, published_names, with_config, score)
        self._has_all_columns = parser is None
        self._processes = processes or usable_cores()
        self._progress_bar = progress_bar
        self.names = self._reader.names
        self.problems: list[RunProblem] = []

    def __len__(self) -> int:
        return len(self._reader)

    def __iter__(self) -> Iterator[pd.DataFrame]:
        for table in self.tables():
            yield pd.DataFrame({"name": table.name, **table.columns, **table.options})

    def tables(self) -> Iterator[RunTable]:
        """Yield the same as plain columns, which spares callers that only write them pandas."""
        if self._has_all_columns:
            yield from aligned(list(self._found()))
            return
        first: RunTable | None = None
        for table in self._found():
            first = first or table
            yield _in_order(table, first)

    def _found(self) -> Iterator[RunTable]:
        """Yield every run that has data, with the columns that it has."""
        self.problems = []
        runs = list(self._reader.runs())
        shown = {"total": len(runs), "unit": "runs", "what": "reading"}
        for table, problem in bar(self._parsed(runs), hidden=not self._progress_bar, **shown):
            skipped, verb = not table.columns, "read in part" if table.columns else "skipped"
            if problem is not None:
                _LOG.warning("Warning: %s %s: %s", verb, table.name, problem)
            elif skipped:
                _LOG.warning("Warning: No data for %s", table.name)
            if problem is not None or skipped:
                self.problems.append(RunProblem(table.name, problem or "no data", skipped))
            if not skipped:
                yield table

    def _parsed(self, runs: list[event_file.RunFiles]) -> Iterator[tuple[RunTable, str | None]]:
        """Yield the table and the problem of every run, read by workers where that is quicker."""
        size = sum(run.path.stat().st_size for run in runs if run.path is not None)
        workers = min(self._processes, len(runs), size // _BYTES_PER_WORKER)
        try:
            pickle.dumps(self._parse)
        except (pickle.PicklingError, AttributeError, TypeError):  # Its matcher may be a lambda.
            workers = 1
        if workers < 2:
            yield from map(self._parse, runs)
            return
        # A server that has imported what reading takes starts every worker at once.
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload([__name__, "tensorboardX"])
        with ProcessPoolExecutor(workers, mp_context=context) as pool:
            yield from pool.map(self._parse, runs)

    def nothing(self) -> UsageError:
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
    run: event_file.RunFiles,
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
    (end, *_) = columns.pop(DIVERGED_AT, [math.nan])
    if with_config and not columns and end == end:
        # A run that diverged before it had logged a row has one, of no numbers.
        row = {VALIDATION: math.nan, STEP: int(end), WALL_TIME: math.nan, TEST: math.nan}
        columns = {name: [cell] for name, cell in (row | {SPARSITY: math.nan}).items()}
    if with_config and columns:
        columns[DIVERGED_AT] = [end] * len(columns[STEP])
    problem, steps = events.problem, columns.get(STEP, [])
    if len(set(steps)) < len(steps):
        # One row per step, of the last values that are there.
        last = pd.DataFrame(columns).groupby(STEP, sort=False, as_index=False).last()
        columns = {name: last[name].tolist() for name in columns}
        again = len(steps) - len(last)
        repeated = f"rows of repeated steps: {again}; the last values are kept"
        problem = "; ".join(filter(None, (repeated, problem)))
    options: dict[str, Any] = {}
    if with_config:
        with suppress(ValueError):  # of a name without options
            options = parse_leaf(run.name)
        with suppress(LookupError, AttributeError, TypeError, ValueError):  # of another version
            if record is not None:
                options = config_columns(Config(SCRIPTS[record.script], record.config))
    name = run.name
    if published_names and record and record.config.get("short_names") is not None:
        spec = SCRIPTS[record.script]
        name = spec.published_leaf(spec.recorded(record.config))
    table = RunTable(name, with_scores(columns, score), options)
    return (_for_judging(table, record) if with_config and columns else table), problem


def _for_judging(table: RunTable, record: RunRecord | None) -> RunTable:
    """Return the table of a run whose errors and options have the names of arithmetic scripts.

    All runs are judged by these. A run without a record is left as it is.
    """
    if MODEL_CODE in table.options or record is None or record.script not in SCRIPTS:
        return table
    spec = SCRIPTS[record.script]
    config = spec.recorded(record.config)
    missing = [float("nan")] * len(table.columns[STEP])
    goal = TASKS[spec.name].goal(config)
    tags = {VALIDATION: goal.valid, TEST: goal.test}.items()
    errors = {name: table.columns.get(str(tag).replace("/", "."), missing) for name, tag in tags}
    own = {
        THRESHOLD: goal.limit.threshold if goal.limit else float("nan"),
        MODEL_CODE: spec.fields[0].text(config),
        "operation": goal.operation or str(getattr(config, "operation", spec.name)),
    }
    given = config.as_dict()
    for dest, words in (("interpolation_range", "train"), ("extrapolation_range", "test")):
        value = given.get(dest)
        own[column_of(dest)] = range_label(value) if value else " & ".join(given.get(words, ()))
    others = {name: value for name, value in table.options.items() if name not in own}
    return RunTable(table.name, errors | {SPARSITY: missing} | table.columns, own | others)


def with_scores(columns: dict[str, list], base: str) -> dict[str, list]:
    """Return the columns of a run, with its scores where it has logged untrained networks.

    A model whose error is NaN, after an overflow, has the score infinity. There is no score where
    the untrained networks' error is 0 or not finite.
    """
    suffix = "" if base == "mse" else f".{base}"
    scored = dict(columns)
    for error in (VALIDATION, TEST):
        split = error.rpartition(".")[2]
        errors = columns.get(error + (suffix if base == "mae" else ""))
        untrained = columns.get(f"metric.random.{split}{suffix}")
        if errors is not None and untrained is not None:
            ours, theirs = np.array(errors, float), np.array(untrained, float)
            theirs[~np.isfinite(theirs) | (theirs == 0)] = math.nan
            scores = 100 * (np.sqrt(ours) if base == "rmse" else ours) / theirs
            scores[np.isnan(ours) & ~np.isnan(theirs)] = math.inf
            scored[f"score.{split}"] = scores.tolist()
    return scored


def aligned(tables: Sequence[RunTable]) -> list[RunTable]:
    columns: RunColumns = {name: [] for table in tables for name in table.columns}
    options = {name: None for table in tables for name in table.options}
    return [_in_order(table, RunTable("", columns, options)) for table in tables]


def _in_order(table: RunTable, first: RunTable) -> RunTable:
    run, columns, options = table
    known = {**first.columns, **first.options}
    if left_out := ", ".join(n for n in (*columns, *options) if n not in known):
        _LOG.warning("Warning: left out of %s, as the first run lacks them: %s", run, left_out)
    missing = [math.nan] * len(columns[STEP])
    kept = {name: columns.get(name, missing) for name in first.columns}
    return RunTable(run, kept, {name: options.get(name) for name in first.options})


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
    names: Sequence[str] | None = None,
    **options: Any,
) -> RunReader:
    """Return a reader with these options, after making sure that there are runs in the folder.

    flag: the one that names the folder. names: the runs to read, all if None.
    """
    try:
        reader = RunReader(folder, parser, names=names, **options)
    except OSError as error:
        problem = f"cannot read {folder}: {error.strerror}"
        raise OptionError(flag, problem, "name another") from error
    absent = [f"is no run {name}" for name in sorted({*(names or ())} - {*reader.names})]
    if absent or not len(reader):
        problem = f"there {absent[0] if absent else 'are no runs'} in {folder}"
        raise OptionError(flag, problem, "name their parent")
    return reader


def export_csv(
    folder: str,
    csv_out: str,
    parser: RunParser | None,
    kept: Callable[[RunTable], None] = lambda table: None,
    **options: Any,
) -> RunReader:
    """Write the runs of a folder to a file, which is left alone when there is no data.

    kept: gets every table that is written. options: of the reader, which is returned.
    """
    reader = open_reader(folder, parser, "--tensorboard-dir", published_names=True, **options)

    shown = (table for table in reader.tables() if not kept(table))
    try:
        with atomic_text_file(Path(csv_out), named=True) as file:
            if not write_tables(shown, file):
                raise reader.nothing()
    except BrokenPipeError:  # the reader of standard output has enough
        raise
    except OSError as error:
        raise UsageError(f"argument --csv-out: cannot write {csv_out}: {error.strerror}") from error
    return reader


@dataclass(frozen=True)
class _Long:
    """A long form of tables: a row per run, step and point of the columns that a pattern finds.

    pattern: its groups are the point and what is measured there. nothing: the error of no column.
    names: columns of a table -> of the file. order: columns by which rows are sorted.
    """

    help: str
    pattern: str
    nothing: str
    names: Mapping[str, str]
    columns: Sequence[str]
    order: Sequence[str]

    def points(self, table: RunTable) -> Iterator[dict[str, Any]]:
        of_points: dict[str, dict[str, list]] = {}
        for name in table.columns:
            if match := re.fullmatch(self.pattern, name):
                of_points.setdefault(match["point"], {})[match["measure"]] = table.columns[name]
        options = {"name": table.name, **table.options}
        for place, step in enumerate(table.columns[STEP]):
            points = {p: {of: c[place] for of, c in cs.items()} for p, cs in of_points.items()}
            if any(cell == cell for cells in points.values() for cell in cells.values()):
                for point, cells in points.items():
                    yield {**options, STEP: step, "point": float(point), **cells}

    def write(self, rows: list[dict[str, Any]], flag: str, csv_out: str) -> None:
        if not rows:
            raise OptionError(flag, self.nothing, "leave it out")
        long = pd.DataFrame(rows).rename(columns=self.names)
        if "stimulus" in long:
            long["stimulus"] = long["stimulus"].astype(int)
            long.loc[long["layer.type"] == "LSTM", "wiring"] = "none"
        with atomic_text_file(Path(csv_out), named=True) as file:
            table = long.sort_values(list(self.order))
            table.to_csv(file, index=False, columns=list(self.columns))


_STIMULI = "name step layer.type wiring seed stimulus reward arrival exact arrived"
_LONG = {
    "--curve-out": _Long(
        "also write logged error curves: a row per point",
        rf"(?P<measure>{re.escape(event_file.CURVE_COLUMNS[:-1])})\.(?P<point>[-+.\de]+)",
        "no run has a curve, which is logged at the end of training",
        {"layer.type": "activation", "point": "x"},
        ("name", "activation", "seed", "x", "abs.error"),
        ("name", "x"),
    ),
    "--stimuli-out": _Long(
        "also write what grid worlds measured: a row per logged test and step asked for",
        r"metric\.test\.stimulus\.(?P<point>\d+)\.(?P<measure>\w+)",
        "no run has arrivals at given steps, which a grid world logs",
        {"nac.wiring": "wiring", "point": "stimulus"},
        _STIMULI.split(),
        ("name", "step", "stimulus"),
    ),
}
"""Flags that name another file, and what is written there."""


def _folders_of_runs(args: argparse.Namespace) -> list[Path]:
    """Return the folders below --tensorboard-dir that hold runs, or that folder itself.

    It is the folder of a whole batch script when no run lies in it and some lie deeper.
    """
    parent = Path(args.tensorboard_dir)
    if getattr(args, "from_parent_folder", False):
        if not parent.is_dir():
            raise OptionError("--tensorboard-dir", f"there is no folder {parent}", "name another")
        shown = [entry for entry in visible_entries(parent) if entry.is_dir()]
        if not shown:
            problem = f"there are no folders of runs in {parent}"
            raise OptionError("--tensorboard-dir", problem, "leave out --from-parent-folder")
        return shown
    found: list[Path] = []
    for place, names, _ in os.walk(parent):
        folder = Path(place)
        names[:] = sorted(name for name in names if not name.startswith("."))
        if any(is_run(folder / name) for name in names):
            if folder == parent:
                break
            found.append(folder)
            names.clear()
    return found or [parent]


def is_run(folder: Path) -> bool:
    """Return whether a folder has the log of a run."""
    try:
        return any(EVENT_FILE in entry.name for entry in visible_entries(folder))
    except OSError:
        return False


def _exporter(
    script: str,
    description: str,
    parser_of: Callable[[argparse.Namespace], RunParser] | None = None,
    switches: Mapping[str, str] | None = None,
    scored: bool = False,
) -> Callable[..., int]:
    """Return the body of an exporter, which reads a command line and returns the exit code.

    parser_of: makes the rows; None: what suits each run, its configuration always, and long forms.
    switches: flags of the exporter's own, and their help.
    scored: whether runs may have logged untrained networks, which scores compare errors with.
    """
    parser, files = ScriptParser(prog=script, description=description), {} if parser_of else _LONG
    add = adder(parser)
    text = "parent folder of the runs, or a folder of such folders, as of a whole batch script"
    add("--tensorboard-dir PATH", text)
    add("--csv-out PATH", "file to write; for a folder of folders, the folder of their files")
    add("--strict", "exit code 1 when a run is skipped or incomplete")
    parser.set_defaults(with_config=parser_of is None, score=SCORES[0])
    if parser_of is not None:
        add("--with-config", "add the configuration of every run")
    if scored:
        text = "errors that the columns score.* compare with those of untrained networks"
        add("--score", text, choices=SCORES, default=SCORES[0])
    for flag, text in (switches or {}).items():
        add(flag, text)
    for flag, form in files.items():
        add(f"{flag} PATH", form.help)

    def export(args: argparse.Namespace) -> int:
        given = {f"--{name.replace('_', '-')}": value for name, value in vars(args).items()}
        missing = {"--tensorboard-dir": "name the parent folder of the runs"}
        for flag, remedy in (missing | {"--csv-out": "name the file to write"}).items():
            if not given[flag]:
                raise OptionError(flag, "missing", remedy)
        parent, whole = Path(args.tensorboard_dir), True
        rows: dict[str, list[dict[str, Any]]] = {flag: [] for flag in files if given[flag]}

        def keep(table: RunTable) -> None:
            for flag, found in rows.items():
                found += files[flag].points(table)

        def file_of(folder: Path, flag: str) -> str:
            """Return the file that runs become: the one that is named, or one below it."""
            if folder != parent and given[flag] in STREAMS:
                raise OptionError(flag, f"{parent} becomes several files", "name a folder for them")
            below = Path(given[flag].removesuffix(".csv")) / f"{folder.relative_to(parent)}.csv"
            return given[flag] if folder == parent else str(below)

        for folder in _folders_of_runs(args):
            file, rows_of = file_of(folder, "--csv-out"), parser_of(args) if parser_of else None
            how = {"with_config": args.with_config, "score": args.score}
            how |= {"processes": granted_cores()}
            reader = export_csv(str(folder), file, rows_of, keep, **how)
            reader.tell()
            if file != args.csv_out:
                say(f"table {file}")
            whole = whole and not reader.problems
            for flag, found in rows.items():
                files[flag].write(found, flag, file_of(folder, flag))
                found.clear()
        return 1 if args.strict and not whole else 0

    def main(argv: Sequence[str] | None = None) -> int:
        args = parser.parse_args(argv)
        return exit_code(script, lambda: export(args))

    return main


def _of_arithmetic(args: argparse.Namespace) -> RunParser:
    matcher = is_scored_or_gate if args.export_gate else is_scored
    of_metrics = MetricParser(matcher, recursive_weight=args.verbose)
    return WeightsParser() if args.weights_only else of_metrics


any_runs = _exporter(
    "runs.py",
    "Export runs of any script to a CSV file: a row per run and logged step, with configurations.",
    scored=True,
)
arithmetic = _exporter(
    "simple_function_static.py",
    "Export the runs of the arithmetic tasks to a CSV file: one row per run and logged step.",
    _of_arithmetic,
    {
        "--export-gate": "add the mean gate of every NALU layer",
        "--verbose": "add the first two weights and gates, which runs log under --verbose",
        "--weights-only": "write every logged weight, and no metrics, of single-layer networks",
    },
    scored=True,
)
sequences = _exporter(
    "sequential_mnist.py",
    "Export runs on digit sequences, MNIST or SVHN, to a CSV file: a row per run and logged epoch.",
    lambda _: SEQUENCES,
)
_TEXT = "--tensorboard-dir holds folders of runs; each becomes a file in the folder --csv-out"
pairs = _exporter(
    "two_digit_mnist_reader.py",
    "Export runs on pairs of digits to CSV files: one row per run and evaluation.",
    lambda _: PAIRS,
    {"--from-parent-folder": _TEXT},
)
