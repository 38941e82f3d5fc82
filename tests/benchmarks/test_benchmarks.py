"""Every row of `make bench`, in miniature."""

import os
import time
from types import SimpleNamespace
from unittest import mock

import pytest

from benchmarks import commands, iterations
from benchmarks.table import Row, print_table
from tests.exported import main_of
from tests.result.tiny import in_this_process  # noqa: F401

SHARE = 0.004


@pytest.mark.parametrize("name", ["nmru-10", "pair", "mlp", "jax", "digits"])
def test_row_of_iterations(name, capsys):
    (measured,) = (one for one in iterations.MEASUREMENTS if one.name == name)
    check(measured, capsys)


def in_process(words, *, env, check, **_):
    """Run a command of Python in this process, without other workers; nothing for `make`."""
    python, script, *words = words
    if python != "make":
        with mock.patch.dict(os.environ, env):
            assert main_of(script)(["1" if word == "2" else word for word in words]) == 0


@pytest.mark.parametrize("measured", commands.MEASUREMENTS, ids=lambda m: m.name)
def test_row_of_commands(measured, capsys, monkeypatch, in_this_process):  # noqa: F811
    monkeypatch.setattr(commands, "subprocess", SimpleNamespace(run=in_process, DEVNULL=None))
    monkeypatch.setattr(commands, "_children", time.process_time)
    check(measured, capsys)


def check(measured, capsys):
    row = measured.measure(SHARE)
    assert isinstance(row, Row)
    assert row.name == measured.name
    assert row.goal
    capsys.readouterr()
    print_table([row])
    header, rule, line = capsys.readouterr().out.splitlines()
    assert header.count("|") == rule.count("|") == line.count("|")
    assert any(digit in row.engine for digit in "123456789")


def test_a_case_without_its_goal_is_reported():
    case = iterations.CASES[0]
    assert case._row(0.1, 0.1, 200.0).met
    assert not case._row(0.1, 0.01, 200.0).met
    assert not case._row(0.3, 0.3, 200.0).met
