"""Players of the grid world: means over seeds by the step asked for; episodes frame by frame."""

import numpy as np
import pandas as pd
import pytest

from stable_nalu.figure.entries import find
from stable_nalu.figure.entry import Context
from stable_nalu.figure.source import Source
from stable_nalu.network.gridworld import CELLS
from tests.figure.drawing import texts

REWARDS = {12: (9.0, 9.5, 10.0), 20: (0.0, -1.0, 4.0)}
FRAMES = (18, 43, 68, 93, 218, 343, 468)
"""Of an episode from row 0, column 0 down and right to the square in row 3, column 3."""


def exported(last):
    """A logged row in the middle of training and the last one, of three seeds."""
    rows = []
    for seed in range(3):
        for step, part in ((0, 0.5), (3000, 1.0)):
            row = {"name": f"run{seed}", "step": step, "seed": seed, "max.reward": 10}
            row |= {"stimulus.range": "[5, 12]"}
            for stimulus, rewards in REWARDS.items():
                tag = f"metric.test.stimulus.{stimulus}"
                row |= {f"{tag}.reward": part * rewards[seed], f"{tag}.arrival": stimulus + seed}
            for place, frame in enumerate(last):
                row[f"metric.test.episode.{place}"] = frame
            rows.append(row)
    return pd.DataFrame(rows)


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """Both drawings, of an LSTM that never arrives and of a NAC that does."""
    folder = tmp_path_factory.mktemp("exports")
    (folder / "nalu-fig5").mkdir()
    waiting = [18] * 29
    arriving = [*FRAMES, *[np.nan] * 22]
    for model, frames in (("lstm", waiting), ("nac", arriving)):
        exported(frames).to_csv(folder / "nalu-fig5" / f"{model}.csv", index=False)
    entry = find("nalu/fig5")
    context = Context(entry.key, entry.series, Source(folder, entry.folders))
    return [part.render(context) for part in entry.parts]


def test_means_are_over_the_last_rows_of_the_seeds(drawn):
    side = drawn[0].side["nalu-fig5_plot_data"]
    rewards = side.loc[(side["model"] == "LSTM") & (side["measure"] == "reward")]
    assert rewards["stimulus"].tolist() == [12, 20]
    assert rewards["mean"].tolist() == pytest.approx([9.5, 1.0])
    assert rewards["runs"].tolist() == [3, 3]
    arrivals = side.loc[(side["model"] == "LSTM") & (side["measure"] == "arrival")]
    assert arrivals["mean"].tolist() == pytest.approx([13.0, 21.0])
    assert (side["lower"] < side["mean"]).all()
    assert rewards["upper"].max() <= 10


def test_the_figure_tells_what_is_assumed(drawn):
    text = texts(drawn[0].figure).replace("\n", " ")
    assert "Mean of 3 seeds" in text
    assert "Reward shape assumed." in text
    assert "T = 13 and 19" in text


def test_an_episode_is_drawn_frame_by_frame(drawn):
    side = drawn[1].side["nalu-fig5_episode_plot_data"]
    nac = side.loc[side["model"] == "NAC, recurrent"]
    assert nac["step"].tolist() == list(range(len(FRAMES)))
    assert (nac["player"] * CELLS + nac["target"]).tolist() == list(FRAMES)
    assert nac["player"].tolist()[-1] == nac["target"].tolist()[-1] == 18
    axes = drawn[1].figure.axes
    shown = [one for one in axes if one.images]
    columns = len(axes) // 2
    assert columns == 16 + 4 + 1
    assert len(shown) == columns + len(FRAMES)
    assert [one.get_xlabel() for one in axes].count("arrived") == 1
    assert any("… never" in text.get_text() for one in axes for text in one.texts)
