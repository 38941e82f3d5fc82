"""What every job ends with: which element it trains, what a signal does, what is requeued."""

import os
import shutil
import sys
from contextlib import ExitStack

import pytest

from stable_nalu.base.files import CHECKOUT
from tests.processes import started, until

SHARD = """#!{python}
import signal, sys, time
def stop(*_):
    sys.exit({code})
{trap}
print(" ".join(sys.argv[1:]), flush=True)
while True:
    time.sleep(60)
"""
RECORDER = """#!/usr/bin/env bash
echo "$(basename "$0") $*" >> "{out}"
[ "$(basename "$0")" = squeue ] && echo {state}
exit 0
"""


@pytest.fixture
def job(tmp_path):
    """A project whose shards wait for a signal; the result starts the wrapper in it."""
    (tmp_path / "lfs_batch_jobs").mkdir()
    shutil.copy(CHECKOUT / "lfs_batch_jobs" / "run.sh", tmp_path / "lfs_batch_jobs")

    def start(code=75, state="RUNNING", trap="signal.signal(signal.SIGTERM, stop)", **environment):
        shard = SHARD.format(python=sys.executable, code=code, trap=trap)
        recorder = RECORDER.format(out=tmp_path / "said", state=state)
        for name, text in (("python", shard), ("squeue", recorder), ("scontrol", recorder)):
            (tmp_path / name).write_text(text)
            (tmp_path / name).chmod(0o755)
        interpreter = tmp_path / "python"
        path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
        wrapper = started(
            ["bash", tmp_path / "lfs_batch_jobs" / "run.sh", "a/b", "0", "4"],
            env={**os.environ, "PATH": path, "PYTHON": str(interpreter), **environment},
        )
        return processes.enter_context(wrapper)

    with ExitStack() as processes:
        yield start


def until_it_trains(folder, element):
    output = folder / "logs" / "a" / "b" / f"{element}.out"
    until(lambda: output.exists() and output.read_text(), 0.01)
    return output.read_text().split()


def stopped(process):
    process.terminate()
    return process.wait()


SLURM = {"SLURM_ARRAY_TASK_ID": "3", "SLURM_ARRAY_JOB_ID": "7"}


def test_an_element_of_slurm(job, tmp_path):
    process = job(**SLURM)
    assert until_it_trains(tmp_path, "7_3")[-5:] == ["a/b", "0", "4", "--task", "3"]
    assert stopped(process) == 75
    said = (tmp_path / "said").read_text().splitlines()
    assert said == ["squeue --noheader --jobs 7_3 --format %T", "scontrol requeue 7_3"]


@pytest.mark.parametrize(("text", "kept"), [("", False), ("module: not found\n", True)])
def test_what_was_said_before_the_wrapper_is_kept(job, tmp_path, text, kept):
    """A script given to sbatch itself has a file in the folder that it was submitted from."""
    first = tmp_path / "b_7_3.out"
    first.write_text(text)
    process = job(SLURM_SUBMIT_DIR=str(tmp_path), SLURM_JOB_NAME="b", **SLURM)
    until_it_trains(tmp_path, "7_3")
    assert stopped(process) == 75
    assert first.exists() == kept


def test_a_cancelled_element_stays_away(job, tmp_path):
    process = job(state="COMPLETING", **SLURM)
    until_it_trains(tmp_path, "7_3")
    assert stopped(process) == 75
    assert "requeue" not in (tmp_path / "said").read_text()


def test_a_signal_before_training(job, tmp_path):
    """Nothing is lost but the start: it goes back into the queue."""
    process = job(trap="", **SLURM)
    until_it_trains(tmp_path, "7_3")
    assert stopped(process) == 75
    assert "scontrol requeue 7_3" in (tmp_path / "said").read_text()


SAVING = """
import pathlib
def stop(*_):
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    print("saving", flush=True)
    while not pathlib.Path({allowed!r}).exists():
        time.sleep(0.01)
    sys.exit(75)
signal.signal(signal.SIGTERM, stop)
"""


def test_a_repeated_signal_does_not_end_an_element_that_saves(job, tmp_path):
    """As scancel of SLURM 22 repeats it, every few seconds."""
    allowed = tmp_path / "allowed"
    process = job(trap=SAVING.format(allowed=str(allowed)), **SLURM)
    until_it_trains(tmp_path, "7_3")
    process.terminate()
    output = tmp_path / "logs" / "a" / "b" / "7_3.out"
    until(lambda: "saving" in output.read_text())
    process.terminate()
    allowed.touch()
    assert process.wait() == 75
    assert (tmp_path / "said").read_text().count("requeue") == 1


def test_an_element_of_lsf(job, tmp_path):
    process = job(LSB_JOBID="9", LSB_JOBINDEX="2")
    assert until_it_trains(tmp_path, "9_1")[-2:] == ["--task", "1"]
    assert stopped(process) == 75
    assert not (tmp_path / "said").exists()


def test_a_failure_is_not_requeued(job, tmp_path):
    process = job(code=2, **SLURM)
    until_it_trains(tmp_path, "7_3")
    assert stopped(process) == 2
    assert not (tmp_path / "said").exists()
