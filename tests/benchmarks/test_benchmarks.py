"""Every row of `make bench`, in miniature."""

import pytest

from benchmarks import commands, iterations
from benchmarks.table import Row, print_table

SHARE = 0.004


@pytest.mark.usefixtures("optimised")
@pytest.mark.parametrize("measured", iterations.MEASUREMENTS, ids=lambda m: m.name)
def test_row_of_iterations(measured, capsys):
    check(measured, capsys)


@pytest.mark.slow
@pytest.mark.parametrize("measured", commands.MEASUREMENTS, ids=lambda m: m.name)
def test_row_of_commands(measured, capsys):
    check(measured, capsys)


def check(measured, capsys):
    row = measured.measure(SHARE)
    assert isinstance(row, Row)
    assert row.name == measured.name
    assert row.goal
    print_table([row])
    header, rule, line = capsys.readouterr().out.splitlines()
    assert header.count("|") == rule.count("|") == line.count("|")
    assert any(digit in row.engine for digit in "123456789")


def test_a_case_without_its_goal_is_told():
    case = iterations.CASES[0]
    assert case._row(0.1, 0.1, 200.0).met
    assert not case._row(0.1, 0.01, 200.0).met
    assert not case._row(0.3, 0.3, 200.0).met
