"""Kept rows that are trained again: which, how, what is said of a digit that differs, and noted.

A row of every fourth key is trained again, by the week. In the environment, RETRAIN=12 chooses keys
and rows of turn 12, and RETRAIN=all trains a row of every key, long runs, too.
"""

import json
import os
import re

import pytest

from stable_nalu.base.files import cells_of, locked
from stable_nalu.base.script import EXIT_REQUEUE
from stable_nalu.paper.index import EXPERIMENTS
from stable_nalu.result import judged, reproduce, stored
from stable_nalu.result import trained as verify
from stable_nalu.result.stored import Verified, add_verified, digest_of
from tests.result.made_up import write
from tests.result.tiny import KEY as TINY
from tests.result.tiny import in_this_process, tiny  # noqa: F401
from tests.turn import RETRAIN, TURN, weekly
from tools.notes import replaced, verified_of

JUDGED = "nips-sltr-in10"
SHORT = ("--model", "sign-nmru", "--seeds", "0-1", "--max-iterations", "20")


@pytest.fixture(autouse=True)
def _folders_of_this_test(monkeypatch):
    """Put back what training sets in the environment."""
    for name in ("TENSORBOARD_DIR", "SAVE_DIR"):
        monkeypatch.setenv(name, os.environ.get(name, ""))


@pytest.fixture
def trained(monkeypatch):
    """Train in this process; the parts that were trained, in turn."""
    parts = []

    def run_modules(modules, names, logs, *, processes):
        for words in modules.values():
            parts.append(json.loads(words[1]))
            assert verify.main(words[1:]) == 0
        return 0

    monkeypatch.setattr(verify, "run_modules", run_modules)
    return parts


@pytest.fixture
def kept(tmp_path, in_this_process, monkeypatch):  # noqa: F811
    """A function that trains an experiment, keeps it, and returns the words that verify it."""

    def keep(key, *words):
        data = ("--data", str(tmp_path / "data"), "--out", str(tmp_path), "--jobs", "1")
        assert reproduce.main([key, *words, *data, "--keep"]) in (0, reproduce.EXIT_PARTLY)
        return ["--verify", key, *data]

    return keep


def test_measured_rows_come_out_again(tiny, kept, trained, tmp_path, capsys):  # noqa: F811
    words = kept(TINY)
    path = stored.path_of(TINY, tmp_path / "data")
    before = path.read_bytes()
    assert reproduce.main([*words, "--rows", "12"]) == 0
    assert "12 of 12 rows equal in every kept digit" in capsys.readouterr().out
    assert path.read_bytes() == before
    assert {(part["model"], part["variant"], part["seed"]) for part in trained} == {
        (model, variant, seed)
        for model in ("nac", "linear")
        for variant in ("add", "sub")
        for seed in range(3)
    }
    rows = cells_of(tmp_path / "verify" / "tiny-measured.csv")
    assert {row["equal"] for row in rows} == {"1"}
    assert {row["trained"] for row in rows} == {"alone"}
    assert len(rows) == 12 * len(cells_of(path)[0])
    assert [entry.name for entry in (tmp_path / "verify").iterdir()] == ["tiny-measured.csv"]


def test_a_folder_is_for_one_verification_and_files_of_the_user_stay_in_it(
    tiny,  # noqa: F811
    kept,
    trained,
    tmp_path,
    capsys,
):
    words = [*kept(TINY), "--rows", "2"]
    folder = tmp_path / "verify" / "tiny-measured"
    own = [folder / name for name in ("mine/rows.csv", "notes.txt")]
    own.insert(0, folder / "alone" / "iterations-20" / "tensorboard" / "thoughts.md")
    for path in own:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("kept")
    with locked(folder):
        assert reproduce.main(words) == 2
    assert "another process verifies rows in" in capsys.readouterr().err
    assert not trained
    assert reproduce.main(words) == 0
    assert sorted(path for path in folder.rglob("*") if path.is_file()) == own


def test_what_came_of_rows_is_kept_when_asked_for(tiny, kept, trained, tmp_path, capsys):  # noqa: F811
    words = kept(TINY)
    record = tmp_path / "data" / "verified.csv"
    assert reproduce.main([*words, "--rows", "2"]) == 0
    assert not record.exists()
    assert reproduce.main([*words, "--rows", "2", "--keep", "--dry-run"]) == 0
    assert not record.exists()
    drawn_by = ["--rows", "2", "--verify-seed", "0"]
    assert reproduce.main([*words, *drawn_by, "--keep"]) == 0
    rows = stored.read(TINY, tmp_path / "data")
    measures = [c for c in rows if c.startswith("metric.")]
    rows.loc[3, measures] += 1
    stored.add(EXPERIMENTS[TINY], rows, [], tmp_path / "data")
    assert reproduce.main([*words, "--line", "5", "--keep"]) == 1
    assert f"noted in {record}" in capsys.readouterr().out
    drawn = [one for one in cells_of(record) if one["verify_seed"] == "0"]
    (named,) = [one for one in cells_of(record) if one["verify_seed"] == ""]
    width = len(rows.columns)
    assert [(int(one["compared"]), int(one["equal"])) for one in drawn] == [(width, width)] * 2
    assert (int(named["compared"]), int(named["equal"])) == (width, width - len(measures))
    assert {one["key"] for one in (*drawn, named)} == {TINY}


