"""Results that are kept: what a row holds, how pieces come together, what is not kept."""

import csv
import math
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from stable_nalu.base.errors import OptionError, UsageError
from stable_nalu.base.files import cells_of
from stable_nalu.inspection.saved_model import formula
from stable_nalu.paper.index import EXPERIMENTS
from stable_nalu.result import reproduce, stored
from stable_nalu.result.judged import TEST_ERROR, compact, identifying, runs_of
from stable_nalu.result.stored import (
    Session,
    add_sessions,
    formulas_of,
    keep_formulas,
    read_records,
)
from tests.result.made_up import SESSION, write
from tests.result.tiny import in_this_process  # noqa: F401

KEY = "robust-batch-snmu"
TRAINED = ["nips-sltr-in10", "--model", "sign-nmru", "--max-iterations", "20", "--jobs", "1"]


def test_pieces_come_together(tmp_path):
    whole, pieces = tmp_path / "whole", tmp_path / "pieces"
    write(KEY, whole, range(4))
    for seeds in (range(2, 4), range(1), range(1, 3)):
        write(KEY, pieces, seeds)
    columns = ["model", "interpolation.range", "seed", "iterations", "threshold"]
    assert stored.read(KEY, whole)[columns].equals(stored.read(KEY, pieces)[columns])


def test_a_run_is_replaced_and_others_stay(tmp_path):
    write(KEY, tmp_path, range(2), share=0)
    new = stored.read(KEY, tmp_path).iloc[[3]].assign(solved=1)
    stored.add(EXPERIMENTS[KEY], new, [SESSION], tmp_path)
    assert [row["solved"] for row in cells_of(stored.path_of(KEY, tmp_path))].count("1") == 1
    assert len(stored.read(KEY, tmp_path)) == 18
    assert stored.sessions_of(KEY, tmp_path) == [SESSION]


@pytest.mark.parametrize("threshold", [1e-5, 0.16001234567])
@pytest.mark.parametrize("towards", [-math.inf, math.inf, None])
def test_rounding_keeps_the_verdict(threshold, towards):
    error = threshold if towards is None else math.nextafter(threshold, towards)
    row = {"sparse.error.max": 0.123456789, "solved": True, "threshold": threshold}
    short = compact(row | {TEST_ERROR: error})
    assert (short[TEST_ERROR] < threshold) == (error < threshold)
    assert (short[TEST_ERROR] <= threshold) == (error <= threshold)
    assert short["sparse.error.max"] == 0.1234568
    assert short["solved"] == 1
    assert math.isnan(compact(row | {TEST_ERROR: math.nan})[TEST_ERROR])


@pytest.mark.parametrize(
    ("column", "cell", "says"),
    [
        ("solved", "yes", "row 2: column solved holds 'yes', no number"),
        ("solved", "2", "row 2: column solved holds '2', neither 0 nor 1"),
        ("solved", "", "row 2: column solved holds an empty cell, neither 0 nor 1"),
        ("seed", "1.5", "row 2: column seed holds '1.5', no whole number"),
        ("iterations", "many", "row 2: column iterations holds 'many', no number"),
        ("extrapolation.last", "low", "row 2: column extrapolation.last holds 'low', no number"),
    ],
)
def test_a_damaged_cell_is_named(column, cell, says, tmp_path):
    """Text among numbers would make all of them text, and any text counts as true."""
    write(KEY, tmp_path, range(2))
    path = stored.path_of(KEY, tmp_path)
    rows = cells_of(path)
    rows[1][column] = cell
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    with pytest.raises(UsageError, match=says):
        stored.read(KEY, tmp_path)


