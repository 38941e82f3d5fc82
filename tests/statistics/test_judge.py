"""The success criterion on runs small enough to check by eye."""

import math

import numpy as np
import pandas as pd
import pytest

from stable_nalu.figure.runs import Runs, reduce_rows
from stable_nalu.statistics.setups import BEST_RANGE, Judgement, Limit
from stable_nalu.statistics.table import best_row, reduce_run

NAN = math.nan


def rows(validation, test, sparsity=None, steps=None):
    size = len(validation)
    return pd.DataFrame(
        {
            "metric.valid.interpolation": validation,
            "metric.test.extrapolation": test,
            "sparse.error.max": sparsity or [0.1 * i for i in range(size)],
            "step": steps or [1000 * i for i in range(size)],
        }
    )


def test_a_run_is_judged_at_its_lowest_validation_error():
    found = reduce_run(rows([3, 1, 2], [9.0, 0.4, 0.1]), Limit(0.5))
    assert found == {
        "threshold": 0.5,
        "best.model.step": 2,
        "interpolation.last": 1,
        "extrapolation.last": 0.4,
        "interpolation.step.solved": pytest.approx(NAN, nan_ok=True),
        "extrapolation.step.solved": 1000,
        "sparse.error.max": 0.1,
        "solved": True,
    }


def test_a_low_error_at_another_row_does_not_solve():
    found = reduce_run(rows([3, 1, 2], [0.1, 0.9, 0.1]), Limit(0.5))
    assert not found["solved"]
    assert found["extrapolation.step.solved"] == 0


def test_the_first_of_equal_minima_counts_and_missing_values_do_not():
    assert best_row(np.array([2.0, 1.0, 1.0])) == 1
    assert best_row(np.array([NAN, 3.0, NAN])) == 1
    assert best_row(np.array([NAN, NAN, NAN])) == 2


def test_only_the_last_rows_are_candidates():
    validation = np.array([0.0, 5.0, 4.0, 6.0])
    assert best_row(validation, best_range=3) == 2
    assert best_row(validation, best_range=4) == 0
    assert best_row(np.array([0.0, NAN, NAN]), best_range=2) == 2


def test_the_published_window_is_the_last_5000_rows():
    validation = np.ones(6000)
    validation[[999, 1000]] = 0.0, 0.5
    assert best_row(validation) == BEST_RANGE - 4000 == 1000
    assert best_row(validation[:-1]) == 999
    assert Judgement().best_range == 5000


def test_an_error_at_the_threshold_solves_only_where_it_may():
    run = rows([1.0], [0.5])
    assert not reduce_run(run, Limit(0.5))["solved"]
    inclusive = reduce_run(run, Limit(0.5, inclusive=True))
    assert inclusive["solved"]
    assert inclusive["extrapolation.step.solved"] == 0


def test_a_missing_test_error_does_not_solve():
    found = reduce_run(rows([1.0, 2.0], [NAN, 0.1]), Limit(0.5))
    assert not found["solved"]
    assert found["extrapolation.step.solved"] == 1000


def test_rows_are_put_in_step_order_and_runs_in_the_columns_of_published_files():
    a = rows([1, 2], [0.1, 0.9], steps=[1000, 0]).assign(name="one", gate=[0.1, 0.2])
    b = rows([1, 2], [0.1, 0.9], steps=[0, 1000]).assign(name="other", gate=[0.3, 0.4])
    runs = pd.DataFrame({"name": ["other", "one"], "model": ["NMU", "NAU"]}).assign(
        seed=0, operation="mul", parameter=7, threshold=0.5, inclusive=False
    )
    spec = Runs("parameter")
    found = reduce_rows(pd.concat([a, b]), runs, spec, 5000, ["gate"])
    columns = """
        name parameter threshold best.model.step interpolation.last extrapolation.last
        interpolation.step.solved extrapolation.step.solved sparse.error.max solved model
        operation seed size best.step gate
    """
    assert list(found.columns) == columns.split()
    assert found["name"].tolist() == ["one", "other"]
    assert found["best.model.step"].tolist() == [2, 1]
    assert found["best.step"].tolist() == [1000, 0]
    assert found["extrapolation.step.solved"].tolist() == [1000, 0]
    assert found["size"].tolist() == [2, 2]
    assert found["gate"].tolist() == [0.1, 0.3]
