"""The arena: tasks, the time of contests, formulas, rows that are kept, and the page."""

import math
import os
import random
import re
import time
from typing import Any

import numpy as np
import pytest
import torch

from stable_nalu.base.files import CHECKOUT
from stable_nalu.bench import arena
from stable_nalu.bench.arena import main, read_rows
from stable_nalu.bench.contest import (
    COLUMNS,
    CONTESTANTS,
    IDENTITY,
    NOTHING,
    PROBLEMS,
    Clock,
    Contestant,
    contest,
    formula_of,
    recovered,
)
from stable_nalu.inspection.formula import ALGEBRA
from tools import arena as report

ARENA = CHECKOUT / "docs" / "reproduction" / "arena.csv"


@pytest.fixture(autouse=True)
def _as_in_a_process_of_a_contest():
    torch.set_default_dtype(torch.float64)


def of(task, contestant, seconds=1.0, seed=0, noise=0.0, redundant=0) -> dict[str, Any]:
    return dict(zip(IDENTITY, (task, contestant, seed, seconds, noise, redundant), strict=True))


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=lambda p: p.key)
def test_tasks_are_finite_in_both_ranges(problem):
    for outside in (False, True):
        x, y = problem.drawn(np.random.default_rng(0), 1000, outside=outside)
        assert np.isfinite(y).all()
        assert y.std() > 0
        low, high = problem.ends(outside).T
        assert ((low <= x) & (x <= high)).all()
        named = dict(zip(problem.names, x[0], strict=True))
        functions = {n: getattr(math, n) for n in ("sqrt", "exp", "log", "sin", "cos", "pi")}
        assert y[0] == pytest.approx(eval(problem.formula, functions | named | {"Max": max}))


def test_rows_are_those_of_a_seed_with_noise_and_inputs_that_do_not_matter():
    problem = PROBLEMS["F3"]
    rows, same, other = problem.rows(1), problem.rows(1), problem.rows(2)
    assert (rows.x == same.x).all()
    assert (rows.y == same.y).all()
    assert (rows.x != other.x).all()
    noisy = problem.rows(1, noise=0.1, redundant=2)
    assert noisy.x.shape == (1024, 4)
    exact = noisy.x[:, 0] / np.sqrt(1 - noisy.x[:, 1] ** 2)
    assert np.std(noisy.y - exact) / np.std(exact) == pytest.approx(0.1, rel=0.1)


@pytest.mark.parametrize(
    ("task", "formula", "is_it"),
    [
        ("N3", "28.444727 + 31.169834*(0.032082593*x2*x1 - cos(0.421265))", True),
        ("N6", "0.617/0.739*(0.739*x1 + 0.739*x2)/(0.617*x3 + 0.617*x4)", True),
        ("F1", "0.0795775*x3*x2/x1**2", True),
        ("F1", "0.0795775*x1*x3/x2**2", False),
        ("F1", "0.0797*x3*x2/x1**2", False),
        ("K1", "-3*x1*x2/(x3**2*(1 - 0.1*x1))", True),
        ("N1", "x1 + 1.002*x2", False),
        ("N1", "x1 + x2 + 0.01*x1*x2", False),
        ("N4", "x1*zoo", False),
    ],
)
def test_a_formula_is_recovered_if_its_constants_are_the_target_to_4_digits(task, formula, is_it):
    symbols = {str(symbol): symbol for symbol in PROBLEMS[task].symbols()}
    found = recovered(formula_of(formula, symbols), PROBLEMS[task])
    assert bool(found) == is_it
    assert found in ("", ALGEBRA)