@pytest.mark.slow
def test_a_digit_that_differs_is_found_and_nothing_kept_is_changed(kept, trained, tmp_path, capsys):
    """Two kept runs that trained in a stack, and train alone now."""
    words = kept(JUDGED, *SHORT)
    path = stored.path_of(JUDGED, tmp_path / "data")
    rows = stored.read(JUDGED, tmp_path / "data")
    rows.loc[3, "extrapolation.last"] *= 1 + 1e-6
    stored.add(EXPERIMENTS[JUDGED], rows, [], tmp_path / "data")
    before = path.read_bytes()
    capsys.readouterr()
    assert reproduce.main([*words, "--line", "4", "5"]) == 1
    said = capsys.readouterr().out.splitlines()
    assert said[-1] == "1 of 2 rows equal in every kept digit"
    (wrong,) = [line for line in said if line.startswith("NOT EQUAL: sign-nmru ")]
    assert "alone: extrapolation.last " in wrong
    assert sum(line.startswith("equal: ") for line in said) == 1
    assert path.read_bytes() == before
    assert [part["max_iterations"] for part in trained] == [20, 20]
    assert None not in {part["point"] for part in trained}


def test_an_interrupted_verification_goes_on(tiny, kept, trained, tmp_path, monkeypatch):  # noqa: F811
    words = [*kept(TINY), "--rows", "12"]
    everything = verify.run_modules

    def one(modules, names, logs, *, processes):
        first = next(iter(modules))
        everything({first: modules[first]}, names, logs, processes=processes)
        return EXIT_REQUEUE

    monkeypatch.setattr(verify, "run_modules", one)
    assert reproduce.main(words) == EXIT_REQUEUE
    assert not (tmp_path / "verify" / "tiny-measured.csv").exists()
    monkeypatch.setattr(verify, "run_modules", everything)
    assert reproduce.main(words) == 0
    assert len(trained) == len({json.dumps(part) for part in trained}) == 12


def test_rows_are_drawn_by_the_clock_and_a_stopped_draw_goes_on(
    tiny,  # noqa: F811
    kept,
    trained,
    tmp_path,
    monkeypatch,
    capsys,
):
    words = [*kept(TINY), "--rows", "3"]
    everything = verify.run_modules
    monkeypatch.setattr(verify, "run_modules", lambda *_, **__: EXIT_REQUEUE)
    said = []
    for now in (1_000_017, 2_000_018):
        monkeypatch.setattr(verify.time, "time_ns", lambda now=now: now)
        capsys.readouterr()
        assert reproduce.main(words) == EXIT_REQUEUE
        said.append(capsys.readouterr().out.splitlines()[:4])
    assert said[0] == said[1]
    assert said[0][0].endswith(", chosen by --verify-seed 17")
    monkeypatch.setattr(verify, "run_modules", everything)
    assert reproduce.main(words) == 0
    capsys.readouterr()
    assert reproduce.main([*words, "--dry-run"]) == 0
    again = capsys.readouterr().out.splitlines()[:4]
    assert again[0].endswith(", chosen by --verify-seed 18")


def test_a_dry_run_says_what_would_be_done(tmp_path, capsys):
    write(JUDGED, tmp_path, range(3))
    words = ["--verify", JUDGED, "--data", str(tmp_path), "--out", str(tmp_path), "--dry-run"]
    said = []
    for seed in ("0", "0", "1"):
        assert reproduce.main([*words, "--rows", "4", "--verify-seed", seed]) == 0
        said.append(capsys.readouterr().out)
    assert said[0] == said[1] != said[2]
    lines = said[0].splitlines()
    assert lines[0].startswith("4 kept rows of ")
    assert lines[5].startswith("about ")
    commands = [line for line in lines if line.startswith("python3 experiments/single_layer.py ")]
    assert len(commands) == 4
    assert {re.search(r"--seed (\S+)", line)[1] for line in commands} <= set("012")
    assert not (tmp_path / "verify").exists()


