"""Runs a golden configuration through a script's `main` and compares it with the stored figures."""

from __future__ import annotations

import csv
import importlib.util
import json
import math
import struct
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
FIXTURES = Path(__file__).parent / "fixtures"
FILES = ("single_layer", "single_layer_benchmark", "simple_function_static")
RELATIVE, ABSOLUTE = 1e-4, 1e-6
SENSITIVE_UNTIL = 100
PREFIX = "gold"
OF_HPARAMS = ("config/", "_hparams_/", "hparam/")


@dataclass(frozen=True)
class Golden:
    """One stored configuration."""

    name: str
    script: str
    argv: list[str]
    run_name: str | None
    scalar_tags: list[str]
    other_tags: list[str]
    series: dict[str, list[list[float]]]
    csv_header: str
    csv_n: int
    csv_rows: list
    sensitive: bool
    generation: str


@cache
def load_golden() -> dict[str, Golden]:
    """All stored configurations by name."""
    rows = [row for file in FILES for row in json.loads((FIXTURES / f"{file}.json").read_text())]
    return {row["name"]: Golden(**row) for row in rows}


@cache
def load_script(path: str) -> ModuleType:
    """Import a script by its path below the root."""
    spec = importlib.util.spec_from_file_location(Path(path).stem + "_script", ROOT / path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def train(golden: Golden, extra: list[str] | None = None) -> int:
    """Run the script as the figures were made; roots come from the environment."""
    fixed = ["--no-cuda", "--name-prefix", PREFIX, "--remove-existing-data", "--no-save"]
    script = load_script(f"experiments/{golden.script}")
    return script.main([*golden.argv, *fixed, *(extra or [])])


def read_run(folder: Path) -> tuple[dict[str, list[tuple[int, float]]], set[str]]:
    """(scalar series by tag, other tags) of a run folder, without those of the HParams plugin."""
    event_pb2 = pytest.importorskip("tensorboardX.proto.event_pb2")
    (path,) = [entry for entry in folder.iterdir() if not entry.name.startswith(".")]
    data, position = path.read_bytes(), 0
    series: dict[str, list[tuple[int, float]]] = {}
    others: set[str] = set()
    while position < len(data):
        (length,) = struct.unpack_from("<Q", data, position)
        event = event_pb2.Event.FromString(data[position + 12 : position + 12 + length])
        position += 16 + length
        for value in event.summary.value:
            if value.tag.startswith(OF_HPARAMS):
                continue
            if value.HasField("simple_value"):
                series.setdefault(value.tag, []).append((event.step, value.simple_value))
            else:
                others.add(value.tag)
    return series, others


def disagreements(golden: Golden, series: dict[str, list[tuple[int, float]]]) -> list[str]:
    """Kept points that are missing or differ by more than the tolerance."""
    found = []
    for tag, points in golden.series.items():
        ours: dict[int, list[float]] = {}
        for step, value in series.get(tag, []):
            ours.setdefault(step, []).append(value)
        for step, value in points:
            if golden.sensitive and step >= SENSITIVE_UNTIL:
                continue
            if not any(close(value, own) for own in ours.get(step, [])):
                found.append(f"{tag} at {step}: {value} stored, {ours.get(step)} here")
    return found


def close(stored: float, own: float) -> bool:
    """Agreement asked of every point."""
    if math.isnan(stored) or math.isnan(own):
        return math.isnan(stored) and math.isnan(own)
    return math.isclose(stored, own, rel_tol=RELATIVE, abs_tol=ABSOLUTE)


def row_disagreements(golden: Golden, header: str, rows: list[str]) -> list[str]:
    """Cells of the stored first and last CSV row that differ, the date of logging aside."""
    columns = header.split(",")
    found = []
    for stored, own in zip(golden.csv_rows, (rows[0], rows[-1]), strict=True):
        if golden.sensitive and int(_cells(columns, own)["step"]) >= SENSITIVE_UNTIL:
            continue
        ours = _cells(columns, own)
        for column, value in _cells(columns, stored).items():
            if column == "name" and golden.run_name is None:
                continue
            if not _same_cell(column, value, ours[column]):
                found.append(f"{column}: {value} stored, {ours[column]} here")
    return found


def _cells(columns: list[str], row: str) -> dict[str, str]:
    # Ranges put commas into quoted names, so a row is read as CSV.
    (values,) = csv.reader([row])
    return dict(zip(columns, values, strict=True))


def _same_cell(column: str, stored: str, own: str) -> bool:
    if column == "wall.time":
        return True
    if column in ("name", "step"):
        return stored == own
    return close(float(stored or "nan"), float(own or "nan"))
