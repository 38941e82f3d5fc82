"""Table 1 of the NALU paper in miniature: which units learn sums, also beyond the range."""

import os
from pathlib import Path

import pandas as pd
import pytest

from stable_nalu.result.exporters import any_runs
from tests.experiments.scripts import run

pytestmark = pytest.mark.slow

STATIC = (
    "--input-size 10 --subset-ratio 0.2 --learning-rate 1e-2 --extrapolation-rule exceed "
    "--random-models 20 --max-iterations 10000"
)
RECURRENT = (
    "--input-range [0,1] --subset-ratio 0.25 --learning-rate 1e-2 --clip-grad-norm 1 "
    "--random-models 10 --batch-size 64"
)


def scores(tmp_path, script, *words):
    """The last scores of all runs of a command: columns interpolation and extrapolation."""
    assert run(script, *words, "--no-save --workers 1") == 0
    folder, file = Path(os.environ["TENSORBOARD_DIR"], "t"), tmp_path / "scores.csv"
    assert any_runs(["--tensorboard-dir", str(folder), "--csv-out", str(file)]) == 0
    rows = pd.read_csv(file).sort_values("step").drop_duplicates("name", keep="last")
    return rows["score.interpolation"], rows["score.extrapolation"]


@pytest.mark.parametrize("operation", ["add", "sub"])
@pytest.mark.parametrize("unit", ["NAC", "linear"])
def test_units_that_add_are_exact_everywhere(unit, operation, tmp_path):
    words = f"{STATIC} --layer-type {unit} --operation {operation} --seed 0-3"
    inside, beyond = scores(tmp_path, "simple_function_static", words)
    assert inside.median() < 0.1
    assert beyond.median() < 0.1


@pytest.mark.parametrize(("unit", "operation", "limit"), [("ReLU6", "add", 10), ("NAC", "mul", 20)])
def test_units_that_fail_beyond_the_range(unit, operation, limit, tmp_path):
    words = f"{STATIC} --layer-type {unit} --operation {operation} --seed 0-3"
    _, beyond = scores(tmp_path, "simple_function_static", words)
    assert beyond.median() > limit


def test_an_lstm_forgets_long_sequences(tmp_path):
    words = "--layer-type LSTM --operation add --max-iterations 1000"
    inside, beyond = scores(tmp_path, "simple_function_recurrent", RECURRENT, words, "--seed 0-1")
    assert inside.median() < 10
    assert beyond.min() > 90


def test_the_best_of_a_few_nacs_counts_over_a_thousand_steps(tmp_path):
    words = "--layer-type NAC --operation sub --max-iterations 1500"
    _, beyond = scores(tmp_path, "simple_function_recurrent", RECURRENT, words, "--seed 0-1")
    assert beyond.min() < 1
