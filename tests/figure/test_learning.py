"""Errors over epochs: what the curves and the points at the end are of."""

import pandas as pd
import pytest

from stable_nalu.errors import UsageError
from stable_nalu.figure.entry import Context
from stable_nalu.figure.kinds import Learning
from stable_nalu.figure.source import Source
from stable_nalu.figure.style import drawing
from stable_nalu.paper.drawing import Series

PART = Learning(
    "{key}",
    (("train", "Training rows"), ("test", "Test rows")),
    (("test.add", "sums"), ("test.mul", "products")),
    "By operation",
)


def context(folder, *names):
    series = tuple(Series((name,), name.upper()) for name in names)
    return Context("mine", series, Source(folder))


def write(folder, name, scale=1.0):
    """Five runs of errors 1 to 5 times ten at the start and once at the end; two have no sums."""
    rows = [
        {
            "name": f"run{k}",
            "step": step,
            "train": scale * k * size,
            "test": 2 * scale * k * size,
            "test.add": None if k > 3 else scale * k * size,
            "test.mul": float("inf") if k == 5 else scale * k * size,
        }
        for k in range(1, 6)
        for step, size in ((20, 1), (0, 10))
    ]
    pd.DataFrame(rows).to_csv(folder / f"{name}.csv", index=False)


def test_curves_are_quartiles_of_runs_and_points_their_ends(tmp_path):
    write(tmp_path, "one")
    write(tmp_path, "two", scale=100)
    with drawing():
        figure, side = PART.drawn(context(tmp_path, "one", "two"))
    table = side["{key}_plot_data"].set_index(["model", "column"])
    curve = table.loc[("TWO", "test")].set_index("step")
    assert curve.loc[0, ["lower", "median", "upper"]].tolist() == [4000, 6000, 8000]
    assert curve.loc[20, ["lower", "median", "upper"]].tolist() == [400, 600, 800]
    ends = table.loc["ONE"].loc[["test.add", "test.mul"]]
    assert ends["median"].tolist() == [2, 3]
    assert ends["runs"].tolist() == [3, 5]
    assert [axes.get_title() for axes in figure.axes] == [
        "Training rows",
        "Test rows",
        "By operation",
    ]
    assert {axes.get_yscale() for axes in figure.axes} == {"log"}
    assert [text.get_text() for text in figure.axes[2].get_xticklabels()] == ["sums", "products"]
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == ["ONE (n = 5)", "TWO (n = 5)"]


def test_a_model_without_runs_is_named(tmp_path):
    write(tmp_path, "one")
    asked = context(tmp_path, "one", "two")
    with drawing():
        figure, _ = PART.drawn(asked)
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == ["ONE (n = 5)", "TWO (no data)"]
    with pytest.raises(UsageError, match="nothing to draw"), drawing():
        PART.drawn(context(tmp_path, "three"))
