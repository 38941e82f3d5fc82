"""Every experiment by its key."""

from pathlib import Path

from stable_nalu.base.errors import UsageError, did_you_mean
from stable_nalu.base.files import cells_of

from . import arithmetic_units, depth, division, nalu, new_units, primer, robust, sequences
from .experiment import Experiment

_PAPERS = (arithmetic_units, sequences, division, primer, robust, new_units, nalu, depth)
EXPERIMENTS: dict[str, Experiment] = {e.key: e for paper in _PAPERS for e in paper.EXPERIMENTS}

OTHER_KEYS = {
    row["name"]: row["key"] for row in cells_of(Path(__file__).with_name("other_keys.csv"))
}
"""Name of a figure in published commands and earlier versions -> its key."""


def known(key: str) -> Experiment | None:
    """Return the experiment of a key, of a figure of it, or of another name of one of them.

    A `/` may be written as in the names of files.
    """
    key = OTHER_KEYS.get(key, key)
    if key in EXPERIMENTS:
        return EXPERIMENTS[key]
    stem = key.replace("/", "-")
    return next((e for e in EXPERIMENTS.values() if stem in (e.stem, *e.figure_keys)), None)


def find(key: str) -> Experiment:
    """Return the experiment of a key; UsageError names similar ones."""
    experiment = known(key)
    if experiment is not None:
        return experiment
    hint = did_you_mean(key, EXPERIMENTS, "--list names them all", most=3)
    raise UsageError(f"there is no experiment {key!r}; {hint}")
