"""Readers of a folder of runs."""

import io
import logging
import math

import pytest

from stable_nalu.reader import RunProblem, TensorboardMetricReader, TensorboardReader
from stable_nalu.result import export as module
from stable_nalu.result.export import MetricParser, RunReader, is_scored_or_gate, write_tables
from stable_nalu.task.table import SCRIPTS
from stable_nalu.training.checkpoint import plain
from stable_nalu.writer import RunRecord, RunWriter
from tests.exported import logged

VALID, TEST = "metric/valid/interpolation", "metric/test/extrapolation"
MATCHER = is_scored_or_gate


def write_run(folder, steps=(0, 1000), tags=(VALID, TEST)):
    return logged(folder, *((step, dict.fromkeys(tags, step + 0.1)) for step in steps))


def reader(folder, **options):
    return RunReader(folder, MetricParser(MATCHER), progress_bar=False, **options)


def names(tables):
    return [table.name for table in tables]


@pytest.mark.parametrize("files", [0, 2])
def test_wrong_number_of_files(tmp_path, files):
    (tmp_path / "run").mkdir()
    for index in range(files):
        (tmp_path / "run" / f"events.{index}").touch()
    with pytest.raises(ValueError, match="wrong number of logfile was found in run"):
        list(TensorboardReader(tmp_path))
    with pytest.raises(FileNotFoundError):
        TensorboardReader(tmp_path / "absent")


def test_problems_are_reported_and_the_other_runs_read(tmp_path, caplog):
    write_run(tmp_path / "good")
    truncated = write_run(tmp_path / "truncated", steps=(0, 1000, 2000))
    truncated.write_bytes(truncated.read_bytes()[:-5])
    write_run(tmp_path / "no_metrics", tags=("loss/train/total",))
    write_run(tmp_path / "resumed")
    (tmp_path / "resumed" / "events.out.tfevents.2").touch()
    (tmp_path / "nothing").mkdir()
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "events.out.tfevents.1").touch()
    (tmp_path / "parent" / "run").mkdir(parents=True)
    (tmp_path / "notes.txt").touch()
    subject = reader(tmp_path)
    with caplog.at_level(logging.WARNING):
        tables = list(subject.tables())
    assert names(tables) == ["good", "truncated"]
    assert tables[1].columns["step"] == [0, 1000]
    found = {problem.run: problem for problem in subject.problems}
    names_in_order = "empty no_metrics notes.txt nothing parent resumed truncated"
    assert list(found) == names_in_order.split()
    assert found["truncated"].message.startswith("partial record at byte ")
    assert [run for run, problem in found.items() if not problem.skipped] == ["truncated"]
    assert found["empty"] == RunProblem("empty", "empty file", True)
    assert found["nothing"].message == "no event file"
    assert found["notes.txt"].message == "not a folder"
    assert found["resumed"].message.startswith("2 files instead of one event file")
    assert "Warning: No data for no_metrics" in caplog.messages
    assert any("truncated" in message for message in caplog.messages)
    list(subject.tables())
    assert len(subject.problems) == 7


def test_the_first_run_fixes_the_columns(tmp_path, caplog):
    gate = "network/layer_2/nalu/gate/mean"
    write_run(tmp_path / "a_no_metrics", tags=())
    write_run(tmp_path / "b", tags=(VALID, TEST))
    write_run(tmp_path / "c", tags=(TEST, gate, VALID))
    write_run(tmp_path / "d", tags=(VALID,))
    _, _, d = tables = list(reader(tmp_path).tables())
    assert len({tuple(table.columns) for table in tables}) == 1
    assert list(d.columns)[0] == "metric.valid.interpolation"
    assert all(map(math.isnan, d.columns["metric.test.extrapolation"]))
    assert [m for m in caplog.messages if "network.layer_2.nalu.gate.mean" in m and " c," in m]


