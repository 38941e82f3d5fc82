"""Every experiment by its key."""

from __future__ import annotations

from stable_nalu.errors import UsageError, did_you_mean

from . import (
    arithmetic_units,
    benchmark,
    division,
    division_redundancy,
    nalu,
    robust,
    sequences,
)
from .experiment import Experiment

_MODULES = (arithmetic_units, sequences, division, division_redundancy, benchmark, robust, nalu)
EXPERIMENTS: dict[str, Experiment] = {e.key: e for m in _MODULES for e in m.EXPERIMENTS}


def known(key: str) -> Experiment | None:
    """Return the experiment of a key, also where it is spelled as in the names of files."""
    if key in EXPERIMENTS:
        return EXPERIMENTS[key]
    return next((e for e in EXPERIMENTS.values() if e.stem == key.replace("/", "-")), None)


def find(key: str) -> Experiment:
    """Return the experiment of a key; UsageError names similar ones."""
    experiment = known(key)
    if experiment is not None:
        return experiment
    hint = did_you_mean(key, EXPERIMENTS, "--list names them all", most=3)
    raise UsageError(f"there is no experiment {key!r}; {hint}")
