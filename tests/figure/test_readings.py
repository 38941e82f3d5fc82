"""Table 3: errors at the epoch of the lowest validation error; answers word by word."""

import pandas as pd
import pytest

from stable_nalu.figure.entries import find
from stable_nalu.figure.entry import Context
from stable_nalu.figure.source import Source
from tests.figure.drawing import texts

VALID = {0: (50.0, 30.0, 40.0), 1: (60.0, 20.0, None)}
"""Seed -> errors of validation at steps 0, 50 and 100; the second one diverged."""
NUMBERS = (426, 190, 207, 903)


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """Both drawings, of one model, and the folder of its exports."""
    rows = []
    for seed, errors in VALID.items():
        for step, valid in zip((0, 50, 100), errors, strict=True):
            row = {"name": f"run{seed}", "step": step, "seed": seed, "metric.valid.mae": valid}
            row |= {"metric.train.mae": step + seed, "metric.test.mae": 2 * step + seed}
            for place, number in enumerate(NUMBERS):
                row[f"metric.trace.{place}.number"] = number
                row |= {f"metric.trace.{place}.{k}": step + k for k in range(1, 6)}
            rows.append(row)
    folder = tmp_path_factory.mktemp("exports")
    (folder / "nalu-table3").mkdir()
    pd.DataFrame(rows).to_csv(folder / "nalu-table3" / "nalu.csv", index=False)
    entry = find("nalu/table3")
    context = Context(entry.key, entry.series, Source(folder, entry.folders))
    return [*(part.render(context) for part in entry.parts), folder]


def test_errors_are_those_of_the_best_epoch(drawn):
    cells = drawn[0].side["nalu-table3_errors"].set_index(["model", "split"])
    own = cells.loc["LSTM + NALU"]
    assert own["median"].to_dict() == {"train": 50.5, "valid": 25.0, "test": 100.5}
    assert own["best"].to_dict() == {"train": 50, "valid": 20, "test": 100}
    assert cells.loc["LSTM"]["runs"].tolist() == [0, 0, 0]
    assert "rec." not in texts(drawn[0].figure)
    assert "LSTM + NALU & 50.5 [50] & 25 [20] & 100 [100] " in drawn[0].text


def test_one_model_alone_is_drawn(drawn):
    entry = find("nalu/table3")
    source = Source(drawn[2], entry.folders)
    product = entry.parts[0].render(Context(entry.key, entry.series[2:], source))
    cells = product.side["nalu-table3_errors"]
    assert cells["model"].unique().tolist() == ["LSTM + NALU"]


def test_answers_stand_over_the_words(drawn):
    panels = drawn[1].figure.axes
    assert [axes.get_title() for axes in panels] == list(map(str, NUMBERS))
    words = [[label.get_text() for label in axes.get_xticklabels()] for axes in panels]
    assert words[0] == ["four", "hundred", "and", "twenty", "six"]
    assert words[1] == ["one", "hundred", "and", "ninety"]
    side = drawn[1].side["nalu-table3_trace_plot_data"]
    assert side.loc[side["number"] == 190, "value"].tolist() == [51, 52, 53, 54]
