"""Errors by last layer: means over the last rows of runs."""

import pandas as pd
import pytest

from stable_nalu.figure.entries import find
from stable_nalu.figure.entry import Context
from stable_nalu.figure.source import Source

ACCURACY = "metric.test.acc"


@pytest.fixture
def product(tmp_path):
    """Two last layers of which there are runs, six of which there are none."""
    folder = tmp_path / "nalu-table4"
    folder.mkdir()
    for key, accuracies in (("linear-b", (0.6, 0.7, 0.8)), ("nac", (0.9,))):
        rows = [
            {"name": f"run{seed}", "step": step, "seed": seed, ACCURACY: value}
            for seed, accuracy in enumerate(accuracies)
            for step, value in ((500, None), (1500, accuracy))
        ]
        pd.DataFrame(rows).to_csv(folder / f"{key}.csv", index=False)
    entry = find("nalu-table4")
    (part,) = entry.parts
    return part.render(Context(entry.key, entry.series, Source(tmp_path, ())))


def test_bars_by_hand(product):
    bars, cells = product.figure.axes
    heights = {round(bar.get_height(), 6) for bar in bars.patches}
    assert heights == {30.0, 10.0, 0.0}
    side = product.side["nalu-table4_plot_data"]
    assert side["error"].tolist() == pytest.approx([40, 30, 20, 10])
    assert set(side["step"]) == {1500}
    told = [text.get_text() for text in cells.texts]
    assert told[2:4] == ["W x + b", "70.0 [60.0, 80.0]"]
    assert told[-4:] == ["NAC + b", "no data", "NAC", "90.0 [90.0, 90.0]"]


def test_nothing_that_is_only_recalled_is_drawn(product):
    bars, _ = product.figure.axes
    assert [text.get_text() for text in bars.texts] == []
    (note,) = [text.get_text() for text in product.figure.texts]
    assert "recalled" not in note
    assert "after 1,500 updates" in note
    assert "W x + b & 70.0 [60.0, 80.0] \\\\" in product.text
