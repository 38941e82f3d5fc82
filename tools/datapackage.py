"""The data dictionary of the kept results: `datapackage.json`, a Frictionless Data Package.

Every column of every file is declared here, but for measures, which the catalogue declares.
"""

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any

from stable_nalu import __version__
from stable_nalu.base.errors import UsageError
from stable_nalu.base.files import cells_of, table_rows
from stable_nalu.base.papers import Paper
from stable_nalu.paper.experiment import Experiment
from stable_nalu.paper.index import EXPERIMENTS
from stable_nalu.result.judged import label_of, measure_of
from stable_nalu.result.stored import DATA, cost_of, formulas_of, path_of

PATH = DATA.parent / "datapackage.json"
ARENA = DATA.parent / "arena.csv"
Field = dict[str, Any]

FIELDS = Path(__file__).parent / "templates" / "fields.csv"
_VALUES = {"0 or 1": {"enum": [0, 1]}, "from 0": {"minimum": 0}}
UNITS = cells_of(FIELDS.with_name("units.csv"))
"""Parts of the names of measures and their unit, the first that fits; others have none."""
RESOURCES = cells_of(FIELDS.with_name("resources.csv"))
"""The files besides what is kept of each experiment."""


@cache
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
    return json.dumps(package(), indent=1, ensure_ascii=False) + "\n"


def package() -> dict[str, Any]:
    kept = [one for one in EXPERIMENTS.values() if path_of(one.key).exists()]
    papers = dict.fromkeys(one.paper for one in kept if one.paper)
    resources = []
    for one in kept:
        paper = one.paper
        where = "; ".join(f"{paper.short_title}, {n}" for n in one.numbers) if paper else ""
        text = f"Experiment {one.key}. {where or 'In no figure'}. {one.note}".strip()
        sources = [_source(paper)] if paper else []
        # `iterations` is the first column that does not tell runs apart.
        of = path_of(one.key), one.title, "iterations", text, sources
        resources.append(_of_runs(one, one.stem, *of))
    for one in kept:
        if (path := formulas_of(one.key, DATA)).exists():
            of = path, f"What its networks compute: {one.title}", "verdict"
            resources.append(_of_runs(one, f"formula-{one.stem}", *of))
    for one in EXPERIMENTS.values():
        if (path := cost_of(one.key)).exists():
            title = f"What it cost: {one.title}"
            resources.append(_resource(f"cost-{one.stem}", path, title, declared("cost")))
    for row in RESOURCES:
        what = row["title"], declared(row["of"]), row["key"].split()
        resources.append(_resource(row["name"], PATH.parent / row["path"], *what))
    head = json.loads(FIELDS.with_name("datapackage.json").read_text(encoding="utf-8"))
    sources = [_source(paper) for paper in papers]
    return head | {"version": __version__, "sources": sources, "resources": resources}


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
    unit = next((row["unit"] for row in UNITS if row["part"] in name), None)
    return field if unit is None else {**field, "unit": unit}


def _of_runs(
    experiment: Experiment, name: str, path: Path, title: str, first: str, *more: Any
) -> dict[str, Any]:
    """Return the resource of a file about runs; first: its first column that is not of the key."""
    header = next(table_rows(path))
    fields = [field_of(experiment, column) for column in header]
    return _resource(name, path, title, fields, header[: header.index(first)], *more)


def _resource(
    name: str, path: Path, title: str, fields: list, key: Any = (), text: str = "", by: Any = ()
) -> dict[str, Any]:
    """Return the entry of a file; by: the papers that its numbers are beside."""
    content = path.read_bytes()
    schema: dict[str, Any] = {"fields": list(fields), "missingValues": [""]}
    if key:
        schema["primaryKey"] = list(key)
    found: dict[str, Any] = {
        "profile": "tabular-data-resource",
        "name": name.lower(),
        "path": path.relative_to(PATH.parent).as_posix(),
        "title": title,
        "description": text,
        "format": "csv",
        "mediatype": "text/csv",
        "encoding": "utf-8",
        "bytes": len(content),
        "hash": f"sha256:{hashlib.sha256(content).hexdigest()}",
        "sources": list(by),
        "schema": schema,
    }
    return {name: value for name, value in found.items() if value not in ("", [])}


def _source(paper: Paper) -> dict[str, str]:
    return {"title": paper.citation} | ({"path": paper.url} if paper.url else {})