def test_a_clock_grants_no_step_that_does_not_fit_and_repeats_by_steps(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("time.process_time", lambda: now[0])
    clock = Clock(10.0)
    while clock.goes_on():
        now[0] += 3
    assert (clock.steps, clock.used, clock.is_over) == (3, 9.0, True)
    again = Clock(10.0, steps=3)
    while again.goes_on():
        now[0] += 100
    assert again.steps == 3


def broken(*_, **__):
    raise ValueError("it broke\nand more")


def test_who_fails_or_diverges_is_a_result(monkeypatch):
    card = {"settings": {}, "given": "", "learned": "", "source": ""}
    for name in ("broken", "nothing"):
        monkeypatch.setitem(CONTESTANTS, name, Contestant(name, "", **card))
    monkeypatch.setattr(Contestant, "play", broken)
    row = contest(of("N1", "broken"))
    assert row["status"] == "failed: ValueError: it broke"
    assert row["outside"] == "inf"
    monkeypatch.setattr(Contestant, "play", lambda *_: NOTHING)
    assert contest(of("N1", "nothing"))["status"] == "diverged"


@pytest.mark.parametrize(
    ("name", "steps", "status"), [("NAU, NMU", 2000, ALGEBRA), ("EML", 5, ""), ("MLP", 5, "")]
)
def test_what_this_package_has_can_play(name, steps, status):
    row = contest(of("N3", name), steps)
    assert row["status"] in ("answered", "diverged")
    assert row["recovered"] == status
    assert row["steps"] == steps
    if steps < 10:
        assert contest(of("N3", name), steps) | {"cpu": row["cpu"]} == row


@pytest.mark.parametrize(
    ("name", "task", "steps", "recovers"),
    [("gplearn", "N4", 3, True), ("Operon", "N4", 4, True), ("KAN", "N1", 1, False)],
)
def test_other_libraries_can_play(name, task, steps, recovers):
    for module in CONTESTANTS[name].needs:
        pytest.importorskip(module)
    row = contest(of(task, name), steps)
    assert row["status"] == "answered"
    assert float(row["inside"]) < 1e-2
    assert bool(row["recovered"]) == recovers


WORDS = ("--tasks", "N1", "N4", "N1", "--contestants", "Boosting", "MLP", "--seconds", "0.3")


def test_contests_are_held_once_resumed_verified_and_reported(tmp_path, capsys):
    rows, page = tmp_path / "rows.csv", tmp_path / "page.html"
    words = [*WORDS, "--rows", str(rows), "--seed", "0"]
    assert main(words) == 0
    assert "4 contests to run, 0 finished before" in capsys.readouterr().out
    whole = rows.read_bytes()
    rows.write_bytes(whole[:-20])  # as if killed while it was written
    assert main([*words, "--report", str(page)]) == 0
    actual = capsys.readouterr().out
    assert "1 contest to run, 3 finished before" in actual
    kept = read_rows(rows)
    assert len(kept) == 4
    assert "Boosting" in page.read_text(encoding="utf-8")
    assert main([*words, "--verify"]) == 0
    assert "4 of 4 rows are equal in every digit" in capsys.readouterr().out
    kept[0]["outside"] = "1"
    rows.unlink()
    arena._write(rows, kept[:1])
    assert main([*words, "--verify"]) == 1
    assert "outside was 1, is" in capsys.readouterr().out


HEADER = ",".join(COLUMNS) + "\n"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a thought of mine", "is no table of the arena; name another file"),
        ("a thought\nof mine", "is no table of the arena; name another file"),
        ("\n", "is no table of the arena; name another file"),
        (HEADER.replace("seed", "seeds"), "is no table of the arena; name another file"),
        (f"{HEADER}N1,MLP,zero{',' * 15}\n", "row 1: could not convert string to float: 'zero'"),
        (f"{HEADER}N1,MLP\n", "row 1: it has 2 cells, the header 18"),
    ],
)
@pytest.mark.parametrize("more", [[], ["--report-only"], ["--verify"]])
def test_a_file_that_is_no_table_of_the_arena_stays_as_it_is(text, says, more, tmp_path, capsys):
    rows = tmp_path / "rows.csv"
    rows.write_text(text)
    assert main([*WORDS, "--rows", str(rows), *more]) == 2
    assert says in capsys.readouterr().err
    assert rows.read_text() == text
    assert list(tmp_path.iterdir()) == [rows]


def test_a_pipe_for_rows_is_refused_at_once(tmp_path, capsys):
    os.mkfifo(tmp_path / "pipe")
    assert main([*WORDS, "--rows", str(tmp_path / "pipe")]) == 2
    assert "it is a device, not a file" in capsys.readouterr().err


def test_a_page_replaces_neither_rows_nor_another_file(tmp_path, capsys):
    notes = tmp_path / "notes.md"
    notes.write_text("# Notes\n")
    rows = tmp_path / "rows.csv"
    arena._write(rows, read_rows(ARENA)[:4])
    words = [*WORDS, "--rows", str(rows), "--report-only"]
    assert main([*words, "--report", str(notes)]) == 2
    assert "it holds something else; name another file" in capsys.readouterr().err
    assert notes.read_text() == "# Notes\n"
    assert main([*words, "--report", str(rows)]) == 2
    assert "is the file of --rows; write to another file" in capsys.readouterr().err


def sleeps(*_):
    time.sleep(600)


