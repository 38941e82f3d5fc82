"""A command under attack is stopped when it waits for ever or works on, not when it is slow."""

import os
import time

import pytest

from tests.attacks import harness

WAIT = 0.5


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    monkeypatch.setattr(harness, "REST", WAIT)
    monkeypatch.setattr(harness, "LOOK_INTERVAL", WAIT / 10)


def test_a_command_that_waits_for_a_pipe_is_stopped(monkeypatch):
    reading, writing = os.pipe()
    with pytest.raises(harness.TookTooLong), harness.patience(monkeypatch):
        os.read(reading, 1)
    os.close(reading)
    os.close(writing)


def never_ends():
    while True:
        pass


def test_a_command_that_does_not_end_is_stopped(monkeypatch):
    monkeypatch.setattr(harness, "MOST_WORK", 0.2)
    with pytest.raises(harness.TookTooLong), harness.patience(monkeypatch):
        never_ends()


def test_a_command_that_works_slowly_is_not_stopped(monkeypatch):
    monkeypatch.setattr(harness, "LEAST_WORK", 0.001)
    with harness.patience(monkeypatch):
        end = time.monotonic() + 2 * WAIT
        while time.monotonic() < end:
            sum(range(100_000))
            time.sleep(WAIT / 50)
