"""Recurrent runs go on from saved states, and leave one line of results each."""

import pytest

from stable_nalu.task import simple_function_recurrent as sums
from stable_nalu.task.number_translation import TranslationTask
from tests.ensemble.plans import assert_identical, train, trained
from tests.experiments.scripts import assert_an_interruption_changes_nothing
from tests.sequence_runs import results

LENGTHS = {
    "simple_function_recurrent": ("--extrapolation-length", "15", "--max-iterations", "4", "9"),
    "number_translation": ("--max-epochs", "3", "6"),
}


@pytest.fixture(params=list(LENGTHS), autouse=True)
def script(request, monkeypatch):
    """One of the two, with evaluations on fewer sequences, and more of them."""
    monkeypatch.setattr(sums, "EVALUATION_ROWS", 64)
    monkeypatch.setattr(sums, "EVALUATION_BLOCK", 16)
    monkeypatch.setattr(sums.SumsTask, "log_interval", 2)
    monkeypatch.setattr(TranslationTask, "log_interval", 2)
    return request.param


def lines(root):
    (file,) = (root / "results").iterdir()
    return file.read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("unit", ["GumbelNAC", "LSTM"])
def test_a_longer_run_goes_on_where_the_shorter_one_ended(script, unit, tmp_path):
    *more, flag, short, long = LENGTHS[script]
    words = ("--layer-type", unit, "--seed", "1", "--verbose", *more)
    assert train(tmp_path / "parts", script, *words, flag, short) == 0
    assert train(tmp_path / "parts", script, *words, flag, long, "--load-checkpoint") == 0
    assert train(tmp_path / "whole", script, *words, flag, long) == 0
    assert_identical(trained(tmp_path / "parts"), trained(tmp_path / "whole"))
    assert lines(tmp_path / "parts")[-1:] == lines(tmp_path / "whole")
    assert train(tmp_path / "parts", script, *words, flag, long, "--resume") == 0
    assert len(lines(tmp_path / "parts")) == 2


def test_a_run_that_is_told_to_stop(script, monkeypatch):
    *more, flag, _, long = LENGTHS[script]
    words = ("--layer-type", "GumbelNAC", "--seed", "0-1", *more, flag, long)
    assert_an_interruption_changes_nothing(monkeypatch, script, words, 4)
    assert len(results(script)) == 4
