"""Every experiment by its key."""

from __future__ import annotations

import difflib

from stable_nalu.errors import UsageError

from . import arithmetic_units, benchmark, division, division_redundancy, robust, sequences
from .experiment import Experiment

_MODULES = (arithmetic_units, sequences, division, division_redundancy, benchmark, robust)
EXPERIMENTS: dict[str, Experiment] = {e.key: e for m in _MODULES for e in m.EXPERIMENTS}


def find(key: str) -> Experiment:
    """Return the experiment of a key; UsageError names similar ones."""
    if key in EXPERIMENTS:
        return EXPERIMENTS[key]
    near = difflib.get_close_matches(key, EXPERIMENTS, n=3, cutoff=0.5)
    hint = f"did you mean {', '.join(near)}?" if near else "--list names them all"
    raise UsageError(f"there is no experiment {key!r}; {hint}")
