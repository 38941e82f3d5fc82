"""Distribution of NAC weights: shares that were measured elsewhere, the table, the command line."""

import numpy as np
import pandas as pd
import pytest

from stable_nalu.figure.style import drawing
from stable_nalu.paper.articles import (
    STARTS,
    Weights,
    draw_weights,
    histogram_table,
    shares,
    shares_text,
    weights_command,
)

MILLION = 1_000_000


@pytest.fixture(scope="module")
def million():
    return Weights(("uniform",), MILLION).weights()["uniform"]


def test_shares_of_a_million_draws(million):
    """As measured by another program, to 0.3 points."""
    found = shares(million)
    assert (*found, 1 - sum(found)) == pytest.approx((0.362, 0.142, 0.142, 0.354), abs=0.003)
    distance = np.abs(million[:, None] - np.array([-1, 0, 1])).min(1)
    assert np.mean(distance < 0.1) == pytest.approx(0.730, abs=0.003)


@pytest.mark.parametrize("starts", [tuple(STARTS), ("nac",), ("uniform", "nac")])
def test_every_start_has_a_panel_and_rows_that_count_its_weights(starts):
    part = Weights(starts, 200, bins=7)
    with drawing():
        figure = draw_weights(part, part.weights())
    assert figure.get_size_inches().tolist() == pytest.approx([8, 4])
    for axes, start in zip(figure.axes, starts, strict=True):
        assert axes.get_title().startswith(STARTS[start].format(range="U(−10, 10)"))
        (bars,) = axes.patches
        assert bars.get_data().values.sum() == 200
    assert "deviation" in figure.axes[0].get_title()
    table = histogram_table(part, part.weights())
    assert [*table] == ["init", "bin.low", "bin.high", "count", "share"]
    assert table.groupby("init")["count"].sum().to_dict() == dict.fromkeys(starts, 200)
    assert table.groupby("init")["share"].sum().tolist() == pytest.approx([1] * len(starts))
    first = table[table["init"] == starts[0]]
    assert (len(first), first["bin.low"].iloc[0], first["bin.high"].iloc[-1]) == (7, -1, 1)


def test_the_command_writes_table_and_figure(tmp_path, capsys):
    table, figure = tmp_path / "a" / "w.csv", tmp_path / "w.pdf"
    words = ["--draws", "50", "--bins", "4", "--range", "[-3,1]", "--seed", "2"]
    words += ["--init", "uniform", "truncated-normal"]
    assert weights_command([*words, "--csv-out", str(table), "--figure-out", str(figure)]) == 0
    part = Weights(("uniform", "truncated-normal"), 50, (-3, 1), 4, 2)
    pd.testing.assert_frame_equal(pd.read_csv(table), histogram_table(part, part.weights()))
    assert figure.read_bytes().startswith(b"%PDF")
    printed = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in printed] == ["uniform", "truncated-normal"]
    assert f"50 weights, {shares_text(part.weights()['uniform'])}" in printed[0]
    assert weights_command(["--draws", "10", "--bins", "2", "--csv-out", "-"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert (len(lines), lines[0]) == (3, '"init","bin.low","bin.high","count","share"')


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("--draws 10000001", "argument --draws: 10000001 is too large"),
        ("--bins 1000000", "argument --bins: 1000000 is too large; the largest value is 100000"),
        ("--range [1,1]", "argument --range: [1,1] is empty"),
        ("--init nac --range [1,2]", "argument --range: nac draws from no range"),
        ("--init nac nac", "argument --init: nac is given twice"),
        (
            "--figure-out x.svg",
            "argument --figure-out: x.svg is not a name of a figure; let it end",
        ),
        ("--figure-out x.png --csv-out x.png", "argument --figure-out: x.png is the file of"),
        ("--figure-out x.png --csv-out .", "cannot write ."),
        ("--csv-out x.csv --figure-out file/x.png", "cannot write file/x.png"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_changes_nothing(
    words, says, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("kept")
    try:
        code = weights_command(words.split())
    except SystemExit as error:
        code = error.code
    assert code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"weight_distribution.py: error: {says}")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
