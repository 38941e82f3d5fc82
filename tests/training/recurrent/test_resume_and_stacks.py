"""Recurrent runs go on from saved states, and train together as they train alone."""

import signal

import pytest

from stable_nalu.training.recurrent import sums, translation
from tests.ensemble.plans import assert_identical, train, trained

LENGTHS = {
    "simple_function_recurrent": ("--max-iterations", "4", "9"),
    "number_translation": ("--max-epochs", "3", "6"),
}
TRAININGS = {
    "simple_function_recurrent": sums.SumsTraining,
    "number_translation": translation.TranslationTraining,
}
# Products of two hidden states square at every step and overflow at once.
OVERFLOWS = {"MNAC", "ReRegualizedLinearMNAC", "GumbelMNAC"}


@pytest.fixture(params=list(LENGTHS), autouse=True)
def script(request, monkeypatch):
    """One of the two, with evaluations on fewer and shorter sequences, and more of them."""
    monkeypatch.setattr(sums, "lengths_of", lambda config: (10, 10, 15))
    monkeypatch.setattr(sums, "EVALUATION_ROWS", 64)
    monkeypatch.setattr(sums, "EVALUATION_BLOCK", 16)
    monkeypatch.setattr(sums, "LOG_INTERVAL", 2)
    monkeypatch.setattr(translation, "LOG_EPOCHS", 2)
    return request.param


def results(root):
    (file,) = (root / "results").iterdir()
    return file.read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("unit", ["GumbelNAC", "NALU", "LSTM"])
@pytest.mark.parametrize("seeds", ["1", "0-2"])
def test_a_longer_run_goes_on_where_the_shorter_one_ended(script, unit, seeds, tmp_path):
    flag, short, long = LENGTHS[script]
    words = ("--layer-type", unit, "--seed", seeds, "--verbose")
    assert train(tmp_path / "parts", script, *words, flag, short) == 0
    assert train(tmp_path / "parts", script, *words, flag, long, "--load-checkpoint") == 0
    assert train(tmp_path / "whole", script, *words, flag, long) == 0
    assert_identical(trained(tmp_path / "parts"), trained(tmp_path / "whole"))
    whole = results(tmp_path / "whole")
    assert results(tmp_path / "parts")[-len(whole) :] == whole


def test_a_run_that_is_told_to_stop(script, tmp_path, monkeypatch):
    flag, _, long = LENGTHS[script]
    words = ("--layer-type", "GumbelNAC", "--seed", "0-1", flag, long, "--resume")
    begin = TRAININGS[script].begin

    def stopped(self, clock, *, at_log_point):
        if clock == 4:
            signal.raise_signal(signal.SIGTERM)
        return begin(self, clock, at_log_point=at_log_point)

    with monkeypatch.context() as patch:
        patch.setattr(TRAININGS[script], "begin", stopped)
        assert train(tmp_path / "parts", script, *words) == 75
    assert not results(tmp_path / "parts")
    assert train(tmp_path / "parts", script, *words) == 0
    assert train(tmp_path / "parts", script, *words) == 0
    assert train(tmp_path / "whole", script, *words) == 0
    assert_identical(trained(tmp_path / "parts"), trained(tmp_path / "whole"))
    assert results(tmp_path / "parts") == results(tmp_path / "whole")
