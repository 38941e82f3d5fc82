"""Losses over iterations: quartiles, the share of seeds that arrive, published points."""

import numpy as np
import pandas as pd
import pytest

from stable_nalu.figure.entries import all_entries
from stable_nalu.figure.entry import Context
from stable_nalu.figure.source import Source

COLUMN, LOSS = "loss.train.mse", "loss.train.half-sum-squares"
LOSSES = {
    "a": (1e6, 1.0, 1e-4),
    "b": (1e6, 2.0, 5e-4),
    "c": (1e6, 30.0, 20.0),
    "d": (1e6, np.nan, np.nan),
}
"""Run -> its losses at steps 0, 1000 and 2000; the last one diverged."""


@pytest.fixture
def drawn(tmp_path):
    """Figure and table of four runs on 100 rows."""
    table = pd.DataFrame(
        {"name": name, "step": step, "train.size": 100, COLUMN: loss / 50, LOSS: loss}
        for name, losses in LOSSES.items()
        for step, loss in zip((0, 1000, 2000), losses, strict=True)
    )
    (tmp_path / "notes-addition").mkdir()
    table.dropna().to_csv(tmp_path / "notes-addition" / "nalu.csv", index=False)
    entry = all_entries()["notes-addition"]
    context = Context(entry.key, entry.series, Source(tmp_path, entry.folders))
    product = entry.parts[0].render(context)
    return product.figure, product.side["notes-addition_plot_data"]


def test_quartiles_are_of_errors_and_keep_diverged_runs(drawn):
    _, side = drawn
    assert side["step"].tolist() == [0, 1000, 2000]
    assert side["runs"].tolist() == [4, 3, 3]
    assert side["quartile.0.5"].tolist() == pytest.approx([2e4, 0.32, 0.200005])


def test_the_figure_tells_how_many_seeds_arrive(drawn):
    figure, _ = drawn
    text = " ".join(t.get_text() for t in figure.texts).replace("\n", " ")
    assert "4 seeds (thin) on 100 rows" in text
    assert "2 of 4 seeds end below it" in text
    assert "the one run shown, on 10,000 rows, stated in the notes" in text


def test_published_errors_are_marked(drawn):
    figure, _ = drawn
    (rings,) = [line for line in figure.axes[0].lines if line.get_marker() == "o"]
    points = dict(zip(*map(list, rings.get_data()), strict=True))
    assert points[0] == pytest.approx(2525.826)
    assert points[9000] == pytest.approx(2.238e-3, rel=1e-3)
    assert len(points) == 9
