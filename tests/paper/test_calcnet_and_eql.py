"""CalcNet's comparison of two units, and the choice of an EQL by two ranks."""

import pandas as pd
import pytest

from stable_nalu.figure.runs import Context
from stable_nalu.paper.calcnet import _median
from stable_nalu.paper.eql_2016 import chosen
from stable_nalu.paper.index import EXPERIMENTS, all_entries
from stable_nalu.result import stored

VALID, TEST = "metric.valid.interpolation", "metric.test.extrapolation"


def drawn(key, tables, tmp_path):
    """Draw the figure of an experiment from tables; return its points and its footnote."""
    for name, rows in tables.items():
        path = tmp_path / f"{key.replace('/', '-')}/{name}.csv"
        path.parent.mkdir(exist_ok=True)
        pd.DataFrame(rows).assign(name=[f"{name}_{k}" for k in range(len(rows))], step=9).to_csv(
            path
        )
    entry = all_entries()[key.replace("/", "-")]
    context = Context(entry, tmp_path, stem="figure")
    product = entry.parts[0].kind(context, **entry.parts[0].options)
    text = " ".join(t.get_text() for t in product.figure.texts)
    return product.side["figure_plot_data"], " ".join(text.split())


def test_each_unit_is_compared_at_its_better_rate(tmp_path):
    def runs(errors):
        return [
            {"equation": "calc-mul", "learning.rate": rate, "seed": seed, VALID: v, TEST: t}
            for rate, (v, tests) in errors.items()
            for seed, t in enumerate(tests)
        ]

    tables = {
        "nalu": runs({0.01: (2.0, [9.0, 9.0, 9.0]), 0.1: (1.0, [3.0, 5.0, 3.0])}),
        "gnalu": runs({0.01: (1.0, [4.0, 4.0, None]), 0.1: (2.0, [1.0, 1.0, 1.0])}),
    }
    points, note = drawn("calcnet/tuned", tables, tmp_path)
    assert "lower error: a b 1 of 3." in note
    assert "1 runs diverged" in note
    medians = points.set_index("model")["median"].to_dict()
    assert medians == {"NALU, 0.01": 9, "NALU, 0.1": 3, "G-NALU, 0.01": 4, "G-NALU, 0.1": 1}


def test_an_interval_of_a_median_is_of_order_statistics():
    middle, low, high = _median(pd.Series(range(1, 101)))
    assert (middle, low, high) == (50.5, 40, 61)
    assert _median(pd.Series([3.0, 1.0])) == (2.0, 1.0, 3.0)


def test_networks_are_chosen_by_the_norm_of_two_ranks():
    def network(seed, error, active):
        return {"equation": "F-1", "seed": seed, VALID: error, "metric.active": active}

    rows = pd.DataFrame(
        [
            *(network(0, *own) for own in ((1.0, 30), (2.0, 10), (3.0, 20))),
            *(network(1, *own) for own in ((1.0, 5), (None, 4), (2.0, 5))),
        ]
    )
    found = chosen(rows)
    assert found["metric.active"].tolist() == [10, 5]
    assert found[VALID].tolist() == [2, 1]
    alone = chosen(rows.drop(columns="metric.active"))
    assert alone[VALID].tolist() == [1, 1]


def test_runs_without_options_are_kept_once(tmp_path):
    own = {"model": "mlp", "equation": "cart", "layer.option": "", "regualizer.z": 0.0, "seed": 0}
    measures = {column: 0.5 for column in (VALID, TEST, "metric.test.inside", "metric.test.near")}
    row = {**own, "iterations": 20_000, **measures, "metric.active": None, "diverged": 0}
    for _ in range(2):
        kept = stored.add(EXPERIMENTS["eql/2016"], pd.DataFrame([row]), (), tmp_path)
    assert len(kept) == 1


def test_errors_around_the_cube_have_the_noise_of_targets(tmp_path):
    tests = {"metric.test.inside": 0.0, "metric.test.near": 0.03, TEST: 0.4}
    row = {"equation": "pendulum", "seed": 0, VALID: 0.01, "metric.active": 2, **tests}
    points, note = drawn("eql/2016", {"eql": [row], "mlp": [row | {TEST: 0.8}]}, tmp_path)
    found = points.loc[points["equation"] == "pendulum"].set_index(["model", "test"])["median"]
    assert found["EQL", "metric.test.inside"] == pytest.approx(0.01)
    assert found["EQL", "metric.test.near"] == pytest.approx(0.001**0.5)
    assert "Medians far away, EQL / MLP: pendulum 0.4 / 0.8." in note
