"""What `--evaluate` says of a trained layer that faced a mystery problem."""

import os
from pathlib import Path

import pandas as pd
import pytest
import torch

from stable_nalu.task.mystery_arithmetic import MysteryProblem
from tests.experiments.scripts import run, run_names

SCRIPT = "mystery_arithmetic"
SMALL = (
    *("--input-size", "8", "--output-size", "4", "--train-size", "70", "--test-size", "40"),
    *("--max-epochs", "1", "--workers", "1"),
)


def trained(*words: str) -> Path:
    assert run(SCRIPT, *SMALL, *words) == 0
    (name,) = run_names(SCRIPT, *SMALL, *words)
    return Path(os.environ["SAVE_DIR"]) / f"{name}.pth"


def test_a_nac_that_has_solved_its_problem(tmp_path, capsys):
    """Its weights are 1 and -1 at the inputs of each output, which is all that influences it."""
    words = ("--operations", "add,sub", "--layer-type", "NAC", "--pytorch-precision", "64")
    path = trained(*words, "--seed", "3", "--verbose")
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
    assert run(SCRIPT, "--evaluate", str(path), "--evaluation-dir", str(tmp_path / "out")) == 0
    head, *rows, told, table, pdf, png = capsys.readouterr().out.splitlines()
    assert head.split() == ["output", "test", "mse", "influence", "W"]
    for k, (row, output) in enumerate(zip(rows, problem.outputs, strict=True)):
        assert row.startswith(f"y{k} = {output.formula} ")
        error, *numbers = row.replace(",", "").split()[5:]
        assert float(error) < 1e-20
        assert {*numbers[1:4:2]} == {*numbers[5:8:2]} == {f"x{output.i}", f"x{output.j}"}
        assert numbers[0] == numbers[2] == "1.00"
        assert ("-1.00" in row) == (output.operation == "sub")
    assert told == "4 of 4 outputs are most influenced by their own two inputs"
    assert all(Path(file).stat().st_size > 1000 for file in (pdf, png))
    written = pd.read_csv(table)
    assert len(written) == 4 * 8
    assert written["influence"].tolist() == pytest.approx(
        written["is.operand"].astype(float).tolist()
    )
    assert written["W"].abs().tolist() == pytest.approx(
        written["is.operand"].astype(float).tolist()
    )


@pytest.mark.parametrize(
    ("layer", "matrices"),
    [
        ((), ["influence", "G_add", "nac_add.W", "nac_mul.W"]),
        (("--nalu-variant", "shared"), ["influence", "G_add", "nac_add.W"]),
        (("--layer-type", "vanilla"), ["influence", "W"]),
        (("--layer-type", "ReRegualizedLinearMNAC"), ["influence", "W"]),
    ],
)
def test_every_layer_shows_its_weights(layer, matrices, capsys, monkeypatch):
    monkeypatch.setattr("stable_nalu.inspection.mystery_report.FORMATS", ())
    path = trained(*layer)
    capsys.readouterr()
    assert run(SCRIPT, "--evaluate", str(path)) == 0
    head, *_, table = capsys.readouterr().out.splitlines()
    assert head.split()[3:] == matrices
    assert list(pd.read_csv(table))[4:] == matrices
    assert Path(table).parent == Path(os.environ["SAVE_DIR"]) / "mystery_arithmetic_plots"


def test_files_that_are_no_models_of_the_script(tmp_path, capsys):
    assert run("notebook_addition", "--max-iterations", "1", "--train-size", "9") == 0
    (name,) = run_names("notebook_addition", "--max-iterations", "1", "--train-size", "9")
    other = Path(os.environ["SAVE_DIR"]) / f"{name}.pth"
    capsys.readouterr()
    for path, message in (
        (tmp_path / "none.pth", "there is no checkpoint"),
        (other, "is not a checkpoint of mystery_arithmetic.py"),
    ):
        assert run(SCRIPT, "--evaluate", str(path)) == 2
        error = capsys.readouterr().err
        assert error.startswith(f"{SCRIPT}.py: error: argument --evaluate: ")
        assert message in error
        assert error.count("\n") == 1
