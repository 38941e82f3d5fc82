"""What the attacks are made on: short runs, and names of their files."""

from __future__ import annotations

import csv
from pathlib import Path

from tests.attacks.harness import call

NMU = ("--no-cuda", "--operation", "mul", "--layer-type", "ReRegualizedLinearMNAC")
SHORT = ("--max-iterations", "4", "--log-interval", "2")
LONGER = ("--max-iterations", "8", "--log-interval", "2")
TRAIN = ("single_layer", *NMU, "--name-prefix", "t")
"""Command line of the finished runs, but for their length; seeds 0 and 1 are trained."""

RUNS, MODELS, TABLE = "tensorboard/t", "save/t", "runs.csv"


def make_runs(folder: Path) -> None:
    """Train two runs, export them."""
    assert call(*TRAIN, *SHORT, "--seed", "0-1") == 0
    runs, table = str(folder / RUNS), str(folder / TABLE)
    export = ("simple_function_static_export", "--tensorboard-dir", runs, "--csv-out", table)
    assert call(*export) == 0


def names(folder: Path) -> list[str]:
    """Names of the finished runs, by seed."""
    return sorted(path.stem for path in (folder / MODELS).glob("*.pth"))


def rows(path: Path) -> list[dict[str, str]]:
    """A table, row by row."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
