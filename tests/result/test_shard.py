"""Shards: what is left of an experiment, and processes of this machine that train it."""

import json
import os
import signal
import sys

import pytest
import torch

from stable_nalu.base.files import save_root, tensorboard_root
from stable_nalu.base.script import EXIT_REQUEUE
from stable_nalu.result import batch
from stable_nalu.result.batch import JOB_SCRIPTS
from stable_nalu.result.shard import (
    MARKER,
    State,
    how_to_run,
    mark_finished,
    pending,
    shards,
    state_of,
)
from stable_nalu.training.checkpoint import model_file
from stable_nalu.writer.event_file import RunRecord, claimed
from tests.forks import Fork
from tests.processes import until

SCRIPT = JOB_SCRIPTS["single_layer_task/neurips_2021/sltr-in2"]
NRU = SCRIPT.chosen(["nru"])


def first_shard(*seeds):
    return shards(NRU, seeds)[0]


def test_shards_hold_every_run_once():
    for name in ("icml_2022/arithmetic_dataset", "function_task_static_regualization"):
        models = JOB_SCRIPTS[name].named_models()
        names = [run.name for shard in shards(models, [0, 1, 5]) for run in shard.expected()]
        wanted = sum(model.runs // len(model.seeds) * 3 for model in models.values())
        assert len(names) == len(set(names)) == wanted


def test_a_shard_has_at_most_250_runs():
    found = shards(NRU, range(50))
    assert [shard.seeds for shard in found] == [tuple(range(27)), tuple(range(27, 50))]
    assert [shard.runs for shard in found] == [243, 207]
    assert [shard.runs for shard in shards(NRU, None, 18)][:2] == [18, 18]


def test_short_runs_log_more_often():
    model = NRU["nru"]
    short = how_to_run(model, model.variants[0], 300)
    assert short["--max-iterations"] == ("300",)
    assert short["--log-interval"] == ("15",)
    assert short["--checkpoint-interval"] == ("60",)
    full = how_to_run(model, model.variants[0])
    assert full == {"--checkpoint-interval": ("10000",), "--workers": ("1",)}


@pytest.fixture
def trained():
    """Make the folder of a run, with an event file."""

    def make(run):
        record = RunRecord.create("single_layer", {}, "")
        with claimed(tensorboard_root() / run.name, record):
            pass

    return make


def test_states(trained):
    runs = first_shard(0).expected()
    root = tensorboard_root()
    for run in runs[:3]:
        trained(run)
    mark_finished(runs[:1])
    record = RunRecord.create("single_layer", {}, "")
    with claimed(root / runs[2].name, record, remove_existing_data=True):
        states = [state_of(run) for run in runs[:4]]
    assert states == [State.DONE, State.FAILED, State.RUNNING, State.MISSING]
    assert first_shard(0).states(None)[State.MISSING] == 6


@pytest.mark.parametrize(
    "other",
    [
        *("{}", "[]", "null", '{"event_files": 1, "iterations": "x"}', None),
        *({"iterations": 20}, {"event_files": ["of the run before"]}),
    ],
)
def test_a_mark_that_is_damaged_or_of_a_shorter_or_former_run_does_not_count(other, trained):
    run = first_shard(0).expected()[0]
    trained(run)
    mark_finished([run])
    assert state_of(run) is State.DONE
    mark = tensorboard_root() / run.name / MARKER
    text = json.dumps(json.loads(mark.read_text()) | other) if isinstance(other, dict) else other
    mark.unlink()
    mark.mkdir() if text is None else mark.write_text(text)
    assert state_of(run) is State.FAILED


@pytest.mark.parametrize(
    "content", [[1], 3, {"progress": None}, {"progress": {"event_file": 1}, "epoch": "x"}]
)
def test_a_damaged_checkpoint_is_none(content, trained):
    run = first_shard(0).expected()[0]
    trained(run)
    path = model_file(save_root(), run.name)
    path.parent.mkdir(parents=True)
    torch.save(content, path)
    assert state_of(run) is State.FAILED


def test_what_is_left_is_planned_and_no_more(trained):
    shard = first_shard(0, 1)
    runs = shard.expected()
    done = [runs[0], runs[1], runs[2]]
    for run in done:
        trained(run)
    mark_finished(done)
    planned = pending(shard)
    names = {name for _, runs in planned for name in runs}
    assert names == {run.name for run in runs} - {run.name for run in done}
    assert len(planned) == 2


def test_status_and_resume(trained, capsys):
    for run in first_shard(*range(5)).expected():
        trained(run)
        mark_finished([run])
    words = [SCRIPT.name, "0", "9", "--model", "nru"]
    assert batch.main([*words, "--status"]) == 0
    assert "nru: 45 done, 0 running, 0 failed, 45 missing" in capsys.readouterr().out
    assert batch.main([*words, "--resume", "--dry-run"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert len(said) == 1
    assert "--seed 5-9 " in said[0]
    assert batch.main([SCRIPT.name, "0", "4", "--model", "nru", "--resume"]) == 0
    assert capsys.readouterr().out == "nothing left to train\n"


SHARD = """
import signal, sys, time
from pathlib import Path

folder = Path(sys.argv[1])

def save(*_):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    (folder / "saving").touch()
    while not (folder / "go on").exists():
        time.sleep(0.01)
    (folder / "saved").touch()
    sys.exit(75)

signal.signal(signal.SIGTERM, save)
(folder / "begun").touch()
time.sleep(60)
"""
PARENT = """
import sys
from pathlib import Path
from stable_nalu.result.shard import run_modules

logs = Path(sys.argv[1])
sys.exit(run_modules({0: ["shard", sys.argv[1]]}, {0: "one"}, logs, processes=1))
"""


def test_a_second_signal_does_not_end_the_wait_for_a_shard_that_saves(tmp_path):
    (tmp_path / "shard.py").write_text(SHARD)
    (tmp_path / "parent.py").write_text(PARENT)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    with Fork(str(tmp_path / "parent.py"), [str(tmp_path)], environment, "", "") as parent:
        until((tmp_path / "begun").exists)
        parent.terminate()
        until((tmp_path / "saving").exists)
        parent.terminate()
        os.kill(parent.pid, signal.SIGINT)
        (tmp_path / "go on").touch()
        out, errors = parent.communicate()
    assert (parent.returncode, errors) == (EXIT_REQUEUE, "")
    assert "stopped 1 shard; the same command goes on" in out
    assert (tmp_path / "saved").exists()
