"""What the attacks are made on: short finished runs, and what may happen to them."""

import csv
from collections.abc import Callable
from pathlib import Path

import torch

from tests.attacks.harness import Attack, Place, call

NMU = "--no-cuda --operation mul --layer-type ReRegualizedLinearMNAC"
SHORT = "--max-iterations 4 --log-interval 2"
LONGER = "--max-iterations 8 --log-interval 2"
TRAIN = f"single_layer {NMU} --name-prefix t"
"""Command line of the finished runs, but for their length; seeds 0 and 1 are trained."""

RUNS, MODELS, TABLE = "tensorboard/t", "save/t", "runs.csv"
BOTH = "--seed 0-1"
AGAIN = f"{TRAIN} {LONGER} {BOTH}"
RUN = "reregualizedlinearmnac_op-mul_"


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


def model(place: Place, run: int = 0) -> Path:
    """The saved state of a finished run."""
    return place / MODELS / f"{names(place.made)[run]}.pth"


def folder(place: Place, run: int = 0) -> Path:
    """The log folder of a finished run."""
    return place / RUNS / names(place.made)[run]


def log(place: Place, run: int = 0) -> Path:
    """The event file of a finished run."""
    return next(folder(place, run).glob("events*"))


def bringing(*names: str, then: Callable[[Place], object] | None = None):
    """Runs, models or tables in the folder, to which something happens."""

    def prepare(place: Place) -> None:
        place.bring(*names)
        if then is not None:
            then(place)

    return prepare


def meeting(then: Callable[[Place], object] | None = None) -> Callable[[Place], object]:
    """Finished runs, to which something happens."""
    return bringing(RUNS, MODELS, then=then)


def meets(
    name: str,
    words: str,
    says: str | tuple[str, ...],
    then: Callable[[Place], object] | None = None,
) -> Attack:
    """A command that meets them and is refused."""
    return Attack(name, words, says, meeting(then))


def put(name: str) -> Callable[[Place], object]:
    """A file that the user has put there."""
    return lambda place: place.file(name, "mine")


def exchanged(one: Path, other: Path) -> None:
    aside = one.with_name("aside")
    one.rename(aside)
    other.rename(one)
    aside.rename(other)


def gone(path: Path) -> Path:
    path.unlink()
    return path