def test_the_configuration_of_a_run_comes_from_its_record_or_else_its_name(tmp_path):
    spec = SCRIPTS["single_layer"]
    (config,) = spec.plan(["--layer-type", "NAC", "--learning-rate", "1e-6"]).configs
    leaf = spec.leaf(config)
    write_run(tmp_path / leaf)
    (named,) = reader(tmp_path, with_config=True).tables()
    RunRecord.create("single_layer", plain(config.as_dict()), "").write(tmp_path / leaf)
    (recorded,) = reader(tmp_path, with_config=True).tables()
    (alone,) = reader(tmp_path).tables()
    assert alone.options == {}
    ends = {"diverged.at": pytest.approx([math.nan] * 2, nan_ok=True)}
    assert alone.columns | ends == named.columns == recorded.columns | ends
    assert named.options["operation"] == recorded.options["operation"] == "add"
    assert (named.options["learning.rate"], recorded.options["learning.rate"]) == (0.0, 1e-6)
    assert recorded.options["max.iterations"] == config.max_iterations
    header, *rows = csv_text([recorded]).splitlines()
    assert header == ",".join(("name", *alone.columns, *ends, *recorded.options))
    assert len(rows) == 2
    RunRecord.create("a later script", {}, "").write(tmp_path / leaf)
    (unknown,) = reader(tmp_path, with_config=True).tables()
    assert unknown == named


def test_worker_processes_give_the_same_in_the_same_order(tmp_path, monkeypatch):
    for index in range(7):
        write_run(tmp_path / f"run_{index}", steps=range(index + 1))
    alone = list(reader(tmp_path, processes=1).tables())
    started, pool = [], module.ProcessPoolExecutor

    def noted(workers, **options):
        started.append(workers)
        return pool(workers, **options)

    monkeypatch.setattr(module, "_BYTES_PER_WORKER", 1)
    monkeypatch.setattr(module, "ProcessPoolExecutor", noted)
    together = list(reader(tmp_path, processes=2).tables())
    assert started == [2]
    assert csv_text(together) == csv_text(alone)


def csv_text(tables):
    file = io.StringIO()
    assert write_tables(tables, file)
    return file.getvalue()


@pytest.mark.parametrize(
    ("script", "tail", "expected"),
    [
        (None, "D-u_n-1-5_L1F", 0.75),
        (None, "D-tn-1-3-10-3_n-1-5_L1F", 0.75),
        (None, "D-u_n-1-5_L1F_TB-1000_mse", 0.375),
        (None, "L1F_rb-1e-05-0.0001-10000-10", 0.375),
        ("single_layer", "D-u_n-1-5_L1F", 0.75),
        ("single_layer", "as_its_user_likes", 0.75),
        ("single_layer_robust", "D-u_n-1-5_L1F_TB-1000_mse", 0.375),
        ("simple_function_static", "D-u_n-1-5_L1F", 0.375),
    ],
)
def test_imaginary_weights_are_added_in_runs_of_the_division_study(
    tmp_path, script, tail, expected
):
    folder = tmp_path / f"npu_op-div_oob-c_{tail}"
    unit = "network/layer_1/npu"
    errors = {f"{unit}/W_real/sparsity_error": 0.5, f"{unit}/W_im/sparsity_error": 0.25}
    logged(folder, (0, {VALID: 1.0, **errors}))
    if script is not None:
        RunRecord.create(script, {}, "command").write(folder)
    (table,) = reader(tmp_path).tables()
    assert table.columns["sparse.error.max"] == [expected]


def test_every_tag_is_a_metric_by_default(tmp_path):
    writer = RunWriter(tmp_path / "run")
    writer.scalar("loss", 1.0)
    writer.text("note", "text", rooted=False)
    writer.commit(3)
    writer.close()
    (table,) = TensorboardMetricReader(tmp_path).tables()
    assert table.columns["loss"] == [1.0]
    assert table.columns["note.text_summary"] == ["text"]
