"""Trains plans of runs under roots of their own, in this process or another, and compares them."""

import math
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import torch

from tests.experiments.scripts import Record, bits, read_folder, script_main
from tests.exported import ROOT
from tests.forks import Fork
from tests.processes import started, watched

COMMON = ("--no-cuda", "--name-prefix", "t")


@dataclass(frozen=True)
class Trained:
    """What a run left behind: its log and its checkpoint."""

    record: Record
    checkpoint: dict | None

    @property
    def logged(self) -> list[tuple[tuple[int, str], list]]:
        """What it logged, tag by tag in the order of the file."""
        return sorted(self.record.values.items(), key=lambda item: item[0][1])


@contextmanager
def roots(root: Path) -> Iterator[None]:
    """Logs and models go below `root`."""
    with mock.patch.dict(os.environ, environment(root)):
        yield


def environment(root: Path) -> dict[str, str]:
    return {
        "TENSORBOARD_DIR": str(root / "tensorboard"),
        "SAVE_DIR": str(root / "save"),
        "RESULTS_DIR": str(root / "results"),
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": str(ROOT),
    }


def train(root: Path, script: str, *words: str) -> int:
    """Run a script's `main` in this process; its exit code."""
    with roots(root):
        return script_main(script)([*COMMON, *words])


def start(root: Path, script: str, *words: str) -> AbstractContextManager[subprocess.Popen]:
    """Start a script in a session of its own, its output in pipes."""
    path = str(ROOT / "experiments" / f"{script}.py")
    return started(
        [sys.executable, path, *COMMON, *words],
        env={**os.environ, **environment(root)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def fork(
    root: Path, script: str, *words: str, before: str = "", imports: str = ""
) -> AbstractContextManager[Fork]:
    """Do as `start` does, in a fork of a process that has imported torch, and so have its workers.

    imports: modules that forks need to have, too.
    """
    path = str(ROOT / "experiments" / f"{script}.py")
    env = {**os.environ, **environment(root)}
    return watched(Fork(path, [*COMMON, *words], env, before, imports))


def trained(root: Path) -> dict[str, Trained]:
    """All runs below `root`, by name."""
    folders = sorted(p.parent for p in (root / "tensorboard").rglob("events.*"))
    assert len(set(folders)) == len(folders), "a folder with two event files"
    return {
        folder.name: Trained(read_folder(folder), _checkpoint(root, folder.name))
        for folder in folders
    }


def _checkpoint(root: Path, name: str) -> dict | None:
    path = root / "save" / "t" / f"{name}.pth"
    return torch.load(path, weights_only=True) if path.exists() else None


def assert_identical(one: dict[str, Trained], other: dict[str, Trained]) -> None:
    """Equal logs and checkpoints, bit for bit; names of event files and run control aside."""
    assert one.keys() == other.keys()
    for name, run in one.items():
        assert repr(run.logged) == repr(other[name].logged)
        assert bits(run.checkpoint) == bits(other[name].checkpoint)


def furthest(one: Trained, other: Trained) -> dict[str, float]:
    """By tag, the largest deviation of any two scalars, in units of max(|a|, |b|, 1e-3)."""
    worst: dict[str, float] = {}
    for (key, own), (other_key, others) in zip(one.logged, other.logged, strict=True):
        assert key == other_key
        for a, b in zip(own, others, strict=True):
            if isinstance(a, float):
                worst[key[1]] = max(worst.get(key[1], 0.0), _deviation(a, b))
    return worst


def _deviation(a: float, b: float) -> float:
    if a == b or (math.isnan(a) and math.isnan(b)):
        return 0.0
    deviation = abs(a - b) / max(abs(a), abs(b), 1e-3)
    return deviation if deviation == deviation else math.inf
