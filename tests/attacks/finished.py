"""Finished runs, and what may happen to them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.attacks.harness import Attack, Place
from tests.attacks.subjects import LONGER, MODELS, RUNS, TRAIN, names

BOTH = "--seed 0-1"
AGAIN = f"{TRAIN} {LONGER} {BOTH}"
RUN = "reregualizedlinearmnac_op-mul_"


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
