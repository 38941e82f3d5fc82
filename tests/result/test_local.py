"""Processes of this machine and the signals that stop them."""

import fcntl
import os
import select
import signal
import struct
import subprocess
import sys
import termios
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
from stable_nalu.result.shard import run_modules

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


TRAINS = """
import os, sys, time
from pathlib import Path
from stable_nalu.console import PROGRESS, Progress

folder = Path(sys.argv[1])
while not (folder / "go on").exists():
    Progress(30, 70, 2).write(Path(os.environ[PROGRESS]))
    time.sleep(0.05)
"""
WATCHES = """
import sys
from pathlib import Path
from stable_nalu.result.shard import run_modules

words, logs = ["shard", sys.argv[1]], Path(sys.argv[1])
run_modules({0: words}, {0: "one"}, logs, processes=1, runs={0: 5}, unit="epochs")
"""


def shown(folder, standard_output, until):
    """Run a process that trains, with errors in a terminal; return what that shows, and the rest.

    until: what it shows before the process may end.
    """
    (folder / "shard.py").write_text(TRAINS)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(folder), *sys.path])}
    ours, theirs = os.openpty()
    fcntl.ioctl(ours, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    output = theirs if standard_output is None else standard_output
    command = [sys.executable, "-c", WATCHES, str(folder)]
    parent = subprocess.Popen(command, env=environment, stdout=output, stderr=theirs, text=True)
    os.close(theirs)
    seen = ""
    while until not in seen:
        assert select.select([ours], [], [], 60)[0], seen
        seen += os.read(ours, 4096).decode()
    (folder / "go on").touch()
    out = parent.communicate(timeout=60)[0]
    os.close(ours)
    return seen, out


def test_a_terminal_sees_one_bar_over_all_processes(tmp_path):
    seen, _ = shown(tmp_path, None, "solved 2/5")
    assert "30.0/100 epochs" in seen
    assert "one" not in seen
    assert not list(tmp_path.glob("*.progress"))


def test_a_file_gets_a_line_per_process_though_a_terminal_sees_the_bar(tmp_path):
    seen, out = shown(tmp_path, subprocess.PIPE, "solved 2/5")
    assert "30.0/100 epochs" in seen
    assert out == "[1/1] one: done\n"
