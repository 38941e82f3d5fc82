"""Errors of each run of the MC-LSTM's experiments: means, what is solved, what is lowest."""

import math

import pytest

from stable_nalu.dataset.adding_problem import TESTS
from stable_nalu.dataset.distribution import ExtrapolationRange
from stable_nalu.statistics.thresholds import ArithmeticTask, closed_form
from tests.figure.drawing import exported


def test_errors_are_divided_by_thresholds_and_counted(tmp_path):
    limit = closed_form(ArithmeticTask("mul", ExtrapolationRange(1, 2), 10, steps=100))
    rows = [
        {"name": f"r{k}", "step": step, "operation": "mul"}
        | {"metric.test.extrapolation": e * limit * worse, "metric.valid.interpolation": e * worse}
        for k, e in enumerate((0.1, 10.0, math.inf))
        for step, worse in ((4000, 1), (5000, 100))
    ]
    (product,) = exported("mclstm/recurrent", tmp_path, {"mclstm-recurrent/mc-lstm": rows})
    table = product.side["mclstm-recurrent_plot_data"].set_index("group")
    assert table.loc["×", ["solved", "n", "finite"]].tolist() == [1, 3, 2]
    assert table.loc["×", "mean"] == pytest.approx(1)
    assert table.loc["×", "lower"] * table.loc["×", "upper"] == pytest.approx(1)
    (note,) = {text.get_text() for text in product.figure.texts if "Solved" in text.get_text()}
    assert "1 of 3" in " ".join(note.split())


def test_the_lowest_mean_of_each_test_is_named(tmp_path):
    tables = {
        f"mclstm-addition/{name}": [
            {"name": f"r{seed}", "step": 390}
            | {f"metric.test.extrapolation.{test}": error * (1 + seed) for test in TESTS}
            for seed in range(2)
        ]
        for name, error in (("lstm", 1e-2), ("nau", 1e-3))
    }
    (product,) = exported("mclstm/addition", tmp_path, tables)
    table = product.side["mclstm-addition_plot_data"].set_index(["model", "group"])
    assert table.loc[("NAU", "length"), "mean"] == pytest.approx(math.sqrt(2) * 1e-3)
    (note,) = {t.get_text() for t in product.figure.texts if "Lowest" in t.get_text()}
    assert " ".join(note.split()).count("NAU") == len(TESTS)