def test_a_contestant_that_sleeps_ends_by_the_wall_clock(monkeypatch):
    monkeypatch.setattr(arena, "_hold", sleeps)
    monkeypatch.setattr(arena, "PATIENCE", 0.01)
    (row,) = arena._held([(of("N1", "MLP"), None)], jobs=2)
    assert row["status"] == "killed: no answer, by the wall clock"
    assert (row["task"], row["outside"], row["ended"]) == ("N1", "inf", "by force")


def test_what_is_not_installed_is_named_and_left_out(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("stable_nalu.bench.contest.find_spec", lambda name: None)
    words = ["--contestants", "KAN", "--rows", str(tmp_path / "rows.csv")]
    assert main(words) == 2
    actual = capsys.readouterr()
    assert actual.out == (
        "KAN is left out: pykan, PyYAML not installed; pip install 'stable-nalu[arena]'\n"
    )
    assert actual.err.count("\n") == 1
    assert main(["--list"]) == 0
    assert "not installed: pykan, PyYAML" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--tasks", "N33"], "--tasks: 'N33' is not a choice; did you mean N3?"),
        (
            ["--contestants", "Opern"],
            "--contestants: 'Opern' is not a choice; did you mean Operon?",
        ),
        (["--seconds", "0"], "--seconds: 0 is too small; it must be greater than 0"),
        (["--report-only"], "has no row; leave out --report-only"),
        (["--rows", "."], "cannot read .: Is a directory"),
        (["--rows", "table.csv"], "--rows: table.csv is no table of the arena; name another file"),
    ],
)
def test_errors_are_one_line(words, says, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "table.csv").write_text("a,b\n1,2\n")
    try:
        code = main(words)
    except SystemExit as left:
        code = left.code
    error = capsys.readouterr().err
    assert code == 2
    assert error.startswith("stable-nalu arena: error: ")
    assert says in error
    assert error.count("\n") == 1


def made_up(errors, seeds=(0,)):
    """Rows of contestants with these errors outside, by task and seed."""
    return [
        {
            **of(task, name, seed=seed),
            **{"status": "answered", "inside": error, "outside": error, "recovered": ""},
            **{"nodes": "", "cpu": 1, "steps": 1, "ended": "by itself", "probes": f"{seed} 1"},
            **{"formula": "", "library": "x 1", "processor": "y"},
        }
        for name, own in errors.items()
        for task, error in zip(PROBLEMS, own, strict=False)
        for seed in seeds
    ]


def test_ranks_and_their_critical_difference():
    """Nemenyi's q of 4 contestants is 2.569 (Demšar 2006, table 5)."""
    draw = random.Random(0)
    errors = {name: [draw.random() for _ in range(30)] for name in list(CONTESTANTS)[:3]}
    errors["MLP"] = [9.0] * 30
    mean, _, width = report.ranks(report.frame_of(made_up(errors)))
    assert width == pytest.approx(2.569 * math.sqrt(4 * 5 / (6 * 30)), abs=1e-3)
    assert mean["MLP"] == 4
    assert mean.sum() == 10


def test_what_is_solved_shares_a_rank_and_counts_where_everyone_has_played():
    errors = {"MLP": [1e-12, 1.0], "Boosting": [1e-20, 2.0], "EML": [1.0, math.inf]}
    rows = made_up(errors, seeds=(0, 1))
    table = report.frame_of(rows[:-1])  # one of seed 1
    assert table.groupby("seed")["task"].nunique().to_dict() == {0: 2, 1: 1}
    ((words, _),) = report.settings_of(table)
    assert words == "1 CPU seconds, seeds 0-1 (tasks: 2 of seed 0, 1 of seed 1)"
    assert dict(report.ranks(table)[0]) == {"MLP": 1.25, "Boosting": 1.75, "EML": 3.0}
    lines = {line["contestant"]: line for line in report.lines_of(report.frame_of(rows))}
    assert lines["MLP"]["tasks solved"].startswith("50 % (1/2)")
    assert lines["MLP"]["agreement of seeds"].startswith("0 ")
    assert report.losses(report.frame_of(made_up({"NAU, NMU": [1.0, 1e-12], **errors}))) == {
        "lost": ["N1"],
        "equal": [],
        "won": ["N2"],
        "both": [],
    }


def test_the_kept_page_is_what_the_kept_rows_say(tmp_path):
    report.write_page(read_rows(ARENA), tmp_path / "page.html")
    fresh, kept = (
        re.sub("<svg.*?</svg>", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        for path in (tmp_path / "page.html", CHECKOUT / "docs" / "arena.html")
    )
    assert fresh == kept
