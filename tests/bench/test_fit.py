import shutil

import numpy as np
import pandas as pd
import pytest
from matplotlib.image import imread

from stable_nalu.bench.fit import main
from stable_nalu.training.shell import ENGINE, TORCH
from tests.exported import ROOT

QUICK = ["--seeds", "1", "--steps", "20"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(ENGINE, TORCH)
    shutil.copy(ROOT / "examples/law.csv", tmp_path)


def errors_of(said):
    rows = [line.split() for line in said.splitlines() if "%" in line and line[0] != "I"]
    return {row[0]: (float(row[-5]), float(row[-3])) for row in rows if row[-2] == "%"}


def test_fit_finds_the_law_and_compares_it_with_rivals(capsys):
    assert main(["law.csv", "--target", "F", "--test", "r > 3", *QUICK, "--out", "law.png"]) == 0
    said = capsys.readouterr().out
    found = errors_of(said)
    assert {"units", "model", "Boosting", "MLP"} <= set(said.replace("\n", " ").split())
    assert found["units"][1] < 3 < 20 < found["Boosting"][1]
    assert "*m1*m2/r**2" in said
    assert "Outside, units are better than" in said
    assert "r: seen from 1.0" in said
    assert imread("law.png").shape[2] == 4


@pytest.mark.slow
def test_fit_says_when_a_rival_is_better(capsys):
    random = np.random.default_rng(0)
    x = random.uniform(-4, 4, 400)
    table = pd.DataFrame({"x": x, "y": np.sin(2 * x), "left_out": np.arange(400) % 4 == 0})
    table.astype({"left_out": int}).to_csv("wave.csv", index=False)
    assert main(["wave.csv", "--target", "y", "--test", "left_out", *QUICK]) == 0
    said = capsys.readouterr().out
    assert "Outside, Boosting is better than units" in said
    assert "does not hold" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["none.csv", "--target", "F", "--test", "0.2"], "argument CSV: cannot read none.csv"),
        (["law.csv", "--target", "G", "--test", "0.2"], "argument --target: law.csv has no column"),
        (["law.csv", "--target", "F", "--test", "r >"], "argument --test: 'r >' is no formula"),
        (["law.csv", "--target", "F", "--test", "0.2", "--out", "a.pdf"], "argument --out: a.pdf"),
        (["law.csv", "--target", "F,r", "--test", "0.2"], "argument --target: a law has one"),
        (["law.csv", "--target", "F", "--test", "0.2", "--input-names", "k"], "--input-names"),
    ],
)
def test_fit_names_what_is_wrong_in_one_line(words, said, capsys):
    assert main(words) == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1
    assert said in lines[0]
