"""Kept results in place of the exported files that a figure reads.

Kept outcomes of runs are judged already. Kept measures become tables as exported: a run's last row,
and those of the steps that are kept.
"""

import functools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from stable_nalu.figure.runs import Context, Drawing
from stable_nalu.paper.experiment import ExpectedRun
from stable_nalu.paper.index import EXPERIMENTS
from stable_nalu.result.judged import OUTCOME, clock_of, measure_columns, options_of, runs_of_rows
from stable_nalu.result.stored import kept_keys, read
from stable_nalu.task.table import SCRIPTS


@functools.cache
def _exported(data: Path, measured: bool) -> Mapping[str, Mapping[str, set[str]]]:
    """Return exported file -> experiment that runs of it are kept under -> models that have some.

    Single runs show nothing, and are in no picture.

    measured: whether measures are kept of them, and not outcomes.
    """
    found: dict[str, dict[str, set[str]]] = {}
    for key in kept_keys(data, measured):
        runs = read(key, data)
        trained = set(runs["model"]) if len(set(runs["seed"])) > 1 else ()
        for model in EXPERIMENTS[key].models:
            if model.key in trained:
                found.setdefault(model.csv, {}).setdefault(key, set()).add(model.key)
    return found


def kept_files(entry: Drawing, data: Path) -> dict[str, str] | None:
    """Return exported file -> experiment, of all files of a figure; None where one is not kept.

    Kept outcomes do not say what a run measured, and kept measures neither whether and when a run
    is solved nor what every epoch measured.
    """
    measured = entry.needs.isdisjoint(("outcomes", "epochs"))
    if not entry.series or not (measured or entry.needs == {"outcomes"}):
        return None
    every: Any = _exported(data, measured)
    context = Context(entry, Path(), every)
    paths = [context.find(one.files) for one in entry.series]

    def rank(key: str) -> tuple[bool, bool]:
        return key != entry.key, entry.key not in EXPERIMENTS[key].figure_keys

    found = {path.as_posix(): min(every[path.as_posix()], key=rank) for path in paths if path}
    # A file may hold runs of other models, too.
    own = EXPERIMENTS[entry.key].models if entry.key in EXPERIMENTS else ()
    there = [m for m in own if m.csv in found and m.key in every[m.csv][found[m.csv]]]
    return found if all(paths) and (there or not own) else None


def files_of(entry: Drawing, data: Path) -> dict[str, str] | None:
    """Return the same of a figure that is drawn from kept measures, and None for all others."""
    found = kept_files(entry, data)
    return found if found and EXPERIMENTS[next(iter(found.values()))].is_measured else None


def kept(entry: Drawing, data: Path) -> Context:
    """Return a figure of its kept runs; those of outcomes have the names that runs have there."""
    files, measured = kept_files(entry, data) or {}, bool(files_of(entry, data))
    tables = {}
    for csv, key in files.items():
        if measured:
            tables[csv] = as_exported(key, csv, data)
            continue
        found = pd.DataFrame({**row, "name": run.leaf} for run, row in _runs(key, csv, data))
        tables[csv] = found[[*OUTCOME, "name"]].astype({"solved": bool})
    return Context(entry, Path(), tables, is_judged=not measured)


def _runs(key: str, csv: str, data: Path) -> Iterator[tuple[ExpectedRun, dict[Any, Any]]]:
    """Yield the runs of one exported file, as planned, with their kept rows."""
    experiment, rows = EXPERIMENTS[key], read(key, data)
    own = rows.loc[rows["model"].isin([m.key for m in experiment.models if m.csv == csv])]
    for run, row in zip(runs_of_rows(experiment, own), own.to_dict("records"), strict=True):
        if run:
            yield run, row


def as_exported(key: str, csv: str, data: Path) -> pd.DataFrame:
    """Return the kept measures of one exported file: name, step, measures, configuration.

    A run has a row of its end, without the measures of earlier steps, and one of every earlier step
    that is kept. Where a script counts epochs, steps are those; figures find them under both names.
    """
    experiment, rows = EXPERIMENTS[key], []
    clocks = dict.fromkeys(("step", clock_of(experiment)))
    for run, row in _runs(key, csv, data):
        end = int(row["iterations"])
        if not hasattr(run.config, "max_iterations"):
            end = SCRIPTS[run.model.script].max_epochs(end // run.model.steps_per_epoch)
        steps: dict[int, dict[str, Any]] = {}
        for column in measure_columns(experiment, row):
            name, _, step = column.partition("@")
            steps.setdefault(int(step or end), {})[name] = row[column]
        options = options_of(experiment, run)
        for step in sorted(steps):
            of_step = dict.fromkeys(clocks, step) | steps[step]
            rows.append({"name": run.leaf} | of_step | options)
    return pd.DataFrame(rows)
