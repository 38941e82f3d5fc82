"""Scores by hand, and the tables that have them: those of runs with untrained networks alone."""

import math

import pandas as pd
import pytest

from stable_nalu.result.export import any_runs, arithmetic, with_scores
from tests.exported import logged

VALUES = {
    "metric/valid/interpolation": 4.0,
    "metric/test/extrapolation": 36.0,
    "metric/valid/interpolation/mae": 1.0,
    "metric/test/extrapolation/mae": 5.0,
    "metric/random/interpolation": 80.0,
    "metric/random/interpolation/rmse": 8.0,
    "metric/random/interpolation/mae": 4.0,
    "metric/random/extrapolation": 72.0,
    "metric/random/extrapolation/rmse": 8.0,
    "metric/random/extrapolation/mae": 10.0,
}
NAME = (
    "nac_op-mul_oob-c_rs-linear-linear_eps-0_rl-1000000-2000000_r-10-0-1_i-1-2_e-2-6"
    "_z-100-0.25-0.5_b128_s0_h2_z2_lr-adam-0.00100-0.0_x-exceed_rm10"
)


def write_run(folder, values):
    logged(folder, *((step, values) for step in (0, 1000)))


@pytest.mark.parametrize("exporter", [any_runs, arithmetic])
def test_runs_without_untrained_networks_have_none(exporter, tmp_path):
    write_run(tmp_path / "runs" / NAME, dict(list(VALUES.items())[:2]))
    words = ["--tensorboard-dir", str(tmp_path / "runs"), "--csv-out", str(tmp_path / "out.csv")]
    assert exporter(words) == 0
    assert not any("score" in column for column in pd.read_csv(tmp_path / "out.csv").columns)


@pytest.mark.parametrize(
    ("error", "untrained", "score"),
    [
        (math.inf, 2.0, math.inf),
        (math.nan, 2.0, math.inf),
        (math.nan, math.nan, math.nan),
        (1.0, math.inf, math.nan),
        (1.0, 0.0, math.nan),
    ],
)
def test_overflows(error, untrained, score):
    columns = {"metric.test.extrapolation": [error], "metric.random.extrapolation": [untrained]}
    (found,) = with_scores(columns, "mse")["score.extrapolation"]
    assert repr(found) == repr(score)
