"""Scores in a table: medians over the last rows, overflows among them."""

import math

import pandas as pd
import pytest

from stable_nalu.figure.tables import score_text, summed_up
from stable_nalu.paper.nalu import TABLE_1
from tests.figure.drawing import products


def exported(scores):
    """An exported table: an early row and the last one of every run, of one operation."""
    rows = []
    for seed, score in enumerate(scores):
        for step, value in ((0, 100.0), (1000, score)):
            rows.append(
                {
                    "name": f"run{seed}",
                    "step": step,
                    "operation": "mul",
                    "score.interpolation": value / 10,
                    "score.extrapolation": value,
                }
            )
    return pd.DataFrame(rows)


def test_cells_by_hand():
    cells = summed_up("Relu6", exported([0.5, 3.0, math.nan, math.inf, 8.0]))
    assert len(cells) == 2 * len(TABLE_1)
    inside, beyond = (cell for cell in cells if cell["operation"] == "mul")
    assert (beyond["median"], beyond["best"], beyond["below"], beyond["runs"]) == (8.0, 0.5, 1, 5)
    assert (inside["median"], inside["best"], inside["below"]) == (0.8, 0.05, 3)
    other = next(cell for cell in cells if cell["operation"] == "add")
    assert other["runs"] == 0
    assert math.isnan(other["median"])


@pytest.mark.parametrize(
    ("score", "text"),
    [
        (0.0, "0"),
        (2e-9, "< 0.001"),
        (0.0042, "0.0042"),
        (39.12, "39"),
        (99.9, "100"),
        (863.5, "864"),
        (1e15, "> 999"),
        (math.inf, "> 999"),
        (math.nan, "--"),
    ],
)
def test_numbers(score, text):
    assert score_text(score) == text


def test_the_table_and_its_picture(tmp_path):
    folder = tmp_path / "nalu-table1-static"
    folder.mkdir()
    for unit in ("relu6", "nac", "nalu"):
        exported([0.5, 3.0, 2000.0]).to_csv(folder / f"{unit}.csv", index=False)
    (product,), source = products("nalu/table1-static", tmp_path, make=False)
    assert product.figure is not None
    shown = [text.get_text() for text in product.figure.axes[0].texts]
    assert shown.count("3") == 3
    assert "[0.5]  1/3" in shown
    assert not [text for text in shown if "rec." in text]
    assert product.text is not None
    assert "$3$ [$0.5$]" in product.text
    assert any("None" in warning for warning in source.warnings)
    assert len(product.side["nalu-table1-static_scores"]) == 4 * len(TABLE_1) * 2
