"""What is shown in a terminal, and what elsewhere."""

import io
import sys

import numpy as np
import pytest

from stable_nalu.base import script as console
from stable_nalu.statistics.setups import Limit
from stable_nalu.training.console import Console


class Terminal(io.StringIO):
    def isatty(self):
        return True


def in_terminal(monkeypatch, kind=Terminal):
    for stream in ("stdout", "stderr"):
        monkeypatch.setattr(sys, stream, kind())
    monkeypatch.delenv("NO_COLOR", raising=False)


def test_colours_are_for_terminals_that_want_them(monkeypatch):
    in_terminal(monkeypatch)
    assert console.paint("solved", console.GREEN) == "\x1b[32msolved\x1b[0m"
    monkeypatch.setenv("NO_COLOR", "1")
    assert console.paint("solved", console.GREEN) == "solved"
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert console.paint("solved", console.GREEN) == "solved"


@pytest.mark.parametrize("verbose", [False, True])
def test_a_bar_in_a_terminal_and_lines_elsewhere(verbose, monkeypatch):
    def written():
        shown = Console(runs=2, left=20, last=10, unit="iterations", verbose=verbose)
        shown.begin()
        shown.log_point(0, 10, np.array([1.0, 1e-9]), [Limit(1e-5)] * 2, False)
        shown._bar.refresh()
        shown.advance(20)
        shown.close()

    in_terminal(monkeypatch)
    written()
    assert "iterations [" in sys.stderr.getvalue()
    assert "solved 1/2" in sys.stderr.getvalue()
    assert sys.stdout.getvalue().startswith("train 10: solved 1/2 below") == verbose
    in_terminal(monkeypatch, io.StringIO)
    written()
    assert sys.stderr.getvalue() == ""
    assert sys.stdout.getvalue().startswith("train 10: solved 1/2 below 1e-05, median extra 0.5")


def test_the_starter_of_a_process_receives_its_progress(monkeypatch, tmp_path):
    file = tmp_path / "progress"
    monkeypatch.setenv(console.PROGRESS, str(file))
    for plan in (1, 2):
        shown = Console(runs=2, left=20, last=10, unit="iterations", verbose=False)
        shown.advance(15)
        assert console.Progress.read(file) == (20 * plan - 5, 5, plan - 1)
        shown.log_point(0, 10, np.array([1.0, 1e-9]), [Limit(1e-5)] * 2, False)
        shown.advance(5)
        shown.close()
        assert console.Progress.read(file) == (20 * plan, 0, plan)
