"""Tables of all runs below a folder."""

import logging
import math
import multiprocessing
import pickle
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from stable_nalu.machine import usable_cores

from .event_file import EventFileReader
from .run_parser import Columns, MetricParser, RunParser, WeightsParser
from .tensorboard_reader import RunFiles, TensorboardReader

if TYPE_CHECKING:
    import pandas as pd

_LOG = logging.getLogger(__name__)
_BYTES_PER_WORKER = 16 << 20
"""Starting a process costs about as much as reading this much."""


def accept_all(tag: str) -> bool:
    """The matcher that takes every tag as a metric."""
    return True


class RunTable(NamedTuple):
    """One run: its name and its columns, of equal length."""

    name: str
    columns: Columns


class RunProblem(NamedTuple):
    """Why a run is missing from the tables (`skipped`), or is there only in part."""

    run: str
    message: str
    skipped: bool


class TensorboardMetricReader:
    """Iterates over one data frame per run, in run-name order; rows are logged steps.

    The first run that has data fixes the columns; later ones are brought into that order, with
    missing values for columns they lack. A run that cannot be read, or only in part, is logged as
    a warning and listed in `problems`; the others go on. `processes` (all CPUs when None) bounds
    the workers; small inputs are read in this process.
    """

    def __init__(
        self,
        dirname: str | Path,
        metric_matcher: Callable[[str], bool] = accept_all,
        step_start: int = 0,
        recursive_weight: bool = False,
        processes: int | None = None,
        progress_bar: bool = True,
        weights_only: bool = False,
    ):
        self._reader = TensorboardReader(dirname, auto_open=False)
        self._parser: RunParser = (
            WeightsParser(step_start)
            if weights_only
            else MetricParser(metric_matcher, step_start, recursive_weight)
        )
        self._processes = processes or usable_cores()
        self._progress_bar = progress_bar
        self.problems: list[RunProblem] = []

    def __len__(self) -> int:
        return len(self._reader)

    def __iter__(self) -> Iterator["pd.DataFrame"]:
        import pandas as pd

        for table in self.tables():
            yield pd.DataFrame({"name": table.name, **table.columns})

    def tables(self) -> Iterator[RunTable]:
        """The same as plain columns, which spares callers that only write them down pandas."""
        self.problems = []
        header: list[str] | None = None
        runs = list(self._reader.runs())
        with _progress(len(runs), self._progress_bar) as tick:
            for run, (columns, problem) in zip(runs, self._parsed(runs), strict=True):
                tick()
                self._note(run.name, columns, problem)
                if columns:
                    header = list(columns) if header is None else header
                    yield RunTable(run.name, _with_header(run.name, columns, header))

    def _parsed(self, runs: list[RunFiles]) -> Iterator[tuple[Columns, str | None]]:
        work = partial(_parse_run, self._parser)
        workers = min(self._processes, len(runs), _total_bytes(runs) // _BYTES_PER_WORKER)
        if workers < 2 or not _can_travel(self._parser):
            yield from map(work, runs)
            return
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(workers, mp_context=context) as pool:
            yield from pool.map(work, runs)

    def _note(self, run: str, columns: Columns, problem: str | None) -> None:
        if problem is None and columns:
            return
        self.problems.append(RunProblem(run, problem or "no data", not columns))
        if problem is None:
            _LOG.warning("Warning: No data for %s", run)
        else:
            verb = "read in part" if columns else "skipped"
            _LOG.warning("Warning: %s %s: %s", verb, run, problem)


def _parse_run(parser: RunParser, run: RunFiles) -> tuple[Columns, str | None]:
    if run.path is None:
        return {}, run.problem
    events = EventFileReader(run.path)
    try:
        return parser.of_run(run.name).parse(events), events.problem
    except OSError as error:
        return {}, str(error)


def _with_header(run: str, columns: Columns, header: list[str]) -> Columns:
    left_out = [name for name in columns if name not in header]
    if left_out:
        _LOG.warning(
            "Warning: left out of %s, as the first run lacks them: %s", run, ", ".join(left_out)
        )
    missing = [math.nan] * len(next(iter(columns.values())))
    return {name: columns.get(name, missing) for name in header}


def _total_bytes(runs: Iterable[RunFiles]) -> int:
    return sum(run.path.stat().st_size for run in runs if run.path is not None)


def _can_travel(parser: RunParser) -> bool:
    """Whether workers can be given the parser: a matcher may be a lambda, which cannot."""
    try:
        pickle.dumps(parser)
    except (pickle.PicklingError, AttributeError, TypeError):
        return False
    return True


@contextmanager
def _progress(total: int, wanted: bool) -> Iterator[Callable[[], object]]:
    """A function to call once per finished run; it draws a bar when a person is watching."""
    if not (wanted and sys.stderr.isatty()):
        yield lambda: None
        return
    from tqdm import tqdm

    with tqdm(total=total) as bar:
        yield bar.update
