"""Trains plans of runs under roots of their own, in this process or another, and compares them."""

from __future__ import annotations

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

from stable_nalu.writer.event_file import EventFileReader
from tests.experiments.scripts import ROOT, load_script
from tests.forks import Fork
from tests.processes import started, watched

COMMON = ("--no-cuda", "--name-prefix", "t")

UNCOMPARED = {"event_file", "config"}
"""Differ by the time of the start and by flags of run control."""

Series = dict[str, list[tuple[int, object]]]


@dataclass(frozen=True)
class Trained:
    """What a run left behind: (step, value) by tag, and its checkpoint."""

    series: Series
    checkpoint: dict | None

    def numbers(self) -> Iterator[tuple[str, int, float]]:
        """All scalars."""
        for tag, points in self.series.items():
            for step, value in points:
                if isinstance(value, float):
                    yield tag, step, value


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
        return load_script(script).main([*COMMON, *words])


def start(
    root: Path, script: str, *words: str, before: str = "", **keywords
) -> AbstractContextManager[subprocess.Popen]:
    """Start a script in a session of its own, its output in pipes; `before` is run first."""
    path = str(ROOT / "experiments" / f"{script}.py")
    run = f"import runpy\n{before}\nrunpy.run_path({path!r}, run_name='__main__')"
    program = ["-c", run] if before else [path]
    return started(
        [sys.executable, *program, *COMMON, *words],
        env={**os.environ, **environment(root)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **keywords,
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


def train_in_fork(root: Path, script: str, *words: str) -> int:
    """Run a script in a fork, whose workers are forks as well; its exit code."""
    with fork(root, script, *words) as process:
        process.communicate()
    return process.wait()


def trained(root: Path) -> dict[str, Trained]:
    """All runs below `root`, by name."""
    folders = sorted(p.parent for p in (root / "tensorboard").rglob("events.*"))
    assert len(set(folders)) == len(folders), "a folder with two event files"
    return {
        folder.name: Trained(_series(folder), _checkpoint(root, folder.name)) for folder in folders
    }


def _series(folder: Path) -> Series:
    (path,) = folder.glob("events.*")
    reader = EventFileReader(path)
    series: Series = {}
    for event in reader:
        for tag, value in zip(event.tags, event.values, strict=True):
            series.setdefault(tag, []).append((event.step, value))
    assert reader.problem is None
    return series


def _checkpoint(root: Path, name: str) -> dict | None:
    path = root / "save" / "t" / f"{name}.pth"
    return torch.load(path, weights_only=True) if path.exists() else None


def assert_identical(one: dict[str, Trained], other: dict[str, Trained]) -> None:
    """Equal logs and checkpoints, bit for bit; names of event files and run control aside."""
    assert one.keys() == other.keys()
    for name, run in one.items():
        assert repr(run.series) == repr(other[name].series)
        assert _digest(run.checkpoint) == _digest(other[name].checkpoint)


def _digest(value: object) -> object:
    """A value that is equal for equal bits."""
    if isinstance(value, torch.Tensor):
        return (str(value.dtype), tuple(value.shape), value.numpy().tobytes())
    if isinstance(value, dict):
        return {k: _digest(v) for k, v in value.items() if k not in UNCOMPARED}
    if isinstance(value, list | tuple):
        return [_digest(item) for item in value]
    return repr(value)


def furthest(one: Trained, other: Trained) -> dict[str, float]:
    """By tag, the largest deviation of any two scalars, in units of max(|a|, |b|, 1e-3)."""
    assert one.series.keys() == other.series.keys()
    worst: dict[str, float] = {}
    pairs = zip(one.numbers(), other.numbers(), strict=True)
    for (tag, step, a), (other_tag, other_step, b) in pairs:
        assert (tag, step) == (other_tag, other_step)
        worst[tag] = max(worst.get(tag, 0.0), _deviation(a, b))
    return worst


def _deviation(a: float, b: float) -> float:
    if a == b or (math.isnan(a) and math.isnan(b)):
        return 0.0
    deviation = abs(a - b) / max(abs(a), abs(b), 1e-3)
    return deviation if deviation == deviation else math.inf
