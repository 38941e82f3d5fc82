"""Signals are noted between iterations; a script that a signal stops saves and says so."""

import os
import signal

import pytest

from stable_nalu.base import script
from stable_nalu.base.script import Interruption
from tests.ensemble.plans import assert_identical, fork, train, trained

BASE = ("--layer-type", "NMRU", "--operation", "mul")


@pytest.fixture
def _interruptible():
    """A process that was started in the background ignores the interrupt; this one does not."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_interruptible")
def test_a_later_interrupt_has_its_usual_effect(monkeypatch):
    monkeypatch.setattr(script, "ONE_REQUEST_SECONDS", 0.0)
    with Interruption() as interruption:
        os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert interruption.signal_number == signal.SIGINT


@pytest.mark.usefixtures("_interruptible")
def test_a_signal_that_is_sent_twice_is_one_request(monkeypatch):
    # However long this process has to wait for its turn between the two.
    monkeypatch.setattr(script, "ONE_REQUEST_SECONDS", 3600.0)
    with Interruption() as interruption:
        for _ in range(2):
            signal.raise_signal(signal.SIGINT)
    assert interruption.signal_number == signal.SIGINT


LENGTH = ("--max-iterations", "100000", "--log-interval", "1000")


def stop(root, words, *, stacks=1, number=signal.SIGTERM, send=os.kill):
    """Start a script, send it a signal once all stacks train; (exit code, output, errors)."""
    with fork(root, "single_layer", *words) as process:
        seen = []
        for line in process.stdout:
            seen.append(line)
            stacks -= line.startswith("train 0")
            if not stacks:
                break
        send(process.pid, number)
        out, errors = process.communicate()
    return process.returncode, "".join(seen) + out, errors


@pytest.mark.parametrize("seeds", ["3", "0-3"], ids=["single", "stack"])
def test_sigterm_saves_and_asks_to_be_requeued(seeds, tmp_path):
    words = (*BASE, "--seed", seeds)
    code, out, errors = stop(tmp_path / "run", (*words, *LENGTH))
    assert errors == ""
    assert code == 75
    assert "the same command with --resume goes on" in out
    assert "finished" not in out
    stopped = [run.checkpoint["epoch"] for run in trained(tmp_path / "run").values()]
    assert all(0 < epoch < 100_000 for epoch in stopped)
    short = tuple(str(max(stopped) + 7) if word == "100000" else word for word in LENGTH)
    for root, more in (("run", ("--resume",)), ("whole", ())):
        assert train(tmp_path / root, "single_layer", *words, *short, *more) == 0
    assert_identical(trained(tmp_path / "run"), trained(tmp_path / "whole"))


def test_an_interrupt_of_the_whole_process_group(tmp_path):
    """As a terminal sends it: workers hear of it twice."""
    words = (*BASE, "--seed", "0-3", "--workers", "2", *LENGTH)
    code, _, errors = stop(tmp_path, words, stacks=2, number=signal.SIGINT, send=os.killpg)
    assert (code, errors) == (130, "")
    assert all(run.checkpoint["epoch"] > 0 for run in trained(tmp_path).values())


def test_nothing_is_saved_of_what_has_not_begun(tmp_path):
    """The second of two stacks: no state is as good as its first one."""
    words = (*BASE, "--seed", "0-1", "--ensemble-size", "1", *LENGTH)
    code, _, errors = stop(tmp_path, words)
    assert (code, errors) == (75, "")
    assert len(list((tmp_path / "save" / "t").iterdir())) == 1
