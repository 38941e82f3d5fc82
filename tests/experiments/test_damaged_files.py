"""Saved states that cannot be continued, and plans that cannot be begun: nothing is touched."""

import copy
import os
from pathlib import Path

import pytest
import torch

from stable_nalu.task.run import set_threads
from stable_nalu.training.plan.groups import errors_in_one_line
from tests.experiments.scripts import read, run, run_names

REALNPU = ("--operation", "mul", "--layer-type", "RealNPU", "--regualizer-l1")
WORDS = (*REALNPU, "--max-iterations", "4", "--log-interval", "2")
LONGER = (*REALNPU, "--max-iterations", "8", "--log-interval", "2", "--load-checkpoint")

DAMAGE = {
    "no dictionary": lambda state: [state],
    "an iteration in words": lambda state: state | {"epoch": "three"},
    "a negative iteration": lambda state: state | {"epoch": -1},
    "parameters as a list": lambda state: state | {"model_state_dict": [1]},
    "no parameters": lambda state: state | {"model_state_dict": {}},
    "parameters without values": lambda state: (
        state | {"model_state_dict": dict.fromkeys(state["model_state_dict"], "x")}
    ),
    "an empty optimiser": lambda state: state | {"optimizer_state_dict": {}},
    "no generator": lambda state: {k: v for k, v in state.items() if k != "torch_rng_state"},
    "a generator of zeros": lambda state: state | {"torch_rng_state": torch.zeros(3)},
    "no progress": lambda state: state | {"progress": {}},
    "a beta in words": lambda state: state | {"progress": state["progress"] | {"beta": "much"}},
    "a log position in words": lambda state: (
        state | {"progress": state["progress"] | {"event_position": "end"}}
    ),
    "a log beyond its end": lambda state: (
        state | {"progress": state["progress"] | {"event_position": 10**9}}
    ),
}


@pytest.fixture
def checkpoint():
    """Path of the checkpoint of a finished run."""
    assert run("single_layer", *WORDS) == 0
    (name,) = run_names("single_layer", *WORDS)
    return Path(os.environ["SAVE_DIR"]) / f"{name}.pth"


def logs():
    """Path -> bytes of all event files below the log root."""
    root = Path(os.environ["TENSORBOARD_DIR"])
    return {path: path.read_bytes() for path in root.rglob("events*")}


@pytest.mark.parametrize("case", DAMAGE)
def test_a_damaged_checkpoint_is_refused_and_the_log_stays(case, checkpoint, capsys):
    state = torch.load(checkpoint, weights_only=True)
    torch.save(DAMAGE[case](copy.deepcopy(state)), checkpoint)
    before = logs()
    capsys.readouterr()
    assert run("single_layer", *LONGER) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert str(checkpoint) in line or "cannot continue" in line
    assert logs() == before
    torch.save(state, checkpoint)
    assert run("single_layer", *LONGER) == 0


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("single_layer", (*WORDS, "--ensemble-size", "1")),
        ("number_translation", ("--layer-type", "NAC", "--max-epochs", "0")),
    ],
)
def test_a_plan_is_begun_whole_or_not_at_all(script, words, capsys):
    assert run(script, *words, "--seed", "2") == 0
    (taken,) = run_names(script, *words, "--seed", "2")
    before = read(taken).values
    assert run(script, *words, "--seed", "0-2") == 2
    assert "already holds data" in capsys.readouterr().err
    folders = [path.parent for path in logs()]
    assert folders == [read(taken).folder]
    assert read(taken).values == before
    assert run(script, *words, "--seed", "0-1") == 0


def test_what_does_not_fit_into_memory(capsys, tmp_path):
    words = (*WORDS, "--batch-size", str(10**13))
    assert run("single_layer", *words) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "lower --batch-size" in line
    assert not (tmp_path / "tensorboard").exists()


def test_other_errors_keep_their_traceback():
    with pytest.raises(RuntimeError, match="of ours"), errors_in_one_line():
        raise RuntimeError("a mistake of ours")


@pytest.mark.parametrize(
    ("granted", "threads"), [("", 1), ("many", 1), ("0", 1), ("1", 1), ("99999", os.cpu_count())]
)
def test_threads_are_those_granted_and_no_more_than_there_are(granted, threads, monkeypatch):
    monkeypatch.setenv("LSB_DJOB_NUMPROC", granted)
    monkeypatch.delenv("SLURM_CPUS_PER_TASK", raising=False)
    set_threads()
    assert torch.get_num_threads() == threads
