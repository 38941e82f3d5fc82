"""What tests of tasks share: an interruption in the middle of training, and going on."""

import signal

from stable_nalu.training.plan import shell
from tests.experiments.scripts import assert_same_run, run, run_names


def assert_an_interruption_changes_nothing(monkeypatch, script, words, at, code=0):
    """Train to the end; then again with an interruption before the unit `at`, and resume.

    code: the exit code at the end.
    """
    assert run(script, *words, "--id", "1") == code
    real = shell._train

    def interrupted(training, unit):
        def steps():
            for now in type(training).train(training):
                if now == at:
                    signal.raise_signal(signal.SIGTERM)
                yield now

        training.train = steps
        return real(training, unit)

    monkeypatch.setattr(shell, "_train", interrupted)
    assert run(script, *words, "--id", "2") == 75
    monkeypatch.setattr(shell, "_train", real)
    assert run(script, *words, "--id", "2", "--resume") == code
    both = (run_names(script, *words, "--id", number) for number in "12")
    for one, other in zip(*both, strict=True):
        assert_same_run(one, other)
