"""What `--evaluate` writes, and what it leaves alone."""

import csv
import os
from pathlib import Path

import numpy as np
import pytest
import torch

from stable_nalu.inspection import pair_report
from tests.experiments.scripts import run, run_names

TINY = ("--data-source", "digits", "--samples-per-permutation", "1", "--operation", "mul")
NMU = ("--use-nalm", "--learn-labels2out", "--id", "22", "--seed", "2")
SCRIPT = "two_digit_mnist"


@pytest.fixture(autouse=True)
def _one_thread(monkeypatch):
    """Several threads gain nothing on images as few as these."""
    monkeypatch.setenv("LSB_DJOB_NUMPROC", "1")


def table(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def contents(folder):
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.fixture
def trained(monkeypatch):
    monkeypatch.setattr(pair_report, "DPI", 40)
    assert run(SCRIPT, *TINY, *NMU, "--max-epochs", "1") == 0
    (name,) = run_names(SCRIPT, *TINY, *NMU)
    return Path(os.environ["SAVE_DIR"]) / f"{name}.pth"


def test_a_trained_model(trained, tmp_path, capsys):
    logs, models = (contents(tmp_path / part) for part in ("tensorboard", "save"))
    out = tmp_path / "out"
    # The flags of training need not be said again, and deleting data is not what they do here.
    words = ("--evaluate", str(trained), "--evaluation-dir", str(out), "--remove-existing-data")
    assert run(SCRIPT, *words) == 0
    assert contents(tmp_path / "tensorboard") == logs
    assert contents(tmp_path / "save") == models
    stem = "22_f2_op-mul_nalmT_learnLT_s2_digits"
    assert sorted(path.name for path in out.iterdir()) == sorted(
        [
            f"{stem}_class_accs.csv",
            *(f"{stem}_confusion_matrix.{ending}" for ending in ("csv", "pdf", "png")),
            *(f"{stem}_labels2out-path.{ending}" for ending in ("csv", "pdf", "png")),
        ]
    )
    accuracies = table(out / f"{stem}_class_accs.csv")
    assert list(accuracies[0]) == ["model", "digit", "accuracy"]
    assert [(row["model"], row["digit"]) for row in accuracies] == [
        (stem, str(d)) for d in range(10)
    ]
    counts = table(out / f"{stem}_confusion_matrix.csv")
    assert sum(int(row["count"]) for row in counts) == 20
    path = table(out / f"{stem}_labels2out-path.csv")
    assert [float(row["epoch"]) for row in path] == [0, 1]
    saved = torch.load(trained, weights_only=True)["model_state_dict"]["answer.W"]
    assert float(path[-1]["label2out.w0"]) == pytest.approx(saved[0, 0].item(), abs=0.01)
    assert "of 20 digits recognised, cut off" in capsys.readouterr().out


@pytest.mark.slow
def test_without_a_log_and_rounded(trained, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("TENSORBOARD_DIR", str(tmp_path / "elsewhere"))
    assert run(SCRIPT, "--evaluate", str(trained), "--rounded", "true") == 0
    folder = tmp_path / "save" / "two_digit_mnist_plots"
    assert (folder / "22_f2_op-mul_nalmT_learnLT_s2_digits_rounded_class_accs.csv").exists()
    assert not list(folder.glob("*path*"))
    said = capsys.readouterr().out
    assert "no path of weights: no log of t/22_f2" in said
    assert "recognised, rounded" in said
    assert not (tmp_path / "elsewhere").exists()


def test_digits_that_are_not_there_have_no_accuracy(tmp_path, monkeypatch):
    monkeypatch.setattr(pair_report, "FORMATS", ())
    counts = np.zeros((10, 10), dtype=int)
    counts[1, 1], counts[1, 2] = 3, 1
    pair_report.write_counts(counts, "model", tmp_path)
    cells = [row["accuracy"] for row in table(tmp_path / "model_class_accs.csv")]
    assert cells == ["", "0.75", *[""] * 8]
