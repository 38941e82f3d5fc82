"""Whole runs against stored figures: names, tags, series and the exported CSV."""

import csv
import json
import math
from pathlib import Path

import pytest

from stable_nalu.base.files import EXTRA_FLAGS
from stable_nalu.result.export import arithmetic as export
from tests.experiments.scripts import OF_HPARAMS, messages, run

FIXTURES = Path(__file__).parent / "fixtures"
RELATIVE, ABSOLUTE = 1e-4, 1e-6
SENSITIVE_UNTIL = 100
"""Steps up to which sensitive runs are compared."""

FILES = ("single_layer", "single_layer_benchmark", "simple_function_static")
GOLDEN = {
    row["name"]: row
    for file in FILES
    for row in json.loads((FIXTURES / f"{file}.json").read_text())
}

# Every kind of layer once, both networks, noise, restarts, another distribution, float64.
REPRESENTATIVE = (
    *("sl_realnpumod_s0_[1,2]", "sl_nru_s0_[1,2]", "sl_nmru_s0_[-2,2]", "sl_npu"),
    *("sl_nmru_nosign", "sl_verbose_nmru", "dist_benford_s0", "bm_snmu_s0_m", "bm_mnac_s0_a"),
    *("bm_inalu_s0_a", "bm_gnalu_s0_a", "bm_relu_s0_a", "bm_nau_s0_m", "bmm_mcfc_add"),
    *("bmm_mcfc_mul", "fs_nmu_s0", "fs_posnac_s0", "fs_nalu2_s0", "fs_gumbel_s0"),
    *("fs_softmax_s0", "fs_simple", "fs_sgd64"),
)
OPTIMISED = ("sl_nru_s0_[1,2]", "sl_npu", "bm_inalu_s0_a", "fs_nmu_s0", "fs_gumbel_s0", "fs_sgd64")


def logged(folder: Path) -> tuple[dict[str, dict[int, list[float]]], set[str]]:
    """(tag -> step -> scalars, other tags), without those of the HParams plugin."""
    series: dict[str, dict[int, list[float]]] = {}
    others: set[str] = set()
    for event in messages(folder):
        for value in event.summary.value:
            if value.tag.startswith(OF_HPARAMS):
                continue
            if value.HasField("simple_value"):
                of_tag = series.setdefault(value.tag, {})
                of_tag.setdefault(event.step, []).append(value.simple_value)
            else:
                others.add(value.tag)
    return series, others


def close(stored: float, own: float) -> bool:
    """Agreement asked of every point."""
    if math.isnan(stored) or math.isnan(own):
        return math.isnan(stored) and math.isnan(own)
    return math.isclose(stored, own, rel_tol=RELATIVE, abs_tol=ABSOLUTE)


def compared(golden: dict, step: int) -> bool:
    return not golden["sensitive"] or step < SENSITIVE_UNTIL


def assert_series(golden: dict, series: dict[str, dict[int, list[float]]]) -> None:
    """All tags, and of each the points that are kept."""
    assert sorted(series) == sorted(golden["scalar_tags"])
    for tag, points in golden["series"].items():
        for step, value in points:
            found = series[tag].get(step, [])
            agrees = any(close(value, own) for own in found)
            assert agrees or not compared(golden, step), (tag, step, value, found)


def cells(header: str, row: str) -> dict[str, str]:
    """A row by column; ranges put commas into quoted names."""
    (values,) = csv.reader([row])
    return dict(zip(header.split(","), values, strict=True))


def assert_rows(golden: dict, header: str, rows: list[str]) -> None:
    """The first and the last row, the time of logging aside."""
    assert header == golden["csv_header"]
    assert len(rows) == golden["csv_n"]
    for stored_row, own_row in zip(golden["csv_rows"], (rows[0], rows[-1]), strict=True):
        stored, own = cells(header, stored_row), cells(header, own_row)
        assert stored.pop("step") == own["step"]
        name = stored.pop("name")
        assert golden["run_name"] is None or name == own["name"]
        del stored["wall.time"]
        for column, value in stored.items() if compared(golden, int(own["step"])) else ():
            assert close(float(value or "nan"), float(own[column] or "nan")), column


def test_representative_names_exist():
    assert set(REPRESENTATIVE) <= set(GOLDEN)
    assert len(GOLDEN) == 74
    assert {path.stem for path in FIXTURES.glob("*.json")} == set(FILES)


@pytest.mark.parametrize(
    "name", [n if n in REPRESENTATIVE else pytest.param(n, marks=pytest.mark.slow) for n in GOLDEN]
)
def test_run(name, tmp_path, monkeypatch):
    """Some as users compile them, which takes long; the others to the same bits."""
    golden = GOLDEN[name]
    if name in OPTIMISED:
        monkeypatch.delenv(EXTRA_FLAGS)
    words = "--name-prefix gold --remove-existing-data --no-save"
    assert run(golden["script"].removesuffix(".py"), *golden["argv"], words) == 0
    (folder,) = (tmp_path / "tensorboard" / "gold").glob("[!.]*")
    assert golden["run_name"] in (folder.name, None)
    series, others = logged(folder)
    assert_series(golden, series)
    assert sorted(others) == sorted(golden["other_tags"])
    out = tmp_path / "out.csv"
    assert export(["--tensorboard-dir", str(folder.parent), "--csv-out", str(out), "--strict"]) == 0
    header, *rows = out.read_text().splitlines()
    assert_rows(golden, header, rows)
