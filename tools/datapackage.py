"""The data dictionary of the kept results: `datapackage.json`, a Frictionless Data Package.

Every column of every file is declared here, but for measures, which the catalogue declares.
"""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from stable_nalu import __version__
from stable_nalu.errors import UsageError
from stable_nalu.paper.experiment import Experiment
from stable_nalu.paper.index import EXPERIMENTS
from stable_nalu.papers import Paper
from stable_nalu.result.judged import label_of, measure_of
from stable_nalu.result.records import file_of
from stable_nalu.result.stored import DATA, cost_of, path_of

PATH = DATA.parent / "datapackage.json"
Field = dict[str, Any]

_FLAG = {"enum": [0, 1]}
_COUNT = {"minimum": 0}


def _field(name: str, kind: str, description: str, **others: Any) -> Field:
    return {"name": name, "type": kind, "description": description, **others}


_RUN = (
    _field("model", "string", "key of the model in this experiment"),
    _field("operation", "string", "what the target is of the inputs: add, sub, mul, div, …"),
    _field(
        "interpolation.range",
        "string",
        "where inputs of training are drawn: U[a,b] is uniform; & joins the ranges of two inputs",
    ),
    _field(
        "train.distribution",
        "string",
        "how they are drawn: u uniform, b Benford, tn truncated normal with mean, deviation, ends",
    ),
    _field("sequence.loss", "string", "which steps of a sequence the loss is of"),
    _field("seed", "integer", "seed of the run", constraints=_COUNT),
    _field(
        "iterations",
        "integer",
        "planned length of the run; of scripts that count epochs, its updates",
        unit="updates of weights",
        constraints=_COUNT,
    ),
    _field("threshold", "number", "errors below it count as solved", unit="squared error"),
    _field("solved", "integer", "1 for a run that solved its task, else 0", constraints=_FLAG),
    _field(
        "extrapolation.step.solved",
        "integer",
        "first logged step with a test error below the threshold; empty where there is none",
        unit="updates of weights",
        constraints=_COUNT,
    ),
    _field(
        "sparse.error.max",
        "number",
        "largest distance of a weight from the nearest value that it should have, at the step that "
        "the run is judged at; empty where that is not known",
        unit="weight",
    ),
    _field(
        "extrapolation.last",
        "number",
        "test error outside of the training range, at the logged step with the lowest validation "
        "error; inf is a result",
        unit="squared error",
    ),
    _field("diverged", "integer", "1 for a run whose log ended early, else 0", constraints=_FLAG),
)
_COST = (
    _field("began", "datetime", "when training began", format="any"),
    _field("runs", "integer", "runs that came to their end", constraints=_COUNT),
    _field("run_iterations", "integer", "their iterations", constraints=_COUNT),
    _field("cpu_seconds", "number", "CPU time of all training processes together", unit="s"),
    _field("wall_seconds", "number", "time from start to end", unit="s"),
    _field("processes", "integer", "how many trained at a time, at most"),
    _field("versions", "string", "versions of Python and its packages"),
    _field("git_revision", "string", "revision of the code"),
)
_VERIFIED = (
    _field("key", "string", "experiment"),
    _field("row", "string", "what tells its row apart: model, point and seed"),
    _field("digest", "string", "of the kept cells: SHA-256 of them as JSON, sixteen digits"),
    _field(
        "verify_seed",
        "integer",
        "seed of the random choice of rows; empty for a row that was named",
        constraints=_COUNT,
    ),
    _field("trained", "string", "alone, or in a stack of how many runs"),
    _field("compared", "integer", "cells that were compared", constraints=_COUNT),
    _field("equal", "integer", "those that came out again, to the last digit", constraints=_COUNT),
    _field("ended", "datetime", "when they were compared", format="any"),
    *_COST[-2:],
)
_REASONS = (
    _field("key", "string", "experiment that was not run, or was not run in full; * for any rest"),
    _field("reason", "string", "why"),
)
_UNITS = (
    (("acc", "digits"), "share, 0 to 1"),
    (("mae", "rmse", "abs.error"), "unit of the target"),
    (("mse", "half-sum-squares"), "square of the unit of the target"),
    (("test.extrapolation", "valid.interpolation"), "unit of the target"),
    (("relative",), "share of the size of results"),
    (("score",), "percent of the error of untrained networks"),
    (("beyond", "within", "reward"), "reward of an episode"),
)
"""Parts of the names of measures -> their unit, the first that fits; others have none."""


def refreshed(_text: str = "") -> str:
    """Return the data package of the kept results, as text."""
    return json.dumps(package(), indent=1, ensure_ascii=False) + "\n"


