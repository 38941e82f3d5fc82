"""EML trees: how often a tree is found again, by its depth."""

from __future__ import annotations

from stable_nalu.papers import ODRZYWOLEK_2026

from .experiment import Measure, Recipe, Resources, shown_in
from .nalu import measured, units_of
from .sweeps import variants

_SETTING = Recipe(
    "eml_recovery",
    "--max-iterations 8000 --pytorch-precision 64",
    range(64),
    Resources(60),
    variants=variants("--depth", "2 3 4 5 6"),
)
_UNITS = {
    "bottom": ("variables at the bottom", "--layer-option tree=bottom init=random_hot"),
    "slots": ("variables everywhere", "--layer-option tree=slots init=random_hot"),
    "warm": ("true tree plus noise", "--layer-option tree=bottom --warm-start 12"),
}

EXPERIMENTS = (
    measured(
        "eml/recovery",
        "Trees of exp(a) - ln(b), found again by their depth",
        shown_in(ODRZYWOLEK_2026, "recovery by depth"),
        units_of("eml/recovery", _SETTING, _UNITS),
        parameter="depth",
        measures=(
            Measure("metric.valid.interpolation", "error of the snapped tree", below=1e-6),
            Measure("metric.test.extrapolation", "its error beyond the grid", below=1e-6),
        ),
        rate=300,
        note="The README of the published code tells, of targets of its own and four starts, 32 of "
        "32 trees found at depth 2, 17 of 64 at depth 3, 15 of 64 at depth 4, 2 of 128 at depth 5, "
        "none of 128 at depth 6; from the true tree plus noise, 8 of 8 at depths 5 and 6. Here a "
        "seed draws a target of its own; the search has one length, no early end, no restart and "
        "one optimiser. Warm starts are no discovery: they share no table with blind ones.",
    ),
)
