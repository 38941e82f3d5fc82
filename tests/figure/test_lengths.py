"""Errors over the length of sequences, and the running counts of ten digits."""

import numpy as np
import pandas as pd
import pytest

from stable_nalu.dataset.images import load_subset
from stable_nalu.figure.answers import DIGITS
from stable_nalu.figure.entries import find
from stable_nalu.figure.entry import Context
from stable_nalu.figure.source import Source
from stable_nalu.task.digits import TEST_SEED
from stable_nalu.task.mnist_counting import fixed_places
from tests.digit_images import MNIST, needs_mnist
from tests.figure.drawing import legend_texts, texts

ERRORS = {10: (0.1, 0.2, 0.4), 100: (1.0, 2.0, np.inf), 1000: (50.0, np.nan, np.inf)}
"""Length -> errors of three seeds; two diverge or overflow on long sequences."""
SHOWN = [6, 9, 9, 8, 9, 9, 9, 0, 1, 1]


def rows(seed, loss):
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


@pytest.fixture
def drawn(tmp_path):
    """Both drawings of runs of a NAC alone, trained on the last step and on all."""
    table = pd.DataFrame(
        row for loss in ("last", "all") for seed in range(3) for row in rows(seed, loss)
    )
    folder = tmp_path / "nalu-table2-count"
    folder.mkdir()
    table.to_csv(folder / "nac.csv", index=False)
    entry = find("nalu-table2-count")
    context = Context(entry.key, entry.series, Source(tmp_path))
    return [part.render(context) for part in entry.parts]


def test_medians_and_ranges_are_of_last_rows(drawn):
    side = drawn[0].side["nalu-table2-count_plot_data"].set_index(["model", "loss", "length"])
    for loss in ("last", "all"):
        ten, thousand = side.loc[("NAC", loss, 10)], side.loc[("NAC", loss, 1000)]
        assert (ten["lowest"], ten["median"], ten["highest"]) == (0.1, 0.2, 0.4)
        assert (thousand["runs"], thousand["lowest"], thousand["median"]) == (3, 50, np.inf)
    assert "LSTM" not in side.index.get_level_values("model")


def test_a_panel_for_each_loss(drawn):
    figure = drawn[0].figure
    assert [axes.get_title() for axes in figure.axes] == [
        "Trained on the last step",
        "Trained on every step",
    ]
    for axes in figure.axes:
        assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
        lines = [line for line in axes.lines if len(line.get_xdata()) == 2 and line.get_marker()]
        ends = {tuple(line.get_ydata()) for line in lines}
        assert (0.2, 2.0) in ends
    assert "GRU (no data)" in legend_texts(figure)
    assert "Median and range of 3 seeds" in texts(figure)
    assert "recalled" not in texts(figure)


def test_counts_that_are_wrong_stand_out(drawn):
    figure = drawn[1].figure
    above, below = figure.axes
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
