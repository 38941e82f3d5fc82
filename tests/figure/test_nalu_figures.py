"""Figures of the NALU paper and of two articles, against runs whose numbers are known."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from stable_nalu.base.errors import UsageError
from stable_nalu.dataset.images import load_subset
from stable_nalu.dataset.programs import evaluated, shown, words
from stable_nalu.figure.entry import Source
from stable_nalu.network.gridworld import CELLS
from stable_nalu.paper.figures import find
from stable_nalu.paper.nalu import TABLE_1
from stable_nalu.paper.nalu_answers import DIGITS
from stable_nalu.paper.nalu_tables import score_text, summed_up
from stable_nalu.task.description import TEST_SEED
from stable_nalu.task.mnist_counting import fixed_places
from tests.digit_images import MNIST, needs_mnist
from tests.figure.drawing import (
    exported,
    legend_texts,
    made_of,
    products,
    texts,
    tick_texts,
    titles,
)


def scored(scores):
    """An early row and the last one of every run, of one operation."""
    for seed, score in enumerate(scores):
        for step, value in ((0, 100.0), (1000, score)):
            row = {"name": f"run{seed}", "step": step, "operation": "mul"}
            yield row | {"score.interpolation": value / 10, "score.extrapolation": value}


def test_scores_are_medians_over_the_last_rows_overflows_among_them():
    cells = summed_up("Relu6", pd.DataFrame(scored([0.5, 3.0, math.nan, math.inf, 8.0])))
    assert len(cells) == 2 * len(TABLE_1)
    inside, beyond = (cell for cell in cells if cell["operation"] == "mul")
    assert (beyond["median"], beyond["best"], beyond["below"], beyond["runs"]) == (8.0, 0.5, 1, 5)
    assert (inside["median"], inside["best"], inside["below"]) == (0.8, 0.05, 3)
    other = next(cell for cell in cells if cell["operation"] == "add")
    assert other["runs"] == 0
    assert math.isnan(other["median"])


@pytest.mark.parametrize(
    ("score", "text"),
    [(0.0, "0"), (2e-9, "< 0.001"), (0.0042, "0.0042"), (39.12, "39"), (99.9, "100")]
    + [(863.5, "864"), (1e15, "> 999"), (math.inf, "> 999"), (math.nan, "--")],
)
def test_a_score_as_text(score, text):
    assert score_text(score) == text


def test_the_table_of_scores_and_its_picture(tmp_path):
    units = ("relu6", "nac", "nalu")
    for unit in units:
        path = tmp_path / "nalu-table1-static" / f"{unit}.csv"
        path.parent.mkdir(exist_ok=True)
        pd.DataFrame(scored([0.5, 3.0, 2000.0])).to_csv(path, index=False)
    (product,), source = products("nalu/table1-static", tmp_path, make=False)
    told = [text.get_text() for text in product.figure.axes[0].texts]
    assert told.count("3") == 3
    assert "[0.5]  1/3" in told
    assert "$3$ [$0.5$]" in product.text
    assert any("None" in warning for warning in source.warnings)
    assert len(product.side["nalu-table1-static_scores"]) == 4 * len(TABLE_1) * 2


ERRORS = {10: (0.1, 0.2, 0.4), 100: (1.0, 2.0, np.inf), 1000: (50.0, np.nan, np.inf)}
"""Length -> errors of three seeds; two diverge or overflow on long sequences."""
SHOWN = [6, 9, 9, 8, 9, 9, 9, 0, 1, 1]


def counted(seed, loss):
    """What a run logged at its start and its end: its counts of digits are true, but for a 9."""
    told = np.cumsum(np.eye(10)[SHOWN], 0)
    told[4:, 9] -= 0.7
    common = {"name": f"nac_s{seed}_{loss}", "seed": seed, "sequence.loss": loss}
    common |= {"interpolation.length": 10}
    yield common | {"step": 0} | {f"metric.test.extrapolation.{n}.mae": 99 for n in ERRORS}
    last = {f"metric.test.extrapolation.{n}.mae": own[seed] for n, own in ERRORS.items()}
    for step, digit in enumerate(SHOWN):
        last[f"metric.test.shown.{step + 1}.digit"] = digit
        last |= {f"metric.test.shown.{step + 1}.{k}": told[step, k] for k in range(10)}
    yield common | {"step": 5} | last


@pytest.fixture(scope="module")
def counts(tmp_path_factory):
    """Both drawings of runs of a NAC alone, trained on the last step and on all."""
    rows = [row for loss in ("last", "all") for seed in range(3) for row in counted(seed, loss)]
    folder = tmp_path_factory.mktemp("exports")
    return exported("nalu/table2-count", folder, {"nalu-table2-count/nac": rows})


def test_medians_and_ranges_of_a_panel_for_each_loss(counts):
    side = counts[0].side["nalu-table2-count_plot_data"].set_index(["model", "loss", "length"])
    for loss in ("last", "all"):
        ten, thousand = side.loc[("NAC", loss, 10)], side.loc[("NAC", loss, 1000)]
        assert (ten["lowest"], ten["median"], ten["highest"]) == (0.1, 0.2, 0.4)
        assert (thousand["runs"], thousand["lowest"], thousand["median"]) == (3, 50, np.inf)
    assert "LSTM" not in side.index.get_level_values("model")
    figure = counts[0].figure
    assert titles(figure) == ["Trained on the last step", "Trained on every step"]
    for axes in figure.axes:
        assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
        lines = [line for line in axes.lines if len(line.get_xdata()) == 2 and line.get_marker()]
        assert (0.2, 2.0) in {tuple(line.get_ydata()) for line in lines}
    assert "GRU (no data)" in legend_texts(figure)
    assert "Median and range of 3 seeds" in texts(figure)


def test_counts_that_are_wrong_stand_out(counts):
    above, below = counts[1].figure.axes
    assert above.get_title() == "NAC"
    assert len(above.images) == 10
    found = {text.get_position(): text for text in below.texts}
    assert found[(9, 1)].get_text() == "2.0"
    assert found[(9, 9)].get_text() == "4.3"
    assert found[(3, 9)].get_color() == "black"
    assert found[(4, 9)].get_color() != "black"
    # Where a digit is truly absent, nothing is written.
    assert (9, 5) not in found


@needs_mnist
def test_the_picture_shows_the_images_that_runs_are_shown():
    from PIL import Image

    corpus = load_subset("mnist", "mnist", "test", MNIST)
    places = fixed_places(len(corpus), 10, TEST_SEED)[0]
    assert corpus.labels[places].tolist() == SHOWN
    with Image.open(DIGITS) as image:
        strip = np.asarray(image)
    assert np.array_equal(strip, np.concatenate(list(corpus.images[places]), axis=1))


VALID = {0: (50.0, 30.0, 40.0), 1: (60.0, 20.0, None)}
"""Seed -> errors of validation at steps 0, 50 and 100; the second one diverged."""
NUMBERS = (426, 190, 207, 903)


def test_readings_are_those_of_the_best_epoch_and_answers_stand_over_the_words(tmp_path):
    rows = []
    for seed, errors in VALID.items():
        for step, valid in zip((0, 50, 100), errors, strict=True):
            row = {"name": f"run{seed}", "step": step, "seed": seed, "metric.valid.mae": valid}
            row |= {"metric.train.mae": step + seed, "metric.test.mae": 2 * step + seed}
            for place, number in enumerate(NUMBERS):
                row[f"metric.trace.{place}.number"] = number
                row |= {f"metric.trace.{place}.{k}": step + k for k in range(1, 6)}
            rows.append(row)
    table, traces = exported("nalu/table3", tmp_path, {"nalu-table3/nalu": rows})
    cells = table.side["nalu-table3_errors"].set_index(["model", "split"])
    own = cells.loc["LSTM + NALU"]
    assert own["median"].to_dict() == {"train": 50.5, "valid": 25.0, "test": 100.5}
    assert own["best"].to_dict() == {"train": 50, "valid": 20, "test": 100}
    assert cells.loc["LSTM"]["runs"].tolist() == [0, 0, 0]
    assert "LSTM + NALU & 50.5 [50] & 25 [20] & 100 [100] " in table.text
    assert titles(traces.figure) == list(map(str, NUMBERS))
    ticks = [tick_texts(axes.get_xticklabels()) for axes in traces.figure.axes]
    assert ticks[0] == ["four", "hundred", "and", "twenty", "six"]
    assert ticks[1] == ["one", "hundred", "and", "ninety"]
    side = traces.side["nalu-table3_trace_plot_data"]
    assert side.loc[side["number"] == 190, "value"].tolist() == [51, 52, 53, 54]
    entry = find("nalu/table3")
    alone, _ = made_of(replace(entry, series=entry.series[2:]), Source(tmp_path))
    assert alone.side["nalu-table3_errors"]["model"].unique().tolist() == ["LSTM + NALU"]


ACCURACY = "metric.test.acc"


def test_errors_by_last_layer(tmp_path):
    """Two last layers of which there are runs, six of which there are none."""
    tables = {
        f"nalu-table4/{key}": [
            {"name": f"run{seed}", "step": step, "seed": seed, ACCURACY: value}
            for seed, accuracy in enumerate(accuracies)
            for step, value in ((500, None), (1500, accuracy))
        ]
        for key, accuracies in (("linear-b", (0.6, 0.7, 0.8)), ("nac", (0.9,)))
    }
    (product,) = exported("nalu-table4", tmp_path, tables)
    bars, cells = product.figure.axes
    assert {round(bar.get_height(), 6) for bar in bars.patches} == {30.0, 10.0, 0.0}
    side = product.side["nalu-table4_plot_data"]
    assert side["error"].tolist() == pytest.approx([40, 30, 20, 10])
    assert set(side["step"]) == {1500}
    told = [text.get_text() for text in cells.texts]
    assert told[2:4] == ["W x + b", "70.0 [60.0, 80.0]"]
    assert told[-4:] == ["NAC + b", "no data", "NAC", "90.0 [90.0, 90.0]"]
    # Nothing that is only recalled is drawn.
    assert [text.get_text() for text in bars.texts] == []
    assert "after 1,500 updates" in texts(product.figure)
    assert "W x + b & 70.0 [60.0, 80.0] \\\\" in product.text


RANGES = ((0, 100), (100, 1000), (1000, 10_000))


def programmed(shares, kind):
    """Runs of these shares of digits at 2 digits, half as many at 3 and a quarter at 4."""
    programs = evaluated(kind, {"addition": 1, "programs": 2}[kind], RANGES[0], RANGES[1:])
    for seed, share in enumerate(shares):
        for step in (0, 1000):
            row = {"name": f"run{seed}", "step": step, "seed": seed, "program": kind}
            row |= {"nesting": None, "train.range": "0 100"}
            row["test.ranges"] = "[100, 1000] [1000, 10000]"
            columns = ("metric.valid", "metric.test.100-1000", "metric.test.1000-10000")
            for size, column in zip((1, 2, 4), columns, strict=True):
                row[f"{column}.digits"] = share / size if step else 0.0
            for (low, high), table in zip(RANGES, programs, strict=True):
                for at in range(table.lengths[shown(table)]):
                    row[f"metric.trace.{low}-{high}.{at}"] = 10.0 * at + seed
            yield row


@pytest.mark.parametrize("kind", ["addition", "programs"])
def test_shares_of_digits_and_answers_above_the_words_of_a_program(kind, tmp_path):
    key = f"nalu-fig4-{kind}"
    tables = {
        f"{key}/lstm": programmed([0.4, 0.8], kind),
        f"{key}/nac": programmed([1.0, float("nan")], kind),
    }
    bars, traces = exported(key, tmp_path, tables)
    table = bars.side[f"{key}_plot_data"].set_index(["model", "range"])
    assert table.loc[("LSTM", "0-100"), "mean"] == pytest.approx(0.6)
    assert table.loc[("LSTM", "0-100"), "deviation"] == pytest.approx(0.4 / 2**0.5)
    # A run that is not a number has nothing right.
    assert table.loc[("NAC", "100-1000"), "mean"] == pytest.approx(0.25)
    (axes,) = bars.figure.axes
    drawn = [patch.get_height() for container in axes.containers[1::2] for patch in container]
    assert drawn == pytest.approx([0.6, 0.3, 0.15, 0.5, 0.25, 0.125])
    ticks = ["2 digits\n(as in training)", "3 digits", "4 digits"]
    assert tick_texts(axes.get_xticklabels()) == ticks
    assert legend_texts(bars.figure) == ["LSTM", "NAC"]
    assert "Mean of 2 seeds, plus and minus one standard deviation." in texts(bars.figure)
    programs = evaluated(kind, {"addition": 1, "programs": 2}[kind], RANGES[0], RANGES[1:])
    for axes, table in zip(traces.figure.axes, programs, strict=True):
        row = shown(table)
        text = words(table, row)
        assert tick_texts(axes.get_xticklabels()) == text
        result, answers, _ = (np.asarray(line.get_ydata()) for line in axes.lines)
        assert set(result) == {table.results[row]}
        assert axes.get_title().endswith(f"digits, result {table.results[row]}")
        assert answers.tolist() == [10.0 * at for at in range(len(text))]
        low, high = axes.get_ylim()
        assert low < min(0, table.results[row]) <= max(0, table.results[row]) < high
    told = traces.side[f"{key}_program_plot_data"]
    assert len(told) == 2 * sum(int(table.lengths[shown(table)]) for table in programs)


REWARDS = {12: (9.0, 9.5, 10.0), 20: (0.0, -1.0, 4.0)}
FRAMES = (18, 43, 68, 93, 218, 343, 468)
"""Of an episode from row 0, column 0 down and right to the square in row 3, column 3."""


def played(last):
    """A logged row in the middle of training and the last one, of three seeds."""
    for seed in range(3):
        for step, part in ((0, 0.5), (3000, 1.0)):
            row = {"name": f"run{seed}", "step": step, "seed": seed, "max.reward": 10}
            row |= {"stimulus.range": "[5, 12]"}
            for stimulus, rewards in REWARDS.items():
                tag = f"metric.test.stimulus.{stimulus}"
                row |= {f"{tag}.reward": part * rewards[seed], f"{tag}.arrival": stimulus + seed}
            for place, frame in enumerate(last):
                row[f"metric.test.episode.{place}"] = frame
            yield row


def test_rewards_and_an_episode_of_players(tmp_path):
    """Of an LSTM that never arrives and of a NAC that does."""
    tables = {
        "nalu-fig5/lstm": played([18] * 29),
        "nalu-fig5/nac": played([*FRAMES, *[np.nan] * 22]),
    }
    means, episode = exported("nalu/fig5", tmp_path, tables)
    side = means.side["nalu-fig5_plot_data"]
    rewards = side.loc[(side["model"] == "LSTM") & (side["measure"] == "reward")]
    assert rewards["stimulus"].tolist() == [12, 20]
    assert rewards["mean"].tolist() == pytest.approx([9.5, 1.0])
    assert rewards["runs"].tolist() == [3, 3]
    arrivals = side.loc[(side["model"] == "LSTM") & (side["measure"] == "arrival")]
    assert arrivals["mean"].tolist() == pytest.approx([13.0, 21.0])
    assert (side["lower"] < side["mean"]).all()
    assert rewards["upper"].max() <= 10
    for told in ("Mean of 3 seeds", "Reward shape assumed.", "T = 13 and 19"):
        assert told in texts(means.figure)
    side = episode.side["nalu-fig5_episode_plot_data"]
    nac = side.loc[side["model"] == "NAC, recurrent"]
    assert nac["step"].tolist() == list(range(len(FRAMES)))
    assert (nac["player"] * CELLS + nac["target"]).tolist() == list(FRAMES)
    assert nac["player"].tolist()[-1] == nac["target"].tolist()[-1] == 18
    axes = episode.figure.axes
    columns = len(axes) // 2
    assert columns == 16 + 4 + 1
    assert len([one for one in axes if one.images]) == columns + len(FRAMES)
    assert [one.get_xlabel() for one in axes].count("arrived") == 1
    assert any("… never" in text.get_text() for one in axes for text in one.texts)


def learned(scale=1.0):
    """Five runs of errors 1 to 5 times ten at the start and once at the end; two have no sums."""
    return [
        {
            "name": f"run{k}",
            "step": step,
            "metric.train.mse": scale * k * size,
            "metric.test.mse": 2 * scale * k * size,
            "metric.test.mse.add": None if k > 3 else scale * k * size,
            "metric.test.mse.sub": scale * k * size,
            "metric.test.mse.mul": float("inf") if k == 5 else scale * k * size,
        }
        for k in range(1, 6)
        for step, size in ((20, 1), (0, 10))
    ]


def test_curves_are_quartiles_of_runs_and_points_their_ends(tmp_path):
    tables = {"article-mystery/vanilla": learned(), "article-mystery/nac": learned(100)}
    (product,) = exported("article/mystery", tmp_path, tables)
    side = product.side["article-mystery_plot_data"].set_index(["model", "column"])
    curve = side.loc[("NAC", "metric.test.mse")].set_index("step")
    assert curve.loc[0, ["lower", "median", "upper"]].tolist() == [4000, 6000, 8000]
    assert curve.loc[20, ["lower", "median", "upper"]].tolist() == [400, 600, 800]
    ends = side.loc["vanilla"].loc[["metric.test.mse.add", "metric.test.mse.mul"]]
    assert ends["median"].tolist() == [2, 3]
    assert ends["runs"].tolist() == [3, 5]
    figure = product.figure
    assert titles(figure) == ["Training rows", "Test rows", "By operation"]
    assert {axes.get_yscale() for axes in figure.axes} == {"log"}
    assert tick_texts(figure.axes[2].get_xticklabels()) == ["sums", "differences", "products"]
    named = {"vanilla (n = 5)", "NAC (n = 5)", "NALU (article) (no data)"}
    assert named <= set(legend_texts(figure))


COLUMN, LOSS = "loss.train.mse", "loss.train.half-sum-squares"
LOSSES = {
    "a": (1e6, 1.0, 1e-4),
    "b": (1e6, 2.0, 5e-4),
    "c": (1e6, 30.0, 20.0),
    "d": (1e6, np.nan, np.nan),
}
"""Run -> its losses at steps 0, 1000 and 2000, on 100 rows; the last one diverged."""


def test_losses_are_quartiles_beside_published_points(tmp_path):
    table = pd.DataFrame(
        {"name": name, "step": step, "train.size": 100, COLUMN: loss / 50, LOSS: loss}
        for name, losses in LOSSES.items()
        for step, loss in zip((0, 1000, 2000), losses, strict=True)
    )
    (product,) = exported("notes/addition", tmp_path, {"notes-addition/nalu": table.dropna()})
    side = product.side["notes-addition_plot_data"]
    assert side["step"].tolist() == [0, 1000, 2000]
    assert side["runs"].tolist() == [4, 3, 3]
    assert side["quartile.0.5"].tolist() == pytest.approx([2e4, 0.32, 0.200005])
    for told in (
        "4 seeds (thin) on 100 rows",
        "2 of 4 seeds end below it",
        "the one run shown, on 10,000 rows, stated in the notes",
    ):
        assert told in texts(product.figure)
    (rings,) = [line for line in product.figure.axes[0].lines if line.get_marker() == "o"]
    points = dict(zip(*map(list, rings.get_data()), strict=True))
    assert points[0] == pytest.approx(2525.826)
    assert points[9000] == pytest.approx(2.238e-3, rel=1e-3)
    assert len(points) == 9


@pytest.mark.parametrize(
    "key", ["nalu/fig4-addition", "article/mystery", "notes/addition", "nalu/fig1"]
)
def test_without_any_file_there_is_nothing_to_draw(key, tmp_path):
    with pytest.raises(UsageError, match="nothing to draw"):
        made_of(find(key), Source(tmp_path))
