"""Stacks shared by several processes: the same results, and no worker fails unseen."""

import os
import signal
from pathlib import Path

import pytest
import torch

from stable_nalu.training.checkpoint import model_file
from tests.ensemble.plans import assert_identical, fork, roots, start, train, trained
from tests.experiments.scripts import run_names
from tests.processes import until

WORDS = ("--layer-type", "SignNMRU", "--operation", "mul", "--seed", "0-3")
SHORT = ("--max-iterations", "40", "--log-interval", "20")
LONG = ("--max-iterations", "200000", "--log-interval", "1000", "--checkpoint-interval", "1000")


def children(pid: int) -> list[int]:
    """Processes that a process has started and that train."""
    listed = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [
        int(child)
        for child in listed
        if b"resource_tracker" not in Path(f"/proc/{child}/cmdline").read_bytes()
    ]


def wait_until_all_train(process, stacks):
    """Read output until every stack has shown its first line."""
    left = stacks
    for line in process.stdout:
        left -= "train 0" in line
        if not left:
            return
    raise AssertionError(process.stderr.read())


def test_same_stacks_same_results(tmp_path):
    """Two stacks of two runs, in one process and in two."""
    here = (*WORDS, *SHORT, "--ensemble-size", "2", "--workers", "1")
    for place, words in (("here", here), ("workers", (*WORDS, *SHORT, "--workers", "2"))):
        with fork(tmp_path / place, "single_layer", *words) as process:
            out, errors = process.communicate()
        assert (process.returncode, errors) == (0, "")
        assert f"4 runs in 2 stacks on {'1 process' if words is here else '2 processes'}:" in out
    assert_identical(trained(tmp_path / "here"), trained(tmp_path / "workers"))


def test_an_error_is_one_line(tmp_path, capsys):
    """A worker that cannot go on ends the plan; the others save what they have."""
    with roots(tmp_path):
        name = run_names("single_layer", *WORDS, *LONG)[1]
        path = model_file(tmp_path / "save", name)
        path.parent.mkdir(parents=True)
        # Passes for a checkpoint of another shape, which only the worker notices.
        shape = {"layer_1.layer.W": torch.zeros(5, 5)}
        content = dict.fromkeys(("epoch", "optimizer_state_dict", "progress"), {})
        torch.save(content | {"epoch": 1, "model_state_dict": shape, "config": {}}, path)
    words = (*WORDS, *LONG, "--workers", "2", "--ensemble-size", "1", "--resume")
    assert train(tmp_path, "single_layer", *words) == 2
    errors = capsys.readouterr().err.splitlines()
    assert len(errors) == 1
    assert errors[0].startswith("single_layer.py: error: ")


@pytest.mark.slow
def test_a_killed_worker_is_reported_and_the_other_finishes(tmp_path):
    words = (*WORDS, "--max-iterations", "10000", "--checkpoint-interval", "500")
    with fork(tmp_path, "single_layer", *words, "--workers", "2") as process:
        wait_until_all_train(process, 2)
        os.kill(children(process.pid)[0], signal.SIGKILL)
        out, errors = process.communicate()
    assert process.returncode == 2
    assert "a worker process ended early, exit code -9" in out
    (line,) = errors.splitlines()
    assert "stacks 0 are incomplete" in line
    assert "--resume" in line
    epochs = [run.checkpoint and run.checkpoint["epoch"] for run in trained(tmp_path).values()]
    assert epochs.count(10001) == 2


@pytest.mark.slow
def test_a_worker_that_is_stopped_alone(tmp_path):
    """As pre-emption may do it: the others finish, and the job is put back into the queue."""
    words = (*WORDS, "--max-iterations", "10000", "--workers", "2")
    with fork(tmp_path, "single_layer", *words) as process:
        wait_until_all_train(process, 2)
        os.kill(children(process.pid)[0], signal.SIGTERM)
        _, errors = process.communicate()
    assert (process.returncode, errors) == (75, "")
    epochs = [run.checkpoint["epoch"] for run in trained(tmp_path).values()]
    assert epochs.count(10001) == 2


@pytest.mark.slow
def test_workers_stop_when_their_parent_is_killed(tmp_path):
    with start(tmp_path, "single_layer", *WORDS, *LONG, "--workers", "2") as process:
        wait_until_all_train(process, 2)
        workers = children(process.pid)
        assert len(workers) == 2
        process.kill()
        process.communicate()
        until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in workers))
    stopped = [run.checkpoint["epoch"] for run in trained(tmp_path).values()]
    assert all(0 < epoch < 200_000 for epoch in stopped)
