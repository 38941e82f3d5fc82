"""The exporter script, on runs with the recorded series of the reference code."""

import csv
import json

import pandas as pd
import pytest

from stable_nalu.result.export import any_runs, arithmetic, pairs, sequences
from stable_nalu.writer import RunWriter
from stable_nalu.writer.event_file import FILE_PREFIX
from tests.exported import EXPORTED, ROOT, logged, main_of

FIXTURES = ROOT / "tests" / "export" / "fixtures"
DEFAULT = ",".join(EXPORTED)
VALID, TEST = "metric/valid/interpolation", "metric/test/extrapolation"


main = main_of("export/simple_function_static.py")


def golden(name):
    return json.loads((FIXTURES / f"{name}.json").read_text())


def write_golden(folder, case):
    """The run as a training loop logs it: by step, tags in the order of the reference."""
    writer = RunWriter(folder / case["run_name"])
    steps = sorted({step for points in case["series"].values() for step, _ in points})
    for step in steps:
        for tag, points in case["series"].items():
            for _, value in (point for point in points if point[0] == step):
                writer.scalar(tag, value)
        writer.commit(step)
    writer.close()
    return writer.events.path


def without_wall_time(row):
    return [cell for index, cell in enumerate(row) if index != 3]


@pytest.fixture
def runs(tmp_path):
    for name in ("fs_linear_s0", "fs_nalu_s0"):
        write_golden(tmp_path / "runs", golden(name))
    return tmp_path / "runs"


def export(folder, out, *flags):
    return main(["--tensorboard-dir", str(folder), "--csv-out", str(out), *flags])


def test_several_runs_have_one_header(runs, tmp_path):
    assert export(runs, tmp_path / "out.csv", "--strict") == 0
    rows = list(csv.reader((tmp_path / "out.csv").read_text().splitlines()))
    assert ",".join(rows[0]) == DEFAULT
    assert [row[0].split("_")[0] for row in rows[1:]] == ["linear"] * 6 + ["nalu"] * 6


@pytest.mark.parametrize("exporter", [arithmetic, any_runs, sequences, pairs])
def test_folders_of_models_become_a_file_each(tmp_path, capsys, exporter):
    """As a whole batch script leaves them, also where models lie at different depths."""
    for model in ("study/mul/NMU", "study/NALU"):
        values = dict.fromkeys(("metric/train/mse", "metric/valid/interpolation"), 0.5)
        logged(tmp_path / model / "1_f0_op-mul_nalmT_learnLT_s0", (1, values))
        (tmp_path / model / f".{FILE_PREFIX}.0").write_bytes(b"what TensorBoard shows of a folder")
    for out in ("out", "out.csv"):
        words = ["--tensorboard-dir", str(tmp_path / "study"), "--csv-out", str(tmp_path / out)]
        assert exporter(words) == 0
        files = [tmp_path / "out" / name for name in ("NALU.csv", "mul/NMU.csv")]
        assert capsys.readouterr().out.splitlines() == [f"table {file}" for file in files]
        assert sorted((tmp_path / "out").rglob("*.csv")) == files
        assert all("_s0" in file.read_text().splitlines()[1] for file in files)
    assert exporter(["--tensorboard-dir", str(tmp_path / "study"), "--csv-out", "-"]) == 2
    assert "argument --csv-out: " in capsys.readouterr().err


def test_gates(tmp_path):
    case = golden("fs_nalu_s0")
    write_golden(tmp_path / "runs", case)
    assert export(tmp_path / "runs", tmp_path / "out.csv", "--export-gate") == 0
    header, first, *_ = (tmp_path / "out.csv").read_text().splitlines()
    gates = [f"network.layer_{layer}.nalu.gate.mean" for layer in (1, 2)]
    assert header == ",".join([DEFAULT, *gates])
    values = [case["series"][f"network/layer_{layer}/nalu/gate/mean"][0][1] for layer in (1, 2)]
    assert [float(cell) for cell in first.split(",")[-2:]] == pytest.approx(values, rel=1e-7)


def test_verbose_and_weights_only(tmp_path):
    values = {
        VALID: 0.5,
        TEST: 2.0,
        "network/layer_1/nac/W": "<pre>[[0.25 1.  ]]</pre>",
        "network/layer_1/nac/W/sparsity_error": 0.25,
    }
    logged(tmp_path / "runs" / "run", (0, values))
    assert export(tmp_path / "runs", tmp_path / "v.csv", "--verbose") == 0
    header, row = (tmp_path / "v.csv").read_text().splitlines()
    assert header == (
        "name,metric.valid.interpolation,step,wall.time,metric.test.extrapolation,"
        "weights.w0,weights.w1,sparse.error.max,recursive.weight"
    )
    assert ",".join(without_wall_time(row.split(","))) == "run,0.5,0,2.0,0.25,1.0,0.25,"
    assert export(tmp_path / "runs", tmp_path / "w.csv", "--weights-only") == 0
    assert (tmp_path / "w.csv").read_text() == ("name,param.W.0,param.W.1,step\nrun,0.25,1.0,0\n")


def test_strict_and_the_summary_of_problems(runs, tmp_path, capsys):
    path = write_golden(runs, golden("fs_linear_s0") | {"run_name": "truncated"})
    path.write_bytes(path.read_bytes()[:-1])
    (runs / "empty").mkdir()
    assert export(runs, tmp_path / "a.csv") == 0
    assert capsys.readouterr().err.splitlines()[-1] == "4 runs: 1 skipped, 1 read in part"
    assert export(runs, tmp_path / "b.csv", "--strict") == 1
    assert (tmp_path / "a.csv").read_text() == (tmp_path / "b.csv").read_text()
    assert (tmp_path / "a.csv").read_text().count("\ntruncated,") == 5


def test_a_step_that_is_twice_in_a_log_keeps_its_last_values(tmp_path, caplog):
    values = ((0, 1.0), (1000, 2.0), (1000, 3.0), (2000, 4.0))
    logged(tmp_path / "runs" / "run", *((step, {VALID: value}) for step, value in values))
    assert export(tmp_path / "runs", tmp_path / "a.csv") == 0
    assert "rows of repeated steps: 1; the last values are kept" in caplog.text
    table = pd.read_csv(tmp_path / "a.csv")
    assert table["step"].tolist() == [0, 1000, 2000]
    assert table["metric.valid.interpolation"].tolist() == [1.0, 3.0, 4.0]
    assert export(tmp_path / "runs", tmp_path / "b.csv", "--strict") == 1


@pytest.mark.parametrize("first", "=+-@")
def test_names_that_spreadsheets_take_for_formulas_are_quoted(runs, tmp_path, first):
    name = f"{first}cmd|'x'!A1"
    write_golden(runs, golden("fs_linear_s0") | {"run_name": name})
    assert export(runs, tmp_path / "all.csv") == 0
    lines = (tmp_path / "all.csv").read_text().splitlines()
    table = pd.read_csv(tmp_path / "all.csv")
    mine = [line for line in lines if line.startswith(f'"{name}",')]
    assert len(mine) == sum(table["name"] == name) > 0
    assert len([line for line in lines if '"' in line]) == len(mine)
    numbers = table.drop(columns=["name", "wall.time"])
    theirs = golden("fs_linear_s0")["run_name"]
    pd.testing.assert_frame_equal(
        numbers[table["name"] == name].reset_index(drop=True),
        numbers[table["name"] == theirs].reset_index(drop=True),
    )
