"""Robustness of trained weights: distance to the exact solution, by configuration."""

from __future__ import annotations

from stable_nalu.papers import MISTRY_2022_ROBUST

from ..entry import Entry, Series
from ..parts import Distances

DISTRIBUTIONS = {
    "truncated-normal-0-1--5-5": "truncated normal [-5,5]",
    "uniform-1-2": "uniform [1,2]",
    "uniform--2--1": "uniform [-2,-1]",
    "exponential-500-0-0": "exponential 500",
}
"""Base name of the exported weights -> training distribution."""


def _series(base: str) -> Series:
    """The step that was cut out of the export, or the export itself."""
    return Series((f"{base}_expanded_100K_step", base), DISTRIBUTIONS[base])


ENTRIES = (
    *(
        Entry(
            f"robustness-{base}",
            MISTRY_2022_ROBUST,
            "",
            f"Distance to the exact weights by configuration, {text}",
            (Distances(stem=f"{base}_ci", by="configuration"),),
            (_series(base),),
            published=base,
        )
        for base, text in DISTRIBUTIONS.items()
    ),
    Entry(
        "robustness-distributions",
        MISTRY_2022_ROBUST,
        "",
        "Distance to the exact weights by training distribution",
        (Distances(stem="distributions_violin", by="distribution"),),
        tuple(_series(base) for base in DISTRIBUTIONS),
    ),
)
