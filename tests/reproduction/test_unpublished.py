"""What no paper tells: every cell again, by a computation of its own from the kept files."""

import csv
import re
from math import comb

import pytest

from stable_nalu.reproduction import stored
from stable_nalu.reproduction.page import unpublished
from tests.reproduction.made_up import write


def runs_of(key, model):
    with stored.path_of(key).open(encoding="utf-8", newline="") as file:
        return [row for row in csv.DictReader(file) if row["model"] == model]


def rows_of(part):
    return [
        [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in part.split("\n")
    ][2:]


@pytest.fixture(scope="module")
def tables():
    return [rows_of(part) for part in unpublished.section() if part.startswith("|")]


def exact_p(won, lost):
    """Twice the tail of fair coins, at most 1."""
    n = won + lost
    tail = sum(comb(n, k) for k in range(min(won, lost) + 1)) / 2**n
    return min(1.0, 2 * tail)


def test_pairs_are_of_the_same_range_and_seed(tables):
    for (key, *models), row in zip(unpublished.PAIRS, tables[0], strict=True):
        one, other = (
            {(r["interpolation.range"], r["seed"]): r["solved"] for r in runs_of(key, model)}
            for model in models
        )
        won = sum(one[place] > other[place] for place in one)
        lost = sum(one[place] < other[place] for place in one)
        assert row[2:5] == [str(len(one)), str(won), str(lost)]
        assert float(row[5].split()[0]) == pytest.approx(100 * (won - lost) / len(one), abs=0.051)
        assert float(row[6]) == pytest.approx(exact_p(won, lost), rel=0.06)


def counts(cell):
    return tuple(map(int, re.search(r"\((\d+)/(\d+)\)", cell).groups()))


def test_early_and_late_success(tables):
    _, _, early, late, _ = tables
    for (key, model), told, last in zip(unpublished.UNITS, early, late, strict=True):
        runs = runs_of(key, model)
        first = [
            r
            for r in runs
            if r["extrapolation.step.solved"]
            and int(r["extrapolation.step.solved"]) * 5 <= int(r["iterations"])
        ]
        rest = [r for r in runs if r not in first]
        for cell, group in zip(told[2:], (first, rest), strict=True):
            if group:
                assert counts(cell) == (sum(r["solved"] == "1" for r in group), len(group))
            else:
                assert cell == "no such run"
        steps = sorted(int(r["extrapolation.step.solved"]) for r in runs if r["solved"] == "1")
        middle = (steps[(len(steps) - 1) // 2] + steps[len(steps) // 2]) / 2
        assert last[2:4] == [f"{middle:,.0f}", f"{steps[-1]:,}"]
        assert counts(last[4]) == (sum(step > 2 * middle for step in steps), len(steps))


def test_ranges(tables):
    for (key, model), row in zip(unpublished.UNITS, tables[1], strict=True):
        solved = {}
        for run in runs_of(key, model):
            solved.setdefault(run["interpolation.range"], []).append(int(run["solved"]))
        sums = {name: sum(found) for name, found in solved.items()}
        undecided = sum(0 < total < len(solved[name]) for name, total in sums.items())
        assert row[4] == f"{undecided} of {len(sums)}"
        if max(sums.values()) > min(sums.values()):
            assert counts(row[2])[0] == max(sums.values())
            assert counts(row[3])[0] == min(sums.values())
        else:
            assert row[2] == row[3] == "all alike: 100 %"


def test_changes_of_hyper_parameters(tables):
    kept = [each for each in unpublished.EFFECTS if stored.path_of(each[0]).exists()]
    assert len(tables[4]) == len(kept) > 0
    for (key, what, *models), row in zip(kept, tables[4], strict=True):
        before, behind = (
            {(r["interpolation.range"], r["seed"]): r for r in runs_of(key, model)}
            for model in models
        )
        gains, sooner, later = {}, 0, 0
        for place, run in behind.items():
            change = int(run["solved"]) - int(before[place]["solved"])
            gains[place[0]] = gains.get(place[0], 0) + change
            if run["solved"] == before[place]["solved"] == "1":
                steps = [int(r["extrapolation.step.solved"]) for r in (run, before[place])]
                sooner += steps[0] < steps[1]
                later += steps[0] > steps[1]
        assert row[1].startswith(f"{what}: ")
        total = 100 * sum(gains.values()) / len(behind)
        assert float(row[2].split()[0]) == pytest.approx(total, abs=0.051)
        more, fewer = sum(g > 0 for g in gains.values()), sum(g < 0 for g in gains.values())
        assert row[3] == f"{more}, {fewer} of {len(gains)}"
        assert float(row[4]) == pytest.approx(exact_p(more, fewer), rel=0.06)
        assert row[5] == "none" if sooner + later == 0 else counts(row[5])[0] == sooner


def test_there_is_nothing_without_kept_runs(tmp_path):
    write("simple_mul", tmp_path, range(2))
    assert unpublished.section(tmp_path) == []


def test_the_command_prints_what_the_page_holds(capsys):
    assert unpublished.main() == 0
    page = (stored.DATA.parent / "README.md").read_text(encoding="utf-8")
    assert capsys.readouterr().out.strip() in page
