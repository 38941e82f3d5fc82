"""Runs that exist under the name of others are refused in one line, and stay as they are."""

import re
from pathlib import Path

import pytest

from tests.experiments.scripts import run, run_names

SHORT = "--max-iterations 2 --log-interval 1"
NMU = "--operation mul --layer-type ReRegualizedLinearMNAC"


def refused(capsys, script, *words):
    """The one line that a refused command line prints."""
    capsys.readouterr()
    assert run(script, *words) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"{script}.py: error: ")
    return line


def contents(folder):
    """Path -> bytes of all files below a folder."""
    return {path: path.read_bytes() for path in Path(folder).rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("script", "unit", "flag", "values"),
    [
        ("simple_function_static", "--layer-type NAC", "--nac-mul", ("safe", "max-safe")),
        ("single_layer", "--layer-type NALU", "--nalu-mul", ("safe", "max-safe")),
        ("single_layer", NMU, "--nac-mul", ("mnac", "max-safe")),
        ("single_layer", NMU, "--pytorch-precision", ("32", "64")),
    ],
)
def test_two_configurations_of_one_name(script, unit, flag, values, capsys, tmp_path):
    one, other = (f"{unit} {flag} {value}" for value in values)
    assert run_names(script, one) == run_names(script, other)
    assert run(script, one, SHORT) == 0
    before = contents(tmp_path)
    for more in (f"{SHORT} --remove-existing-data", "--load-checkpoint --max-iterations 5"):
        line = refused(capsys, script, other, more)
        assert flag.removeprefix("--") in line.replace("_", "-")
        assert all(re.search(rf"\b{value}\b", line) for value in values)
        assert contents(tmp_path) == before


def test_a_best_model_is_a_run_that_exists(capsys, tmp_path):
    """Though its log is elsewhere."""
    script, words = "simple_function_static", f"--layer-type NAC {SHORT}"
    assert run(script, words, "--save-best-model") == 0
    (tmp_path / "tensorboard").rename(tmp_path / "logs")
    before = contents(tmp_path)
    assert "already holds a trained model" in refused(capsys, script, words)
    assert "lowest_interp" in refused(capsys, script, words, "--no-save --save-best-model")
    assert contents(tmp_path) == before
    assert run(script, words, "--no-save") == 0
    assert run(script, words, "--remove-existing-data") == 0


def test_a_plan_of_epochs_is_begun_whole_or_not_at_all(capsys, tmp_path):
    script, words = "number_translation", "--layer-type NAC --max-epochs 0"
    assert run(script, words, "--seed 2") == 0
    before = contents(tmp_path)
    assert "already holds data" in refused(capsys, script, words, "--seed 0-2")
    assert contents(tmp_path) == before
    assert run(script, words, "--seed 0-1") == 0


def test_an_option_that_a_unit_refuses(capsys):
    words = "--layer-type NSR --layer-option copies=0"
    assert "copies has to be at least 1" in refused(capsys, "single_layer", words, SHORT)
