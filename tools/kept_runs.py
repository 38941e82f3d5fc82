"""Kept measures as the exported tables that figures read: last rows, and those of kept steps."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from stable_nalu.paper.experiment import ExpectedRun, Experiment
from stable_nalu.paper.index import EXPERIMENTS
from stable_nalu.result.judged import (
    clock_of,
    identity_of,
    measure_columns,
    options_of,
    planned,
)
from stable_nalu.result.stored import measured_keys, read
from stable_nalu.statistics.table import write_plain_frame
from stable_nalu.task import SCRIPTS

if TYPE_CHECKING:
    import pandas as pd

    from stable_nalu.figure.entry import Entry
    from stable_nalu.figure.source import Source


def as_exported(key: str, csv: str, data: Path) -> pd.DataFrame:
    """Return the kept runs of an exported table in its form: name, step, measures, configuration.

    A run has a row of its end, and one of every earlier step that is kept.
    """
    import pandas as pd

    experiment, rows = EXPERIMENTS[key], []
    kept = read(key, data)
    for model in experiment.models:
        own = kept.loc[kept["model"] == model.key]
        if model.csv != csv or own.empty:
            continue
        runs = planned(experiment, model, sorted(set(own["seed"])))
        options = {run.name: options_of(experiment, run) for run in runs.values()}
        for row in own.to_dict("records"):
            run = runs[identity_of(experiment, row)]
            for one in _steps(experiment, row, last_unit(run, row)):
                rows.append({"name": run.leaf} | one | options[run.name])
    return pd.DataFrame(rows)


def last_unit(run: ExpectedRun, row: Mapping[Any, Any]) -> int:
    """Return the last iteration of a kept run, or its last epoch where a script counts those."""
    iterations = int(row["iterations"])
    if hasattr(run.config, "max_iterations"):
        return iterations
    return SCRIPTS[run.model.script].max_epochs(iterations // run.model.steps_per_epoch)


def _steps(experiment: Experiment, row: Mapping[Any, Any], end: int) -> list[dict[str, Any]]:
    """Return the measures of a kept run by step, the last one without those of earlier steps.

    Where a script counts epochs, steps are those; figures find them under both names.
    """
    steps: dict[int, dict[str, Any]] = {}
    for column in measure_columns(experiment, row):
        name, _, step = column.partition("@")
        at = int(step) if step else end
        steps.setdefault(at, {})[name] = row[column]
    clocks = dict.fromkeys(("step", clock_of(experiment)))
    return [dict.fromkeys(clocks, step) | steps[step] for step in sorted(steps)]


@functools.cache
def _kept_tables(data: Path) -> dict[str, str]:
    """Return exported file -> measured experiment that runs of it are kept under."""
    found: dict[str, str] = {}
    for key in measured_keys(data):
        trained = set(read(key, data)["model"])
        for model in EXPERIMENTS[key].models:
            if model.key in trained:
                found.setdefault(model.csv, key)
    return found


def files_of(entry: Entry, data: Path) -> dict[str, str] | None:
    """Return exported file -> experiment, of all files of a figure; None where one is not kept.

    Kept measures do not say whether and when a run is solved, nor what every epoch measured.
    """
    if not entry.series or any(part.NEEDS in ("outcomes", "epochs") for part in entry.parts):
        return None
    kept, found = _kept_tables(data), {}
    folders = ("", *(f"{folder.rstrip('/')}/" for folder in entry.folders))
    for series in entry.series:
        tried = [f"{folder}{file}" for file in series.files for folder in folders]
        path = next((path for path in tried if path in kept), None)
        if path is None:
            return None
        found[path] = kept[path]
    return found


@contextmanager
def kept_source(entry: Entry, data: Path) -> Iterator[Source]:
    """Lend the kept runs of a figure as exported files, which stay as long as the figure is made.

    The entry reads them as it does those of a reproduction.
    """
    from stable_nalu.figure.source import Source

    with TemporaryDirectory() as folder:
        for csv, key in (files_of(entry, data) or {}).items():
            write_plain_frame(Path(folder, f"{csv}.csv"), as_exported(key, csv, data))
        yield Source(Path(folder), entry.folders)
