"""The data dictionary of kept results: it describes every file, column and value."""

import csv
import hashlib
import json
from datetime import datetime

import pytest

from stable_nalu.base.errors import UsageError
from stable_nalu.paper.index import EXPERIMENTS
from stable_nalu.result.judged import identifying
from tools import datapackage

PACKAGE = json.loads(datapackage.PATH.read_text(encoding="utf-8"))
FOLDER = datapackage.PATH.parent
READ = {"string": str, "integer": int, "number": float, "datetime": datetime.fromisoformat}


def rows_of(resource):
    with (FOLDER / resource["path"]).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_every_file_is_described_once():
    described = [FOLDER / resource["path"] for resource in PACKAGE["resources"]]
    # The tables of the page follow from these files.
    files = [path for path in FOLDER.rglob("*.csv") if path.parent != FOLDER / "tables"]
    assert sorted(described) == sorted(files)
    names = [resource["name"] for resource in PACKAGE["resources"]]
    assert len(set(names)) == len(names)
    assert all(name == name.lower() and "/" not in name for name in names)


@pytest.mark.parametrize("resource", PACKAGE["resources"], ids=lambda one: one["name"])
def test_every_column_and_value_is_as_described(resource):
    content = (FOLDER / resource["path"]).read_bytes()
    assert resource["bytes"] == len(content)
    assert resource["hash"] == f"sha256:{hashlib.sha256(content).hexdigest()}"
    rows, schema = rows_of(resource), resource["schema"]
    assert [field["name"] for field in schema["fields"]] == list(rows[0])
    assert schema["missingValues"] == [""]
    for field in schema["fields"]:
        assert field["description"]
        cells = [row[field["name"]] for row in rows]
        values = [READ[field["type"]](cell) for cell in cells if cell != ""]
        limits = field.get("constraints", {})
        assert set(values) <= set(limits.get("enum", values))
        assert all(value >= limits.get("minimum", value) for value in values)
    key = schema.get("primaryKey", [])
    points = [tuple(row[column] for column in key) for row in rows]
    assert not key or len(set(points)) == len(points)


def test_the_key_of_a_row_is_what_tells_runs_apart():
    for key in ("nips-in2-distributions", "nalu/table2-sum"):
        (resource,) = [r for r in PACKAGE["resources"] if r["name"] == EXPERIMENTS[key].stem]
        assert resource["schema"]["primaryKey"] == identifying(key)
    with pytest.raises(UsageError, match="column speed of nips-sltr-in2 is declared nowhere"):
        datapackage.field_of(EXPERIMENTS["nips-sltr-in2"], "speed")


def test_columns_that_tell_runs_apart_are_declared_before_any_are_kept():
    for key, experiment in EXPERIMENTS.items():
        assert all(datapackage.field_of(experiment, column) for column in identifying(key))