def test_longer_runs_are_not_replaced_by_shorter_ones(tmp_path):
    write(KEY, tmp_path, range(2))
    before = stored.path_of(KEY, tmp_path).read_bytes()
    look = stored.read(KEY, tmp_path).iloc[[3]].assign(iterations=5)
    with pytest.raises(OptionError, match="has 1 of these runs with more iterations"):
        stored.add(EXPERIMENTS[KEY], look, [], tmp_path)
    assert stored.path_of(KEY, tmp_path).read_bytes() == before
    # Numbers that were read back may be of another type than those of runs.
    with pytest.raises(OptionError, match="has 1 of these runs"):
        stored.add(EXPERIMENTS[KEY], look.astype({"seed": float}), [], tmp_path)
    stored.add(EXPERIMENTS[KEY], look.assign(iterations=10**9), [], tmp_path)
    assert stored.read(KEY, tmp_path)["iterations"].max() == 10**9


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("began,runs\n1,2\n", "its columns are not began, runs, run_iterations"),
        ("x", "column runs holds 'x', no number"),
        (b"\xff\xfe", "is not a CSV table"),
        (None, "cannot read"),
    ],
)
def test_a_damaged_record_is_named(text, says, tmp_path):
    path = tmp_path / "sessions.csv"
    if text is None:
        path.mkdir()
    elif isinstance(text, bytes):
        path.write_bytes(text)
    elif text == "x":
        add_sessions(path, [SESSION])
        path.write_text(path.read_text().replace(f",{SESSION.runs},", ",x,"))
    else:
        path.write_text(text)
    with pytest.raises(UsageError, match=says):
        read_records(Session, path)


def test_what_is_kept_at_the_same_time_is_all_kept(tmp_path):
    rows = write(KEY, tmp_path / "made", range(8))

    def keep(seed):
        session = replace(SESSION, wall_seconds=float(seed))
        stored.add(EXPERIMENTS[KEY], rows[rows["seed"] == seed], [session], tmp_path)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(keep, range(8)))
    assert len(stored.read(KEY, tmp_path)) == len(rows)
    assert len(stored.sessions_of(KEY, tmp_path)) == 8
    assert not [path for path in tmp_path.rglob(".*")]


def test_trained_runs_are_kept(tmp_path, in_this_process):  # noqa: F811
    data = tmp_path / "data"
    words = [*TRAINED, "--out", str(tmp_path), "--keep", "--data", str(data), "--seeds"]
    assert reproduce.main([*words, "0"]) == 0
    assert reproduce.main([*words, "0-1"]) == 0
    rows = cells_of(stored.path_of("nips-sltr-in10", data))
    space = tmp_path / "iterations-20"
    (model,) = [m for m in EXPERIMENTS["nips-sltr-in10"].models if m.key == "sign-nmru"]
    assert len(rows) == len(runs_of(model, [0, 1], 20)) == 18
    assert {row["iterations"] for row in rows} == {"20"}
    assert {row["diverged"] for row in rows} == {"0"}
    summary = cells_of(space / "summary" / "nips-sltr-in10.csv")
    rates = {row["interpolation.range"]: float(row["success.rate.mean"]) for row in summary}
    for trained_on, rate in rates.items():
        solved = [int(r["solved"]) for r in rows if r["interpolation.range"] == trained_on]
        assert sum(solved) / len(solved) == rate
    sessions = stored.sessions_of("nips-sltr-in10", data)
    assert [(s.runs, s.run_iterations) for s in sessions] == [(9, 180), (9, 180)]

    actual = cells_of(formulas_of("nips-sltr-in10", data))
    points = identifying("nips-sltr-in10")
    assert [[row[c] for c in points] for row in actual] == [
        [row[c] for c in points] for row in rows
    ]
    for run, row in zip(runs_of(model, [0, 1], 20), actual, strict=True):
        found = formula(space / "tensorboard" / run.name)
        assert (row["verdict"], row["formula"]) == (found.verdict, str(found.rounded))
    shutil.rmtree(space / "tensorboard" / run.name)
    keep_formulas(EXPERIMENTS["nips-sltr-in10"], [run], data)
    assert cells_of(formulas_of("nips-sltr-in10", data)) == actual
