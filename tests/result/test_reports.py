"""What `--evaluate` writes and says of saved models, and what it leaves alone."""

import csv
import os
from pathlib import Path

import pandas as pd
import pytest
import torch

from stable_nalu.result import reports
from stable_nalu.task.mystery_arithmetic import MysteryProblem
from tests.experiments.scripts import run, run_names

TINY = ("--data-source", "digits", "--samples-per-permutation", "1", "--operation", "mul")
NMU = ("--use-nalm", "--learn-labels2out", "--id", "22", "--seed", "2")
PAIRS = "two_digit_mnist"


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
    monkeypatch.setattr(reports, "DPI", 40)
    assert run(PAIRS, *TINY, *NMU, "--max-epochs", "1") == 0
    (name,) = run_names(PAIRS, *TINY, *NMU)
    return Path(os.environ["SAVE_DIR"]) / f"{name}.pth"


def test_a_trained_model(trained, tmp_path, capsys):
    logs, models = (contents(tmp_path / part) for part in ("tensorboard", "save"))
    out = tmp_path / "out"
    # The flags of training need not be said again, and deleting data is not what they do here.
    words = ("--evaluate", str(trained), "--evaluation-dir", str(out), "--remove-existing-data")
    assert run(PAIRS, *words) == 0
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


MYSTERY = "mystery_arithmetic"
SMALL = (
    *("--input-size", "8", "--output-size", "4", "--train-size", "70", "--test-size", "40"),
    *("--max-epochs", "1", "--workers", "1"),
)


def solver(*words: str) -> Path:
    assert run(MYSTERY, *SMALL, *words) == 0
    (name,) = run_names(MYSTERY, *SMALL, *words)
    return Path(os.environ["SAVE_DIR"]) / f"{name}.pth"


def test_a_nac_that_has_solved_its_problem(tmp_path, capsys):
    """Its weights are 1 and -1 at the inputs of each output, which is all that influences it."""
    words = ("--operations", "add,sub", "--layer-type", "NAC", "--pytorch-precision", "64")
    path = solver(*words, "--seed", "3", "--verbose")
    problem = MysteryProblem(8, 4, ("add", "sub"), 3)
    said = capsys.readouterr().out
    assert all(f"y{k} = {o.formula}\n" in said for k, o in enumerate(problem.outputs))
    content = torch.load(path, weights_only=True)
    state = content["model_state_dict"]
    w_hat, m_hat = (state[f"layer.layer.{name}"] for name in ("W_hat", "M_hat"))
    w_hat.zero_()
    m_hat.fill_(50.0)
    for k, output in enumerate(problem.outputs):
        w_hat[k, output.i] = 50
        w_hat[k, output.j] = 50 if output.operation == "add" else -50
    torch.save(content, path)
    # The flags of training need not be said again.
    assert run(MYSTERY, "--evaluate", str(path), "--evaluation-dir", str(tmp_path / "out")) == 0
    head, *rows, actual, table, pdf, png = capsys.readouterr().out.splitlines()
    assert head.split() == ["output", "test", "mse", "influence", "W"]
    for k, (row, output) in enumerate(zip(rows, problem.outputs, strict=True)):
        assert row.startswith(f"y{k} = {output.formula} ")
        error, *numbers = row.replace(",", "").split()[5:]
        assert float(error) < 1e-20
        assert {*numbers[1:4:2]} == {*numbers[5:8:2]} == {f"x{output.i}", f"x{output.j}"}
        assert numbers[0] == numbers[2] == "1.00"
        assert ("-1.00" in row) == (output.operation == "sub")
    assert actual == "4 of 4 outputs are most influenced by their own two inputs"
    assert all(Path(file).stat().st_size > 1000 for file in (pdf, png))
    written = pd.read_csv(table)
    assert len(written) == 4 * 8
    assert written["influence"].tolist() == pytest.approx(
        written["is.operand"].astype(float).tolist()
    )
    assert written["W"].abs().tolist() == pytest.approx(
        written["is.operand"].astype(float).tolist()
    )


def test_files_that_are_no_models_of_the_script(tmp_path, capsys):
    assert run("notebook_addition", "--max-iterations", "1", "--train-size", "9") == 0
    (name,) = run_names("notebook_addition", "--max-iterations", "1", "--train-size", "9")
    other = Path(os.environ["SAVE_DIR"]) / f"{name}.pth"
    capsys.readouterr()
    for path, message in (
        (tmp_path / "none.pth", "there is no checkpoint"),
        (other, "is not a checkpoint of mystery_arithmetic.py"),
    ):
        assert run(MYSTERY, "--evaluate", str(path)) == 2
        error = capsys.readouterr().err
        assert error.startswith(f"{MYSTERY}.py: error: argument --evaluate: ")
        assert message in error
        assert error.count("\n") == 1
