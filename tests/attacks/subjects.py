"""What the attacks are made on: short runs, and names of their files."""

from __future__ import annotations

import csv
from pathlib import Path

import torch

from tests.attacks.harness import call

NMU = "--no-cuda --operation mul --layer-type ReRegualizedLinearMNAC"
SHORT = "--max-iterations 4 --log-interval 2"
LONGER = "--max-iterations 8 --log-interval 2"
TRAIN = f"single_layer {NMU} --name-prefix t"
"""Command line of the finished runs, but for their length; seeds 0 and 1 are trained."""

RUNS, MODELS, TABLE = "tensorboard/t", "save/t", "runs.csv"


def make_runs(folder: Path) -> None:
    """Train two runs, export them."""
    assert call(f"{TRAIN} {SHORT} --seed 0-1") == 0
    _of_one_second(folder)
    export = f"simple_function_static_export --tensorboard-dir {folder / RUNS}"
    assert call(f"{export} --csv-out {folder / TABLE}") == 0


def _of_one_second(folder: Path) -> None:
    """Let the event files of both runs have one name, as those of a plan most often have.

    A name holds the second of its making: whether two differ must not depend on the machine.
    """
    first, second = (next((folder / RUNS / name).glob("events*")) for name in names(folder))
    second.rename(second.with_name(first.name))
    path = folder / MODELS / f"{names(folder)[1]}.pth"
    state = torch.load(path, weights_only=True)
    state["progress"]["event_file"] = first.name
    torch.save(state, path)


def names(folder: Path) -> list[str]:
    """Names of the finished runs, by seed."""
    return sorted(path.stem for path in (folder / MODELS).glob("*.pth"))


def rows(path: Path) -> list[dict[str, str]]:
    """A table, row by row."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
