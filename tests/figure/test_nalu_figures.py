"""Figures of the NALU paper and of two articles: their numbers follow from the stored rows."""

import math
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from stable_nalu.paper.index import EXPERIMENTS
from stable_nalu.paper.nalu import TABLE_1, score_text, summed_up
from stable_nalu.result.stored import DATA
from stable_nalu.task.program_evaluation import evaluated, shown, words
from tests.figure.drawing import legend_texts, products, texts, tick_texts, titles


@cache
def drawn(key):
    """The products of a figure, drawn from the stored rows of its runs."""
    return products(key, Path("nowhere"))[0]


def stored(key):
    """The stored rows, with the labels of models."""
    rows = pd.read_csv(DATA / f"{EXPERIMENTS[key].stem}.csv")
    return rows.assign(model=rows["model"].map({m.key: m.label for m in EXPERIMENTS[key].models}))


def assert_same(found, wanted):
    """Every number that is wanted is there."""
    assert len(wanted)
    found = found.to_dict()
    assert {k: found[k] for k in wanted.index} == pytest.approx(wanted.to_dict(), nan_ok=True)


def test_scores_are_medians_over_the_last_rows_overflows_among_them():
    rows = [
        {"name": f"run{seed}", "step": step, "operation": "mul", "score.extrapolation": value}
        | {"score.interpolation": value / 10}
        for seed, score in enumerate([0.5, 3.0, math.nan, math.inf, 8.0])
        for step, value in ((0, 100.0), (1000, score))
    ]
    cells = summed_up("Relu6", pd.DataFrame(rows))
    assert len(cells) == 2 * len(TABLE_1)
    inside, beyond = (cell for cell in cells if cell["operation"] == "mul")
    assert (beyond["median"], beyond["best"], beyond["below"], beyond["runs"]) == (8.0, 0.5, 1, 5)
    assert (inside["median"], inside["best"], inside["below"]) == (0.8, 0.05, 3)
    other = next(cell for cell in cells if cell["operation"] == "add")
    assert (other["runs"], math.isnan(other["median"])) == (0, True)


def test_the_table_of_scores_and_its_picture():
    (product,) = drawn("nalu/table1-static")
    side = product.side["nalu-table1-static_scores"].set_index(["operation", "model", "split"])
    runs = stored("nalu/table1-static").groupby(["operation", "model"])
    actual = [text.get_text() for text in product.figure.axes[0].texts]
    for split in ("interpolation", "extrapolation"):
        cells, scores = side.xs(split, level="split"), runs[f"score.{split}"]
        assert_same(cells["median"], scores.median())
        assert_same(cells["best"], scores.min())
        assert_same(cells["below"], scores.agg(lambda own: (own < 1).sum()))
        for cell in cells.to_dict("records"):
            median, best = score_text(cell["median"]), score_text(cell["best"])
            assert f"${median}$ [${best}$]" in product.text
            assert {median, f"[{best}]  {cell['below']}/10"} <= {*actual}


def test_medians_and_ranges_of_a_panel_for_each_loss():
    product, rows = drawn("nalu/table2-count")[0], stored("nalu/table2-count")
    side = product.side["nalu-table2-count_plot_data"].set_index(["length", "model", "loss"])
    side = side.sort_index()
    for length in (1, 10, 100, 1000):
        errors = rows[f"metric.test.extrapolation.{length}.mae"].fillna(np.inf)
        errors = errors.groupby([rows["model"], rows["sequence.loss"]])
        assert_same(side.loc[length]["median"], errors.median())
        assert_same(side.loc[length]["highest"], errors.max())
    assert titles(product.figure) == ["Trained on the last step", "Trained on every step"]
    for axes in product.figure.axes:
        assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert "Median and range of 3 seeds" in texts(product.figure)


RANGES = ((0, 100), (100, 1000), (1000, 10_000))


