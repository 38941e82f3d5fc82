"""The data dictionary of the kept results: `datapackage.json`, a Frictionless Data Package.

Every column of every file is declared here, but for measures, which the catalogue declares.
"""

import hashlib
import json
from collections.abc import Iterable
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

from . import FOLDER

PATH = DATA.parent / "datapackage.json"
Field = dict[str, Any]

FIELDS: dict[str, list[Field]] = json.loads((FOLDER / "fields.json").read_text("utf-8"))
"""Kind of a file -> its columns: `run`, `cost`, `verified`, `power` and others."""
UNITS = cells_of(FOLDER / "units.csv")
"""Parts of the names of measures and their unit, the first that fits; others have none."""
RESOURCES = cells_of(FOLDER / "resources.csv")
"""The files besides what is kept of each experiment."""


def refreshed(_text: str = "") -> str:
    return json.dumps(package(), indent=1, ensure_ascii=False) + "\n"


def package() -> dict[str, Any]:
    kept = [one for one in EXPERIMENTS.values() if path_of(one.key).exists()]
    resources = []
    for one in kept:
        paper = one.paper
        where = "; ".join(f"{paper.short_title}, {n}" for n in one.numbers) if paper else ""
        text = f"Experiment {one.key}. {where or 'In no figure'}. {one.note}".strip()
        # `iterations` is the first column that does not tell runs apart.
        of = one, path_of(one.key), "iterations"
        resources.append(_resource(one.stem, one.title, *_of_runs(*of), text, [paper]))
    for one in kept:
        if (path := formulas_of(one.key, DATA)).exists():
            title = f"What its networks compute: {one.title}"
            of = one, path, "verdict"
            resources.append(_resource(f"formula-{one.stem}", title, *_of_runs(*of)))
    for one in EXPERIMENTS.values():
        if (path := cost_of(one.key)).exists():
            title = f"What it cost: {one.title}"
            resources.append(_resource(f"cost-{one.stem}", title, path, FIELDS["cost"]))
    for row in RESOURCES:
        what = PATH.parent / row["path"], FIELDS[row["of"]], row["key"].split()
        resources.append(_resource(row["name"], row["title"], *what))
    head = json.loads((FOLDER / "datapackage.json").read_text(encoding="utf-8"))
    sources = _sources(dict.fromkeys(one.paper for one in kept))
    return head | {"version": __version__, "sources": sources, "resources": resources}


def field_of(experiment: Experiment, column: str) -> Field:
    """Return what a column of an experiment's kept runs is; UsageError for one that none is."""
    for field in FIELDS["run"]:
        if field["name"] == column:
            return field
    measure = measure_of(experiment, column) if experiment.is_measured else None
    if measure is None:
        raise UsageError(f"column {column} of {experiment.key} is declared nowhere")
    better = f"; {'lower' if measure.lower else 'higher'} is better"
    better = "" if measure.column.endswith("*") else better
    text = f"{label_of(experiment, measure, column)}{better}"
    name = column.partition("@")[0]
    units = [{"unit": row["unit"]} for row in UNITS if row["part"] in name]
    return {"name": column, "type": "number", "description": text, **(units or [{}])[0]}


def _of_runs(experiment: Experiment, path: Path, first: str) -> tuple[Path, list[Field], list[str]]:
    """Return a file about runs, its columns and its key, which ends before the column `first`."""
    header = next(table_rows(path))
    fields = [field_of(experiment, column) for column in header]
    return path, fields, header[: header.index(first)]


def _resource(
    name: str, title: str, path: Path, fields: Any, key: Any = (), text: str = "", papers: Any = ()
) -> dict[str, Any]:
    """Return the entry of a file; papers: those that its numbers are beside."""
    content = path.read_bytes()
    found: dict[str, Any] = {
        **{"profile": "tabular-data-resource", "name": name.lower()},
        **{"path": path.relative_to(PATH.parent).as_posix(), "title": title, "description": text},
        **{"format": "csv", "mediatype": "text/csv", "encoding": "utf-8", "bytes": len(content)},
        "hash": f"sha256:{hashlib.sha256(content).hexdigest()}",
        "sources": _sources(papers),
        "schema": {"fields": fields, "missingValues": [""]} | ({"primaryKey": key} if key else {}),
    }
    return {name: value for name, value in found.items() if value not in ("", [])}


def _sources(papers: Iterable[Paper | None]) -> list[dict[str, str]]:
    known = ({"title": one.citation, "path": one.url} for one in papers if one)
    return [{name: text for name, text in one.items() if text} for one in known]