def package(data: Path = DATA) -> dict[str, Any]:
    """Return the description of all files of kept results below the folder of `data`."""
    kept = [e for e in EXPERIMENTS.values() if path_of(e.key, data).exists()]
    costs = [e for e in EXPERIMENTS.values() if cost_of(e.key, data).exists()]
    papers = dict.fromkeys(shown.paper for e in kept for shown in e.shown)
    resources = [_resource(e.stem, path_of(e.key, data), data, **_of_runs(e, data)) for e in kept]
    resources += [
        _resource(
            f"cost-{e.stem}",
            cost_of(e.key, data),
            data,
            title=f"What it cost: {e.title}",
            fields=_COST,
        )
        for e in costs
    ]
    if (verified := file_of(data)).exists():
        title = "Kept rows that were trained again, and what came of them"
        key = ("key", "row", "digest")
        resources.append(
            _resource("verified", verified, data, title=title, fields=_VERIFIED, primary_key=key)
        )
    reasons = data.parent / "not_run.csv"
    if reasons.exists():
        title = "What was not run, and why"
        resources.append(_resource("not-run", reasons, data, title=title, fields=_REASONS))
    return {
        "profile": "tabular-data-package",
        "name": "stable-nalu-kept-results",
        "title": "Runs of published experiments with Neural Arithmetic Logic Modules, trained anew",
        "description": "One row per run of stable-nalu, from which every number of its page of "
        "results follows, with what the runs cost. Fields have a unit where they have one.",
        "version": __version__,
        "licenses": [{"name": "MIT", "path": "https://opensource.org/license/mit"}],
        "sources": [_source(paper) for paper in papers],
        "resources": resources,
    }


def _of_runs(experiment: Experiment, data: Path) -> dict[str, Any]:
    """Return title, description, fields and sources of the kept runs of an experiment."""
    header = _header(path_of(experiment.key, data))
    where = "; ".join(f"{s.paper.short_title}, {s.number}" for s in experiment.shown)
    told = f"Experiment {experiment.key}. {where or 'In no figure'}. {experiment.note}".strip()
    return {
        "title": experiment.title,
        "description": told,
        "sources": [_source(paper) for paper in dict.fromkeys(s.paper for s in experiment.shown)],
        "fields": [field_of(experiment, column) for column in header],
        # `iterations` is the first column that does not tell runs apart.
        "primary_key": header[: header.index("iterations")],
    }


def field_of(experiment: Experiment, column: str) -> Field:
    """Return what a column of an experiment's kept runs is; UsageError for one that none is."""
    for field in _RUN:
        if field["name"] == column:
            return field
    measure = measure_of(experiment, column) if experiment.is_measured else None
    if measure is None:
        raise UsageError(f"column {column} of {experiment.key} is declared nowhere")
    better = "" if measure.column.endswith("*") else f"; {_better(measure.lower)}"
    field = _field(column, "number", f"{label_of(experiment, measure, column)}{better}")
    name = column.partition("@")[0]
    unit = next((unit for parts, unit in _UNITS if any(part in name for part in parts)), None)
    return field if unit is None else {**field, "unit": unit}


def _better(lower: bool) -> str:
    return "lower is better" if lower else "higher is better"


def _resource(
    name: str,
    path: Path,
    data: Path,
    *,
    title: str,
    fields: Iterable[Field],
    description: str = "",
    sources: Sequence[dict[str, str]] = (),
    primary_key: Sequence[str] = (),
) -> dict[str, Any]:
    content = path.read_bytes()
    schema: dict[str, Any] = {"fields": list(fields), "missingValues": [""]}
    if primary_key:
        schema["primaryKey"] = list(primary_key)
    found: dict[str, Any] = {
        "profile": "tabular-data-resource",
        "name": name.lower(),
        "path": path.relative_to(data.parent).as_posix(),
        "title": title,
        "description": description,
        "format": "csv",
        "mediatype": "text/csv",
        "encoding": "utf-8",
        "bytes": len(content),
        "hash": f"sha256:{hashlib.sha256(content).hexdigest()}",
        "sources": list(sources),
        "schema": schema,
    }
    return {key: value for key, value in found.items() if value not in ("", [])}


def _source(paper: Paper) -> dict[str, str]:
    found = {"title": paper.citation}
    number = paper.reference.removeprefix("arXiv:")
    return (
        found if number == paper.reference else {**found, "path": f"https://arxiv.org/abs/{number}"}
    )


def _header(path: Path) -> list[str]:
    with path.open(encoding="utf-8", newline="") as file:
        return next(csv.reader(file))
