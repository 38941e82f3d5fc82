"""Summaries of groups of runs, the published ones among them."""

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from stable_nalu.statistics.setups import Estimators
from stable_nalu.statistics.summary import long_form, summarize, summarize_group, summarize_solved

FIXTURES = Path(__file__).parent / "fixtures"


def test_every_published_cell_is_reproduced():
    found = summarize_solved(FIXTURES / "stats-in.csv", Estimators()).set_index("group")
    expected = pd.read_csv(FIXTURES / "stats-out.csv").set_index("group")
    assert list(found.columns) == list(expected.columns)
    assert list(found.index) == list(expected.index)
    for column in expected.columns:
        tolerance = 2e-3 if column.startswith("sparse") else 1e-4
        np.testing.assert_allclose(
            found[column].to_numpy(dtype=float),
            expected[column].to_numpy(dtype=float),
            rtol=tolerance,
            err_msg=column,
        )


def test_solved_at_and_sparsity_are_of_solved_runs_only():
    found = summarize_group(
        np.array([True, False, True]),
        np.array([4000.0, math.nan, 4000.0]),
        np.array([0.1, 0.4, 0.1]),
    )
    assert found["success.rate.mean"] == pytest.approx(2 / 3)
    assert found["converged.at.mean"] == found["converged.at.median"] == 4000
    assert found["converged.at.max"] == 4000
    assert found["sparse.error.mean"] == pytest.approx(0.1)
    missing = summarize_group(np.array([True]), np.array([1000.0]), np.array([math.nan]))
    assert missing["converged.at.mean"] == 1000
    assert math.isnan(missing["sparse.error.mean"])


def test_an_unsolved_group_has_a_rate_only():
    found = summarize_group(np.array([False, False]), np.full(2, math.nan), np.array([0.1, 0.2]))
    assert found.pop("success.rate.mean") == 0
    assert found.pop("success.rate.lower") == 0
    assert found.pop("success.rate.upper") == pytest.approx(0.657620, abs=1e-6)
    assert all(math.isnan(value) for value in found.values())


def test_plain_figures_stand_beside_the_published_ones():
    errors = np.array([0.010, 0.020, 0.021, 0.049])
    found = summarize_group(
        np.full(4, True), np.array([1e4, 2e4, 3e4, 8e4]), errors, Estimators(plain=True, seed=1)
    )
    assert found["converged.at.plain.mean"] == 35000
    assert found["converged.at.plain.median"] == 25000
    assert found["sparse.error.plain.mean"] == pytest.approx(0.025)
    assert found["sparse.error.mean"] < 0.6 * found["sparse.error.plain.mean"]
    assert found["converged.at.plain.mean.lower"] < 35000 < found["converged.at.plain.mean.upper"]
    assert "success.rate.plain.mean" not in found


def test_groups_keep_their_order_and_missing_keys():
    runs = pd.DataFrame(
        {
            "model": ["b", "a", "b"],
            "clip": [None, 1.0, None],
            "solved": [True, False, False],
            "extrapolation.step.solved": [5.0, math.nan, math.nan],
            "sparse.error.max": [0.0, 0.0, 0.0],
        }
    )
    found = summarize(runs, ["model", "clip"])
    assert found["model"].tolist() == ["b", "a"]
    assert found["success.rate.mean"].tolist() == [0.5, 0]


def test_long_form_has_a_row_a_group_and_measure():
    runs = pd.DataFrame(
        {
            "model": ["NMU", "NALU"],
            "parameter": [1, 1],
            "solved": [True, True],
            "extrapolation.step.solved": [5.0, 7.0],
            "sparse.error.max": [0.25, 0.5],
        }
    )
    found = long_form(summarize(runs, ["model", "parameter"]), ["model", "parameter"])
    columns = "model parameter key mean.value upper.value lower.value max.value our.model"
    assert list(found.columns) == columns.split()
    assert found["key"].tolist() == ["success.rate", "converged.at", "sparse.error"] * 2
    assert found["mean.value"].tolist()[:3] == [1, 5, 0.25]
    assert found["our.model"].tolist() == [True] * 3 + [False] * 3
