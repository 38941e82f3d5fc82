"""Summaries of groups of runs, and published tables that can be recomputed exactly.

Success rates with their intervals are exact in the papers; means of steps are not. Each known run
goes through the whole path: exported file, shipped thresholds, summary, cells of the table.
"""

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from stable_nalu.statistics.setups import (
    MODELS,
    NAC_MUL,
    NAC_MUL_NMU,
    SHIPPED,
    Estimators,
    Judgement,
)
from stable_nalu.statistics.summary import summarize_group, summarize_runs, summarize_solved
from stable_nalu.statistics.table import SPARSITY, TEST, VALIDATION, judge_tables

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


SEEDS = frozenset(range(100))
NAC_MUL_TIMES = (
    "0 1 9 10 19 20 30 31 35 40 42 49 52 53 57 58 63 64 68 70 72 74 76 77 84 87 88 92 97 98 99"
)


def seeds(text):
    return frozenset(map(int, text.split()))


# Operation, model, seeds that solve the task, published success rate and interval in percent.
DEFAULT_TASK = (
    ("mul", "NMU", SEEDS - seeds("70 85"), (98, 93.0, 99.4)),
    ("mul", NAC_MUL_NMU, SEEDS - seeds("17 29 34 38 45 70 85"), (93, 86.3, 96.6)),
    ("mul", NAC_MUL, seeds(NAC_MUL_TIMES), (31, 22.8, 40.6)),
    ("add", "NALU", seeds("16 31 33 39 42 47 54 59 66 73 84 87 89 97"), (14, 8.5, 22.1)),
    ("sub", "NALU", seeds("6 16 27 28 33 37 54 62 65 69 74 79 92 99"), (14, 8.5, 22.1)),
    ("sub", "Linear", seeds("23 42 43 48 67 81 93"), (7, 3.4, 13.7)),
    ("root", "NALU", seeds("9 94"), (2, 0.6, 7.0)),
    ("root", NAC_MUL, seeds("12 13 16 44 55 60 79"), (7, 3.4, 13.7)),
    ("root", NAC_MUL_NMU, seeds("19 20 89"), (3, 1.0, 8.5)),
    ("div", "NALU", frozenset(), (0, 0.0, 3.7)),
    ("add", "NAU", SEEDS, (100, 96.3, 100.0)),
)
THRESHOLDS = {"mul": 0.16, "add": 1.4785e-5, "sub": 1.3844e-8, "root": 8.95e-9, "div": 4.955e-12}


def run_name(model, operation, seed):
    codes = {label: code for code, label in MODELS.items() if "mnac" not in code}
    code = "reregualizedlinearnac-nac-m" if model == "NMU" else codes[model]
    return (
        f"{code}_op-{operation}_oob-c_rs-linear-linear_eps-0_rl-1000000-2000000_r-10-0-1_i-1-2_"
        f"e-2-6_z-100-0.25-0.5_b128_s{seed}_h2_z2_lr-adam-0.00100-0.0"
    )


def exported(path, solved_at=1_001_000):
    """A file with every run: errors just below the published threshold, or just above it."""
    rows = []
    for operation, model, solved, _ in DEFAULT_TASK:
        for seed in sorted(SEEDS):
            error = THRESHOLDS[operation] * (0.99 if seed in solved else 1.01)
            name = run_name(model, operation, seed)
            rows.append((name, 1.0, 0, 1.0, 0.5))
            rows.append((name, 0.1, solved_at, error, 1e-4))
    columns = ["name", VALIDATION, "step", TEST, SPARSITY]
    pd.DataFrame(rows, columns=columns).to_csv(path, index=False)


@pytest.fixture(scope="module")
def summary(tmp_path_factory):
    path = tmp_path_factory.mktemp("published") / "defaults.csv"
    exported(path)
    runs = judge_tables([(path, pd.read_csv(path))], Judgement(setups=SHIPPED), pytest.fail)
    return summarize_runs(runs, ["model", "operation"], Estimators()).set_index(
        ["operation", "model"]
    )


@pytest.mark.parametrize(("operation", "model", "solved", "published"), DEFAULT_TASK)
def test_default_task(summary, operation, model, solved, published):
    row = summary.loc[(operation, model)]
    columns = ["success.rate.mean", "success.rate.lower", "success.rate.upper"]
    assert tuple(round(100 * row[c], 1) for c in columns) == published
    assert row["converged.at.median"] == 1_001_000 or not solved
