"""What no paper tells: every cell again, by a computation of its own from the kept files."""

import csv
import re
from math import comb

import pytest

from stable_nalu.result import stored
from tests.result.made_up import write
from tools import unpublished


def runs_of(key, model):
    with stored.path_of(key).open(encoding="utf-8", newline="") as file:
        return [row for row in csv.DictReader(file) if row["model"] == model]


def rows_of(part):
    return [
        [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        for line in part.strip().split("\n")
    ][2:]


@pytest.fixture(scope="module")
def tables():
    return [rows_of(part) for part in unpublished.section().split("\n\n") if part[0] == "|"]


def exact_p(won, lost):
    """Twice the tail of fair coins, at most 1."""
    n = won + lost
    tail = sum(comb(n, k) for k in range(min(won, lost) + 1)) / 2**n
    return min(1.0, 2 * tail)


def test_pairs_are_tested_by_seed_and_corrected_for_their_number(tables):
    p = []
    for (key, *models), row in zip(unpublished.PAIRS, tables[0], strict=True):
        one, other = (
            {(r["interpolation.range"], r["seed"]): int(r["solved"]) for r in runs_of(key, model)}
            for model in models
        )
        gaps = {}
        for place in one:
            gaps[place[1]] = gaps.get(place[1], 0) + one[place] - other[place]
        more, fewer = sum(g > 0 for g in gaps.values()), sum(g < 0 for g in gaps.values())
        assert row[2] == str(len(one))
        assert float(row[3].split()[0]) == pytest.approx(
            100 * sum(gaps.values()) / len(one), abs=0.051
        )
        assert row[4] == f"{more}, {fewer} of {len(gaps)}"
        p.append(exact_p(more, fewer))
    told = [float(row[5]) for row in tables[0]]
    # Holm: the smallest p counts as often as there are tests.
    assert min(told) == pytest.approx(len(p) * min(p), rel=0.06)
    assert max(told) == pytest.approx(max(p), rel=0.06)


def counts(cell):
    return tuple(map(int, re.search(r"\((\d+)/(\d+)\)", cell).groups()))


def test_early_and_late_success(tables):
    _, early, late = tables
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


def test_there_is_nothing_without_kept_runs(tmp_path):
    write("simple_mul", tmp_path, range(2))
    assert unpublished.section(tmp_path) == ""


def test_the_page_holds_it():
    page = (stored.DATA.parent / "README.md").read_text(encoding="utf-8")
    assert unpublished.section().strip() in page
