"""The three panels and tables of the same, against runs whose outcome is known."""

import math

import numpy as np
import pandas as pd
import pytest

from stable_nalu.base.errors import UsageError
from stable_nalu.figure.panels import Table, best_cells, latex
from stable_nalu.figure.runs import Runs
from stable_nalu.statistics.intervals import wilson
from tests.figure.drawing import (
    FAILED,
    by_gid,
    exported,
    legend_texts,
    means,
    metrics,
    own,
    products,
    run_name,
    solved_at,
    texts,
    tick_texts,
)


def three_of_four(path, model="nru"):
    """Four runs on U[1,2], three of them solved; two on U[10,20], none of them."""
    runs = {run_name(model, seed=seed): solved_at(1000 * (seed % 2 + 1)) for seed in range(3)}
    runs[run_name(model, seed=3)] = FAILED
    for seed in range(2):
        runs[run_name(model, "10-20", "20-40", seed)] = FAILED
    metrics(path, runs)


@pytest.fixture(scope="module")
def product(tmp_path_factory):
    """The panels of these runs."""
    folder = tmp_path_factory.mktemp("exports")
    three_of_four(folder / "a.csv")
    return own(folder, ["a.csv"], ["NMU"])[0]


def test_points_and_intervals(product):
    success, below, solved, _, sparsity, _ = product.figure.axes
    assert means(success, "NMU") == {0.0: 0.75, 1.0: 0.0}
    expected = [wilson(3, 4), wilson(0, 2)]
    segments = by_gid(success, "NMU interval")[0].get_segments()
    np.testing.assert_allclose([s[0][1] for s in segments], [e.lower for e in expected])
    np.testing.assert_allclose([s[1][1] for s in segments], [e.upper for e in expected])
    # Steps 1000, 2000, 1000; equal sparsity errors have a mean and an interval of no width.
    assert 1000 < means(solved, "NMU")[0.0] < 2000
    assert means(sparsity, "NMU") == {0.0: pytest.approx(0.01)}
    assert tick_texts(below.get_xticklabels()) == ["U[1,2)", "U[10,20)"]
    assert success.get_ylim()[0] <= 0
    assert success.get_ylim()[1] >= 1


def test_failed_and_solved_runs_are_counted_below(product):
    failed, solved = (
        [text.get_text() for text in product.figure.axes[place].texts] for place in (1, 3)
    )
    assert failed == ["1", "2", "failed"]
    assert solved == ["3", "0", "solved"]
    assert "n = 2–4 runs per point" in texts(product.figure)


def test_missing_models_and_ranges_are_drawn_and_named(tmp_path):
    three_of_four(tmp_path / "sltr-in10/nru.csv")
    made, source = products("nips-in10-nru-separate-mag-sign", tmp_path, make=False)
    assert legend_texts(made[0].figure)[1] == "separate (no data)"
    assert any("separate" in text and "nru-sepSign.csv" in text for text in source.warnings)
    assert any("together" in text and "U[-20,-10]" in text for text in source.warnings)
    below = [text.get_text() for text in made[0].figure.axes[1].texts]
    assert below.count("–") == 9 + 7
    crosses = by_gid(made[0].figure.axes[0], "missing")
    assert [len(line.get_xdata()) for line in crosses] == [7]


def test_no_solved_run(tmp_path):
    metrics(tmp_path / "a.csv", {run_name(seed=seed): FAILED for seed in range(3)})
    product, _ = own(tmp_path, ["a.csv"])
    success, _, solved, *_ = product.figure.axes
    assert means(success, "NRU") == {0.0: 0.0}
    assert "no run solved" in [text.get_text() for text in solved.texts]
    product, _ = own(tmp_path, ["a.csv"], ["x"], threshold=6.0)
    assert means(product.figure.axes[0], "x") == {0.0: 1.0}


def test_two_files_with_the_same_runs_stay_apart(tmp_path):
    three_of_four(tmp_path / "a.csv")
    metrics(tmp_path / "b.csv", {run_name(seed=seed): FAILED for seed in range(4)})
    product, _ = own(tmp_path, ["a.csv", "b.csv"], ["a", "b"])
    success = product.figure.axes[0]
    assert sorted(means(success, "a").values()) == [0.0, 0.75]
    assert list(means(success, "b").values()) == [0.0]
    figure = own(tmp_path, ["a.csv"], ["My layer"], "success")[0].figure
    assert [axes.get_title() for axes in figure.axes] == ["Success rate", ""]
    assert means(figure.axes[0], "My layer") == {0.0: 0.75, 1.0: 0.0}


