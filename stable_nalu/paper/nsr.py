"""Neural Status Registers: comparisons learned on digits, tested on numbers of many digits."""

from __future__ import annotations

from stable_nalu.papers import FABER_2023

from .drawing import drawn, sketch
from .experiment import Measure, Recipe, Resources, shown_in
from .nalu import layers, measured, units_of
from .sweeps import variants

_SETTING = Recipe(
    "comparison",
    "--max-iterations 50000 --pytorch-precision 64",
    range(10),
    Resources(60),
    variants=variants("--relation", "gt lt ge le eq ne"),
)

EXPERIMENTS = (
    measured(
        "nsr/comparison",
        "Comparisons learned on digits: the error by the number of digits",
        shown_in(FABER_2023, "comparisons over magnitudes"),
        units_of(
            "nsr/comparison",
            _SETTING,
            layers("NSR") | {"mlp": ("MLP", "--layer-type ReLU")} | layers("NALU"),
        ),
        drawn(
            sketch(
                "extrapolations",
                experiment="nsr/comparison",
                top=1.0,
                x_label="Digits behind the first",
            )
        ),
        parameter="relation",
        measures=(
            Measure("abs.error.*", "error next to 10^*", typical="mean"),
            Measure("metric.test.acc", "% right, 2 to 19 digits", typical="mean", lower=False),
            Measure("metric.valid.interpolation", "training error", typical="mean"),
        ),
        rate=1500,
        note="No table of the paper could be read; its abstract says that units trained on digits "
        "are right up to 14 orders of magnitude beyond, and MLPs and NALUs are not. Beyond 2^53, "
        "about 10^16, numbers that differ by 1 are one float: no unit can tell them apart. The "
        "published script labels other numbers than it trains on; the paper's task is here. MLP "
        "and NALU have two layers of 10 units and a sigmoid.",
    ),
)