@pytest.mark.slow
@pytest.mark.parametrize("key", stored.kept_keys())
def test_every_kept_row_has_a_run(key):
    """Those of the first and the last seed: each setting is kept with the same seeds."""
    experiment, kept = EXPERIMENTS[key], stored.read(key)
    assert not kept.duplicated([*judged.identifying(key)]).any()
    seeds = kept["seed"]
    ends = kept.loc[seeds.isin([seeds.min(), seeds.max()])]
    runs = judged.runs_of_rows(experiment, ends)
    assert None not in runs
    pairs = [*zip(ends.to_dict("records"), runs, strict=True)]
    for cells, run in pairs[:: max(1, len(pairs) // 3)]:
        assert verify.Row(experiment, cells, run).shard.runs == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nips-sltr", "--rows", "5"], "did you mean nips-sltr-in2"),
        ([], "no experiment is named"),
        ([JUDGED, "--rows", "0"], "argument --rows: 0 is too small; the smallest value is 1"),
        ([JUDGED, "--rows", "37"], "argument --rows: 37 is too large; "),
        ([JUDGED, "--line", "1"], "argument --line: 1 is too small; the smallest value is 2"),
        ([JUDGED, "--line", "90"], "argument --line: line 90 of "),
        ([JUDGED, "--line", "3", "--rows", "3"], "--rows: the rows of --line are chosen"),
        ([JUDGED, "--seeds", "9"], "holds no row of these models and seeds"),
        ([JUDGED, "--model", "nmu"], "has no model 'nmu'"),
        ([JUDGED, "--max-iterations", "9"], "argument --max-iterations: rows are verified as"),
        (["simple_mul"], "argument --verify: simple_mul has no kept results in"),
    ],
)
def test_mistakes_are_said(words, message, trained, tmp_path, capsys):
    write(JUDGED, tmp_path, range(1))
    try:
        code = reproduce.main(["--verify", *words, "--data", str(tmp_path)])
    except SystemExit as end:
        code = end.code
    assert code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("reproduce.py: error: ")
    assert message in line
    assert not trained


KEY = "simple_mul"


def known(row, cells, *, seed=0, equal=11, trained="alone", ended="2026-01-02T03:04:05+00:00"):
    return Verified(KEY, row, digest_of(cells), seed, trained, 11, equal, ended, "torch 2", "abc")


@pytest.fixture
def rows(tmp_path):
    """Cells of made-up kept rows, in a folder of results."""
    write(KEY, tmp_path, range(3))
    return cells_of(stored.path_of(KEY, tmp_path))


def test_the_last_verification_of_the_same_digits_counts(rows, tmp_path):
    first, second = known("first", rows[0], equal=9), known("second", rows[1], seed=None)
    add_verified(tmp_path, [first, second])
    again = known("first", rows[0])
    add_verified(tmp_path, [again])
    assert verified_of(KEY, tmp_path) == [again, second]
    assert replaced(tmp_path) == []


def test_rows_that_were_replaced_do_not_count(rows, tmp_path):
    right = known("right", {**rows[0], "solved": "2"})
    wrong = known("wrong", {**rows[1], "solved": "2"}, equal=10)
    still_kept = known("still kept", rows[2], equal=10)
    add_verified(tmp_path, [right, wrong, still_kept])
    assert verified_of(KEY, tmp_path) == [still_kept]
    assert replaced(tmp_path) == [wrong]
    stored.path_of(KEY, tmp_path).unlink()
    assert replaced(tmp_path) == [wrong, still_kept]


KEYS = stored.kept_keys(measured=False)
LONG = 200_000
"""Iterations above which runs take minutes."""


@pytest.mark.slow
@pytest.mark.usefixtures("optimised", "trained")
@pytest.mark.parametrize(
    "key", [pytest.param(key, marks=weekly(place, 13)) for place, key in enumerate(KEYS)]
)
def test_the_same_outcome(key, tmp_path):
    """Whether, and at which logged step, a run is solved; `--verify` itself compares all digits."""
    iterations = max(stored.read(key)["iterations"])
    if RETRAIN != "all" and iterations > LONG:
        pytest.skip(f"runs of {iterations:,} iterations: RETRAIN=all")
    words = ["--verify", key, "--rows", "1", "--verify-seed", str(TURN), "--jobs", "1"]
    assert reproduce.main([*words, "--out", str(tmp_path)]) in (0, 1)
    path = tmp_path / "verify" / f"{EXPERIMENTS[key].stem}.csv"
    again = {row["column"]: row for row in cells_of(path)}
    assert again["solved"]["equal"] == "1", again
    assert again["extrapolation.step.solved"]["equal"] == "1", again
