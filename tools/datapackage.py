"""The data dictionary of the kept results: `datapackage.json`, a Frictionless Data Package.

Every column of every file is declared here, but for measures, which the catalogue declares.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from stable_nalu import __version__
from stable_nalu.base.errors import UsageError
from stable_nalu.base.files import cells_of
from stable_nalu.base.papers import Paper
from stable_nalu.bench.contest import IDENTITY
from stable_nalu.paper.experiment import Experiment
from stable_nalu.paper.index import EXPERIMENTS
from stable_nalu.result.judged import label_of, measure_of
from stable_nalu.result.stored import DATA, cost_of, file_of, formulas_of, path_of

from . import landscape
from .atlas import NUDGED

PATH = DATA.parent / "datapackage.json"
ARENA = DATA.parent / "arena.csv"
Field = dict[str, Any]

FIELDS = Path(__file__).parent / "templates" / "fields.csv"
_VALUES = {"0 or 1": {"enum": [0, 1]}, "from 0": {"minimum": 0}}
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


def declared(kind: str) -> list[Field]:
    """Return the columns of files of a kind: `run`, `cost`, `verified`, `power` or `not run`."""
    found = []
    for row in cells_of(FIELDS):
        if row["of"] == kind:
            field: Field = {name: row[name] for name in ("name", "type", "description")}
            field |= {"unit": row["unit"]} if row["unit"] else {}
            field |= {"format": "any"} if row["type"] == "datetime" else {}
            field |= {"constraints": _VALUES[row["values"]]} if row["values"] else {}
            found.append(field)
    return found


def refreshed(_text: str = "") -> str:
    """Return the data package of the kept results, as text."""
    return json.dumps(package(), indent=1, ensure_ascii=False) + "\n"


def package(data: Path = DATA) -> dict[str, Any]:
    """Return the description of all files of kept results below the folder of `data`."""
    kept = [e for e in EXPERIMENTS.values() if path_of(e.key, data).exists()]
    papers = dict.fromkeys(e.paper for e in kept if e.paper)
    resources = [_resource(e.stem, path_of(e.key, data), data, **_of_runs(e, data)) for e in kept]
    resources += [
        _resource(f"formula-{e.stem}", formulas_of(e.key, data), data, **_of_formulas(e, data))
        for e in kept
        if formulas_of(e.key, data).exists()
    ]
    others: list[tuple[str, Path, str, str, Sequence[str]]] = [
        *((f"cost-{e.stem}", cost_of(e.key, data), f"What it cost: {e.title}", "cost", ())
          for e in EXPERIMENTS.values()),
        ("verified", file_of(data), "Kept rows that were trained again, and what came of them",
         "verified", ("key", "row", "digest")),
        ("failure-landscapes", data / landscape.FILE,
         "A plane of weights with the path of one failed run of each class",
         "landscape", ("failure", "part", "step", "u", "v")),
        ("failures-nudged", data / NUDGED,
         "Failed runs trained again with one start weight changed in its last bit",
         "nudged", ("key", "model", "run")),
        ("not-run", data.parent / "not_run.csv", "What was not run, and why", "not run", ()),
        ("arena", ARENA, "Contests of the arena", "arena", IDENTITY),
        ("power", data / "power.csv", "Solved runs of more seeds than were published",
         "power", ("key", "model", "operation")),
    ]  # fmt: skip
    resources += [
        _resource(name, path, data, title=title, fields=declared(kind), primary_key=key)
        for name, path, title, kind, key in others
        if path.exists()
    ]
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
    header = list(cells_of(path_of(experiment.key, data))[0])
    paper = experiment.paper
    where = "; ".join(f"{paper.short_title}, {n}" for n in experiment.numbers) if paper else ""
    told = f"Experiment {experiment.key}. {where or 'In no figure'}. {experiment.note}".strip()
    return {
        "title": experiment.title,
        "description": told,
        "sources": [_source(paper)] if paper else [],
        "fields": [field_of(experiment, column) for column in header],
        # `iterations` is the first column that does not tell runs apart.
        "primary_key": header[: header.index("iterations")],
    }


def _of_formulas(experiment: Experiment, data: Path) -> dict[str, Any]:
    """Return title, fields and key of what the kept runs of an experiment compute."""
    header = list(cells_of(formulas_of(experiment.key, data))[0])
    return {
        "title": f"What its networks compute: {experiment.title}",
        "fields": [field_of(experiment, column) for column in header],
        "primary_key": header[: header.index("verdict")],
    }


def field_of(experiment: Experiment, column: str) -> Field:
    """Return what a column of an experiment's kept runs is; UsageError for one that none is."""
    for field in declared("run"):
        if field["name"] == column:
            return field
    measure = measure_of(experiment, column) if experiment.is_measured else None
    if measure is None:
        raise UsageError(f"column {column} of {experiment.key} is declared nowhere")
    better = f"; {'lower' if measure.lower else 'higher'} is better"
    better = "" if measure.column.endswith("*") else better
    text = f"{label_of(experiment, measure, column)}{better}"
    field: Field = {"name": column, "type": "number", "description": text}
    name = column.partition("@")[0]
    unit = next((unit for parts, unit in _UNITS if any(part in name for part in parts)), None)
    return field if unit is None else {**field, "unit": unit}


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
    return {"title": paper.citation} | ({"path": paper.url} if paper.url else {})
