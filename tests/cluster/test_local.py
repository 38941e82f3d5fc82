"""Processes of this machine and the signals that stop them."""

import os
import signal
import subprocess
import sys
import time

from stable_nalu.script import EXIT_REQUEUE

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
from stable_nalu.cluster.local import run_modules

logs = Path(sys.argv[1])
sys.exit(run_modules({0: ["shard", sys.argv[1]]}, {0: "one"}, logs, processes=1))
"""


def wait_for(path):
    end = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < end, path
        time.sleep(0.01)


def test_a_second_signal_does_not_end_the_wait_for_a_shard_that_saves(tmp_path):
    (tmp_path / "shard.py").write_text(SHARD)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    command = [sys.executable, "-c", PARENT, str(tmp_path)]
    parent = subprocess.Popen(command, env=environment, stdout=-1, stderr=-1, text=True)
    wait_for(tmp_path / "begun")
    parent.send_signal(signal.SIGTERM)
    wait_for(tmp_path / "saving")
    parent.send_signal(signal.SIGTERM)
    parent.send_signal(signal.SIGINT)
    (tmp_path / "go on").touch()
    out, errors = parent.communicate(timeout=60)
    assert (parent.returncode, errors) == (EXIT_REQUEUE, "")
    assert "stopped 1 shard; the same command goes on" in out
    assert (tmp_path / "saved").exists()
