"""Runs that are killed again and again at moments of all kinds end as if nothing had happened."""

import os
import random
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch

from tests.ensemble.plans import assert_identical, fork, start, trained
from tests.forks import Fork
from tests.processes import until

ENDLESS = ("--max-iterations", "100000000")
"""A length that no process reaches before it is killed, however late the kill comes."""


@dataclass(frozen=True)
class Kill:
    """A moment of training and the signal sent then.

    moment: what has to happen `times` times first: `log`, `checkpoint`, or nothing.
    seconds: waited after that.
    """

    number: signal.Signals
    moment: str = ""
    times: int = 1
    seconds: float = 0.0


def assert_nothing_is_lost(
    root: Path, words: Sequence[str], kills: Sequence[Kill], runs: int, script: str = "single_layer"
) -> None:
    """Train with and without kills, and compare every event, checkpoint and table.

    Endless runs are killed, and started again with --resume, for every kill; the end is a length
    that no run has reached, and `LEAST` at the least. The first of several processes is a fresh
    interpreter, as are its workers; others are forks. SIGKILL ends the whole process group, as the
    end of a job does; SIGTERM goes to the script.
    """
    found = root / "disturbed", root / "undisturbed"
    for number, kill in enumerate(kills):
        begin = start if len(kills) > 1 and number == 0 else fork
        with begin(found[0], script, *words, *ENDLESS, "--resume") as process:
            for line in process.stdout:
                if " stack" in line:
                    break
            _wait_for(kill, found[0], process)
            if process.poll() is None:  # else it has failed, as its errors say
                send = os.killpg if kill.number == signal.SIGKILL else os.kill
                send(process.pid, kill.number)
            _, errors = process.communicate()
            assert process.returncode in (75, -kill.number), errors
    length = ENDLESS[0], str(max(LEAST, _furthest(found[0]) + 7))
    for folder, more in zip(found, (("--resume",), ()), strict=True):
        with fork(folder, script, *words, *length, *more) as process:
            _, errors = process.communicate()
            assert (process.returncode, errors) == (0, "")
    disturbed, undisturbed = map(trained, found)
    assert len(disturbed) == runs
    assert_identical(disturbed, undisturbed)
    tables = [[f.read_text(encoding="utf-8") for f in (r / "results").glob("*")] for r in found]
    assert tables[0] == tables[1]


def _furthest(root: Path) -> int:
    """Return the iterations that the furthest run has done."""
    files = (root / "save").rglob("[!.]*.pth")
    return max((torch.load(path, weights_only=True)["epoch"] for path in files), default=0)


def _wait_for(kill: Kill, root: Path, process: subprocess.Popen[str] | Fork) -> None:
    state = {"log": _size_of_logs, "checkpoint": _checkpoints_in_writing}.get(kill.moment)
    for _ in range(kill.times if state else 0):
        _until_changed(state, root, process)
    time.sleep(kill.seconds)


def _until_changed(
    state: Callable[[Path], object], root: Path, process: subprocess.Popen[str] | Fork
) -> None:
    before = state(root)
    until(lambda: state(root) != before or process.poll() is not None)


def _size_of_logs(root: Path) -> int:
    """Of one run; all of a stack are written to one after another.

    Zero as well while a run that had saved nothing gives up its file and begins a new one.
    """
    try:
        first = next((root / "tensorboard").rglob("events.*"), None)
        return 0 if first is None else first.stat().st_size
    except FileNotFoundError:
        return 0


def _checkpoints_in_writing(root: Path) -> list[str]:
    """Files that are there only while the states of a stack are being saved."""
    return sorted(path.name for path in (root / "save").rglob(".*"))


NMU = (
    *("--layer-type", "ReRegualizedLinearMNAC", "--operation", "mul", "--nmu-noise"),
    *("--batch-size", "16", "--clip-grad-norm", "1"),
    *("--regualizer-scaling-start", "25", "--regualizer-scaling-end", "100"),
    *("--log-interval", "10", "--checkpoint-interval", "20"),
    *("--interpolation-range", "[1,2]", "[-2,2]", "[[-2,-1],[1,2]]"),
    *("--extrapolation-range", "[2,6]"),
)
"""Of a seed, the first two ranges are drawn together, and the last one by itself."""
GROUPED = (
    *("--seed", "0-5", "--noise-range", "[1,5]", "[1,2]", "--ensemble-size", "10"),
    *("--workers", "2"),
)
"""Two processes with two stacks each, which draw the same samples and take turns."""
IN_TORCH = (*NMU, "--seed", "0", "--workers", "1", "--engine", "torch")
OWN = (
    *("--target", "x1*x2 + x3", "--noise", "0.1", "--layer-type", "NMU", "--seed", "0-3"),
    *("--workers", "1", "--log-interval", "10", "--checkpoint-interval", "20"),
)
LEAST = 130
"""Iterations, past the ramp of the penalty."""


def drawn_kills(count):
    """Kills of both kinds at moments of all kinds, drawn from a fixed seed."""
    dice = random.Random(20)
    return [
        Kill(
            dice.choice((signal.SIGKILL, signal.SIGTERM)),
            dice.choice(("", "log", "checkpoint")),
            dice.randint(1, 2),
            dice.choice((0.0, dice.uniform(0, 0.02), dice.uniform(0, 0.4))),
        )
        for _ in range(count)
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "count", "runs", "script"),
    [
        ((*NMU, *GROUPED), 5, 36, "single_layer"),
        (IN_TORCH, 2, 3, "single_layer"),
        (OWN, 2, 4, "own_task"),
    ],
    ids=["grouped", "in torch", "own task"],
)
def test_arithmetic_runs(words, count, runs, script, tmp_path):
    assert_nothing_is_lost(tmp_path, words, drawn_kills(count), runs, script)
