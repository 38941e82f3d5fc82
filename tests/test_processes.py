"""A process is waited for as long as it works, and ended when it does not."""

import subprocess
import sys
import time

import pytest

from tests import processes
from tests.processes import started, until, work_of_session, work_with_environment

BUSY = "print('on', flush=True)\nwhile True: pass"
ASLEEP = "import time; print('on', flush=True); time.sleep(3600)"


@pytest.fixture(autouse=True)
def _looks_often(monkeypatch):
    monkeypatch.setattr(processes, "CHECK_INTERVAL", 0.01)


@pytest.fixture
def _impatient(monkeypatch):
    monkeypatch.setattr(processes, "REST", 0.1)


def python(code, **keywords):
    return started([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, **keywords)


@pytest.mark.usefixtures("_impatient")
def test_one_that_rests_is_ended():
    with (
        pytest.raises(AssertionError, match="nothing happened any more"),
        python(ASLEEP) as process,
    ):
        process.wait()
    assert process.returncode == -9


def test_one_that_works_is_not_ended_but_in_the_end(monkeypatch):
    monkeypatch.setattr(processes, "LEAST_WORK", 0.01)
    monkeypatch.setattr(processes, "MOST_WORK", 0.3)
    with pytest.raises(AssertionError, match="nothing happened any more"), python(BUSY) as process:
        process.wait()


@pytest.mark.usefixtures("_impatient")
def test_waiting_for_what_does_not_happen():
    with pytest.raises(AssertionError, match="nothing happens"):
        until(lambda: False, lambda: 0.0)


def test_nothing_is_left_behind():
    with python(f"import subprocess, sys; subprocess.run([sys.executable, '-c', {ASLEEP!r}])") as p:
        assert p.stdout.readline() == "on\n"
    assert p.returncode == -9
    until(lambda: work_of_session(p.pid)() == 0, time.monotonic)


@pytest.mark.skipif(not (processes.PROCESSES / "self").exists(), reason="no /proc here")
def test_work_is_that_of_all_processes_meant():
    busy = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {BUSY!r}])"
    with python(busy, env={"MEANT": "yes"}) as process:
        for work in (work_of_session(process.pid), work_with_environment("MEANT=yes")):
            before = work()
            until(lambda: work() > before + 0.05, time.monotonic)  # noqa: B023 — used at once
    assert work_with_environment("MEANT=no")() == 0
