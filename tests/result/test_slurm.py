"""An array job on a real SLURM, disturbed in the middle, gives the tables of an undisturbed run."""

import os
import re
import subprocess
import sys
from functools import partial
from pathlib import Path

import pandas as pd
import pytest

import stable_nalu as sn
from stable_nalu.base.files import CHECKOUT, cells_of
from stable_nalu.result import batch
from stable_nalu.result.export import arithmetic
from tests.processes import until as wait
from tests.result.slurm_cluster import NoClusterError, running_cluster

SCRIPT = "lfs_batch_jobs/single_layer_task/neurips_2021/sltr-in2.sh"
WORDS = ("0", "2", "--model", "nru", "--runs-per-task", "9", "--max-iterations", "500")

BRAKE = """
import os, pathlib, select, signal, socket, sys

again = "SLURM_RESTART_COUNT" in os.environ
if "SLURM_ARRAY_TASK_ID" in os.environ and not again:
    actual, tell = socket.socketpair()
    tell.setblocking(False)
    signal.set_wakeup_fd(tell.fileno())

    def brake(event, arguments):
        if event == "os.rename":
            path = pathlib.Path(os.fsdecode(arguments[1]))
            if path.suffix == ".pth" and path.exists():
                select.select([actual], [], [])

    sys.addaudithook(brake)
"""
"""Holds each element at its second checkpoint, until a signal comes.

Else an element could be over before its turn to be disturbed.
"""


@pytest.fixture
def cluster(tmp_path):
    folder = tmp_path / "slurm"
    folder.mkdir()
    try:
        with running_cluster(folder) as found:
            yield found
    except NoClusterError as reason:
        pytest.skip(str(reason))


def folders(root):
    """Where jobs write, as their environment says."""
    return {"TENSORBOARD_DIR": str(root / "tensorboard"), "SAVE_DIR": str(root / "save")}


@pytest.fixture
def here(monkeypatch, capsys):
    """Run a batch script's program in this process; its output."""

    def run(root, *words):
        for name, value in folders(root).items():
            monkeypatch.setenv(name, value)
        capsys.readouterr()
        assert batch.main([SCRIPT, *WORDS, "--log-dir", str(root / "logs"), *words]) == 0
        return capsys.readouterr().out

    return run


def submit(root, *words, **environment):
    """Submit a batch script; what it says."""
    done = subprocess.run(
        ["bash", SCRIPT, *WORDS, "--log-dir", str(root / "logs"), "--scheduler", "slurm", *words],
        cwd=CHECKOUT,
        env={**os.environ, **folders(root), "PYTHON": sys.executable, **environment},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def table(root):
    """The exported rows of all runs, without their wall time."""
    path, runs = root / "nru.csv", root / "tensorboard" / "sltr-in2" / "nru"
    assert arithmetic(["--tensorboard-dir", str(runs), "--csv-out", str(path)]) == 0
    return [{k: v for k, v in row.items() if k != "wall.time"} for row in cells_of(path)]


def in_the_middle(root, index):
    """Whether all runs of an element of the array have been saved at least once."""
    return len(list((root / "save" / "sltr-in2" / "nru").glob(f"*_s{index}_*.pth"))) == 9


@pytest.mark.slow
@pytest.mark.slurm
def test_a_disturbed_array(cluster, here, tmp_path):
    disturbed, undisturbed = tmp_path / "disturbed", tmp_path / "undisturbed"
    until = partial(wait, pause=0.5)
    (tmp_path / "sitecustomize.py").write_text(BRAKE)
    braked = {"PYTHONPATH": str(tmp_path), **cluster.environment}
    said = submit(disturbed, **braked)
    job = re.search(r"Submitted batch job (\d+)", said).group(1)
    assert "27 runs in 3 shards" in said
    logs = disturbed / "logs" / Path(SCRIPT).relative_to("lfs_batch_jobs").with_suffix("")

    def disturb(index, *command):
        until(lambda: in_the_middle(disturbed, index))
        # Some versions of scancel repeat a signal until the job is over. It is stopped before the
        # element can start again.
        cluster.ask("scontrol", "update", "PartitionName=test", "State=DOWN")
        with cluster.start(*command, f"{job}_{index}") as process:
            said = "stopped before iteration"
            until(lambda: said in (logs / f"{job}_{index}.out").read_text())
            process.terminate()
        cluster.ask("scontrol", "update", "PartitionName=test", "State=UP")

    disturb(1, "scancel", "--batch", "--signal=TERM")
    disturb(0, "scontrol", "requeue")
    disturb(2, "scancel")
    until(lambda: not cluster.states(job))
    for index, restarts, state in ((0, 1, "COMPLETED"), (1, 1, "COMPLETED"), (2, 0, "CANCELLED")):
        shown = cluster.ask("scontrol", "show", "job", f"{job}_{index}")
        assert f"JobState={state}" in shown
        assert f"Restarts={restarts}" in shown
    status = here(disturbed, "--status").splitlines()
    assert status[-1].endswith("18 done, 0 running, 9 failed, 0 missing")
    said = submit(disturbed, "--resume", **cluster.environment)
    assert "9 runs in 1 shard;" in said
    until(lambda: not cluster.states(re.search(r"Submitted batch job (\d+)", said).group(1)))
    assert here(disturbed, "--resume") == "nothing left to train\n"
    said = [(logs / f"{job}_{index}.err").read_text() for index in (0, 1)]
    # Where a signal is repeated, the shell may say what became of its command.
    assert [said[0], said[1].replace("Terminated\n", "")] == [""] * 2
    for task in range(3):
        here(undisturbed, "--task", str(task))
    rows = table(undisturbed)
    assert len(rows) == 27 * 21
    assert table(disturbed) == rows


TASK = """
import stable_nalu as sn

TASK = sn.task("x1 * x2", train=(1, 2), test=(2, 6))
"""


@pytest.mark.slow
@pytest.mark.slurm
def test_a_requeued_sweep_of_an_own_task(cluster, tmp_path, monkeypatch):
    (tmp_path / "sitecustomize.py").write_text(BRAKE)
    (tmp_path / "own.py").write_text(TASK)
    how = {"task_file": "own.py", "layer": ["NMU", "NAU"], "seed": range(3)}
    how |= {"max_iterations": 500, "log_interval": 100}
    monkeypatch.chdir(tmp_path)
    for name, value in {"PYTHONPATH": str(tmp_path), "PYTHON": sys.executable}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("SLURM_CONF", cluster.environment["SLURM_CONF"])
    job = sn.submit("own_task", scheduler="slurm", tasks=2, out="swept", **how).job
    for index, layer in enumerate(("mnac", "nac")):
        saved = partial(Path("swept/save").rglob, f"*linear{layer}*.pth")
        wait(lambda saved=saved: len(list(saved())) == 3, pause=0.5)
        cluster.ask("scontrol", "requeue", f"{job}_{index}")
    wait(lambda: not cluster.states(job), pause=0.5)
    for index in (0, 1):
        shown = cluster.ask("scontrol", "show", "job", f"{job}_{index}")
        assert {"JobState=COMPLETED", "Restarts=1"} <= {*shown.split()}
    assert not sn.submit("own_task", scheduler="slurm", tasks=2, out="swept", **how).job
    sn.train("own_task", out="alone", short_names=False, **how)
    swept, alone = (sn.read_runs(folder).table for folder in ("swept", "alone"))
    assert len(swept["name"].unique()) == 6
    pd.testing.assert_frame_equal(*(one.drop(columns="wall.time") for one in (swept, alone)))