@pytest.mark.parametrize(("kind", "nesting"), [("addition", 1), ("programs", 2)])
def test_shares_of_digits_and_answers_above_the_words_of_a_program(kind, nesting):
    key = f"nalu-fig4-{kind}"
    (bars, traces), rows = drawn(key), stored(f"nalu/fig4-{kind}")
    side = bars.side[f"{key}_plot_data"].set_index(["range", "model"])
    columns = ("valid", "test.100-1000", "test.1000-10000")
    for (low, high), column in zip(RANGES, columns, strict=True):
        # A run that is not a number has nothing right.
        shares = rows[f"metric.{column}.digits"].fillna(0).groupby(rows["model"])
        assert_same(side.loc[f"{low}-{high}"]["mean"], shares.mean())
        assert_same(side.loc[f"{low}-{high}"]["deviation"], shares.std())
    ticks = ["2 digits\n(as in training)", "3 digits", "4 digits"]
    assert tick_texts(bars.figure.axes[0].get_xticklabels()) == ticks
    assert legend_texts(bars.figure) == ["LSTM", "UGRNN", "NAC", "NALU"]
    assert "Mean of 3 seeds, plus and minus one standard deviation." in texts(bars.figure)
    (row,) = rows.query("seed == 0 and model == 'LSTM'").to_dict("records")
    programs = evaluated(kind, nesting, RANGES[0], RANGES[1:])
    for axes, table, (low, high) in zip(traces.figure.axes, programs, RANGES, strict=True):
        text, right = words(table, shown(table)), table.results[shown(table)]
        assert tick_texts(axes.get_xticklabels()) == text
        assert axes.get_title().endswith(f"digits, result {right}")
        result, answers, *_ = (np.asarray(line.get_ydata()) for line in axes.lines)
        assert set(result) == {right}
        wanted = [row[f"metric.trace.{low}-{high}.{at}"] for at in range(len(text))]
        np.testing.assert_array_equal(answers, wanted)


def test_curves_are_quartiles_of_runs_and_points_their_ends():
    (product,), rows = drawn("article/mystery"), stored("article/mystery")
    side = product.side["article-mystery_plot_data"].set_index(["model", "column"])
    nac = rows.query("model == 'NAC'")
    curve = side.loc[("NAC", "metric.test.mse")].set_index("step")
    for step, column in ((0, "metric.test.mse@0"), (250, "metric.test.mse")):
        wanted = nac[column].quantile([0.25, 0.5, 0.75]).tolist()
        assert curve.loc[step, ["lower", "median", "upper"]].tolist() == pytest.approx(wanted)
    for operation in ("add", "sub", "mul"):
        own = nac[f"metric.test.mse.{operation}"].dropna()
        ((median, runs),) = side.loc[[("NAC", own.name)], ["median", "runs"]].to_numpy()
        assert (median, runs) == (pytest.approx(own.median()), len(own))
    figure = product.figure
    assert titles(figure) == ["Training rows", "Test rows", "By operation"]
    assert {axes.get_yscale() for axes in figure.axes} == {"log"}
    assert tick_texts(figure.axes[2].get_xticklabels()) == ["sums", "differences", "products"]
    assert {"vanilla (n = 50)", "NAC (n = 50)"} <= set(legend_texts(figure))


def test_losses_are_quartiles_beside_published_points():
    (product,), rows = drawn("notes/addition"), stored("notes/addition")
    side = product.side["notes-addition_plot_data"].set_index("step")
    for step, column in ((1000, "loss.train.mse@1000"), (50_000, "loss.train.mse")):
        assert side.loc[step, "quartile.0.5"] == pytest.approx(rows[column].median())
    arrived = (rows["loss.train.half-sum-squares"] < 1e-3).sum()
    for actual in (
        "100 seeds (thin) on 1,000 rows",
        f"{arrived} of 100 seeds end below it",
        "the one run shown, on 10,000 rows, stated in the notes",
    ):
        assert actual in texts(product.figure)
    (rings,) = [line for line in product.figure.axes[0].lines if line.get_marker() == "o"]
    points = dict(zip(*map(list, rings.get_data()), strict=True))
    assert (len(points), points[0]) == (9, pytest.approx(2525.826))