def test_no_run_is_drawn_twice_or_hidden_by_another(tmp_path):
    """A run given twice narrows intervals; of two operations at one place one would be drawn."""
    three_of_four(tmp_path / "a.csv")
    with pytest.raises(UsageError, match="_s0_.* is there twice; .* label the files apart"):
        own(tmp_path, ["a.csv", "a.csv"])
    text = (tmp_path / "a.csv").read_text()
    (tmp_path / "b.csv").write_text(text + text.partition("\n")[2])
    with pytest.raises(UsageError, match="has step 0 twice"):
        own(tmp_path, ["b.csv"])
    both = {run_name(operation=operation): FAILED for operation in ("mul", "div")}
    metrics(tmp_path / "c.csv", both)
    with pytest.raises(UsageError, match=r"several operations are there at .* U\[1,2\]; draw each"):
        own(tmp_path, ["c.csv"])


def test_a_sparsity_error_of_exactly_zero_is_drawn_as_zero(tmp_path):
    runs = {run_name(seed=seed): solved_at(1000, sparsity=0.0) for seed in range(3)}
    metrics(tmp_path / "a.csv", runs)
    sparsity = own(tmp_path, ["a.csv"], ["x"])[0].figure.axes[4]
    assert means(sparsity, "x") == {0.0: 0.0}
    assert [tick.get_text() for tick in sparsity.get_yticklabels()] == ["0"]
    # A layer without one is said to have none.
    metrics(tmp_path / "a.csv", {run_name(): solved_at(1000, sparsity="")})
    panels = own(tmp_path, ["a.csv"], ["x"])[0].figure.axes
    assert [text.get_text() for text in panels[4].texts] == ["not defined"]
    assert not panels[2].texts


def summary(**changes):
    """A row of a table whose runs are solved, without intervals but that of the rate."""
    row = {"model": "NMU", "operation": "mul", "converged.at.median": 2_800_000.0}
    row |= {"success.rate.mean": 0.31, "success.rate.lower": 0.23, "success.rate.upper": 0.41}
    for measure, mean in (("converged.at", 2_800_000.0), ("sparse.error", math.nan)):
        row |= {f"{measure}.mean": mean, f"{measure}.lower": math.nan, f"{measure}.upper": math.nan}
    return row | changes


def test_best_values_are_bold_with_ties():
    worse = summary(model="NAU", **{"success.rate.mean": 0.1, "converged.at.mean": 5.0})
    rows = pd.DataFrame([summary(), summary(model="NALU"), worse])
    part = Table(Runs("operation"), "some-label", "Words.")
    best = best_cells(rows, part, (("success.rate.mean", "", ""), ("converged.at.mean", "", "")))
    assert best == {(0, "success.rate.mean"), (1, "success.rate.mean"), (2, "converged.at.mean")}


@pytest.mark.parametrize(("long", "environment"), [(False, "table"), (True, "longtable")])
def test_the_whole_table(long, environment):
    rows = pd.DataFrame([summary(), summary(model="NALU"), summary(operation="add")])
    text = latex(rows, Table(Runs("operation"), "some-label", "Words.", long=long))
    assert text.startswith(f"\\begin{{{environment}}}")
    assert text.count("\\multirow{2}{*}{$\\bm{\\times}$}") == 1
    assert text.count("\\\\*") == 1  # no page break inside an operation
    assert "{crllll}" in text
    assert "\\label{tab:some-label}" in text
    assert text.count("{") == text.count("}")


def test_shares_of_runs_below_a_limit(tmp_path):
    column = "metric.test.extrapolation"
    rows = [
        {"name": f"{depth}-{seed}", "step": step, "depth": depth, column: error if step else 9.0}
        for depth, errors in {1: [0.0, 1e-6, 1e-4, "nan"], 2: [1e-5, 1.0, "inf", ""]}.items()
        for seed, error in enumerate(errors)
        for step in (0, 10)
    ]
    (product,) = exported("depth/random", tmp_path, {"depth-random/nmu": rows})
    found = product.side["depth-random_plot_data"].set_index(["model", "depth"])
    known = found.loc["NAU, NMU"]
    assert known["solved"].tolist() == [2, 0]
    assert known["n"].tolist() == [4, 4]
    # Wilson's interval of 2 in 4, by its formula.
    z = 1.959964
    half = z * math.sqrt(0.25 / 4 + (z / 8) ** 2) / (1 + z * z / 4)
    assert known.loc[1, ["lower", "upper"]].tolist() == pytest.approx([0.5 - half, 0.5 + half])
    assert found.loc[("EML, its README", 3), "solved"] == 17
    (axes,) = product.figure.axes
    assert sorted(means(axes, "NAU, NMU").values()) == [0, 0.5]
