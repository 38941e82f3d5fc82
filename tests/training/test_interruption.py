"""Signals are noted between iterations; a script that is told to stop saves and says so."""

import os
import signal
import threading

import pytest

from stable_nalu.base import script
from stable_nalu.base.script import Interruption
from tests.ensemble.plans import assert_identical, fork, start, train, train_in_fork, trained

BASE = ("--layer-type", "NMRU", "--operation", "mul")


def handlers():
    return [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]


def test_a_signal_is_noted_and_handlers_are_put_back():
    before = handlers()
    with Interruption() as interruption:
        assert interruption.signal_number is None
        os.kill(os.getpid(), signal.SIGTERM)
        assert interruption.signal_number == signal.SIGTERM
    assert handlers() == before


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


def test_a_worker_may_be_told_many_times():
    before = handlers()
    with Interruption(insists=False) as interruption:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGTERM):
            os.kill(os.getpid(), number)
        assert interruption.signal_number == signal.SIGTERM
    assert handlers() == before


def test_other_threads_leave_signals_alone():
    before = handlers()
    inside = []

    def enter():
        with Interruption():
            inside.extend(handlers())

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert inside == before


LENGTH = ("--max-iterations", "100000", "--log-interval", "1000")


def stop(root, words, *, stacks=1, number=signal.SIGTERM, send=os.kill, begin=fork):
    """Start a script, send it a signal once all stacks train; (exit code, output, errors)."""
    with begin(root, "single_layer", *words) as process:
        seen = []
        for line in process.stdout:
            seen.append(line)
            stacks -= line.startswith("train 0")
            if not stacks:
                break
        send(process.pid, number)
        out, errors = process.communicate()
    return process.returncode, "".join(seen) + out, errors


@pytest.mark.parametrize(
    "words",
    [
        ("--seed", "3"),
        ("--seed", "0-3"),
        pytest.param(("--seed", "0-3", "--workers", "2"), marks=pytest.mark.slow),
    ],
    ids=["single", "stack", "workers"],
)
def test_sigterm_saves_and_asks_to_be_requeued(words, tmp_path):
    stacks = 2 if "--workers" in words else 1
    begin = start if words == ("--seed", "3") else fork
    words = (*BASE, *words)
    code, out, errors = stop(tmp_path / "run", (*words, *LENGTH), stacks=stacks, begin=begin)
    assert errors == ""
    assert code == 75
    assert "the same command with --resume goes on" in out
    assert "finished" not in out
    stopped = [run.checkpoint["epoch"] for run in trained(tmp_path / "run").values()]
    assert all(0 < epoch < 100_000 for epoch in stopped)
    short = tuple(str(max(stopped) + 7) if word == "100000" else word for word in LENGTH)
    again = train if stacks == 1 else train_in_fork
    for root, more in (("run", ("--resume",)), ("whole", ())):
        assert again(tmp_path / root, "single_layer", *words, *short, *more) == 0
    assert_identical(trained(tmp_path / "run"), trained(tmp_path / "whole"))


@pytest.mark.parametrize(
    "number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)]
)
def test_a_signal_to_the_whole_process_group(number, tmp_path):
    """As a terminal and some schedulers send it: workers hear of it twice."""
    words = (*BASE, "--seed", "0-3", "--workers", "2", *LENGTH)
    begin = start if number == signal.SIGINT else fork
    code, _, errors = stop(tmp_path, words, stacks=2, number=number, send=os.killpg, begin=begin)
    assert errors == ""
    assert code == {signal.SIGTERM: 75, signal.SIGINT: 130}[number]
    assert all(run.checkpoint["epoch"] > 0 for run in trained(tmp_path).values())


def test_nothing_is_saved_of_what_has_not_begun(tmp_path):
    """The second of two stacks: no state is as good as its first one."""
    words = (*BASE, "--seed", "0-1", "--ensemble-size", "1", *LENGTH)
    code, _, errors = stop(tmp_path, words)
    assert (code, errors) == (75, "")
    assert len(list((tmp_path / "save" / "t").iterdir())) == 1
