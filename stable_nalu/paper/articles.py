"""Two articles about the NALU: one with the mystery problem, one with a notebook."""

from __future__ import annotations

from stable_nalu.papers import NALU_ARTICLE, NALU_NOTES

from .drawing import drawn, sketch
from .experiment import Experiment, Measure, Recipe, Resources, shown_in
from .nalu import layers, measured, units_of

_EPOCHS_SHOWN = (0, 1, 2, 5, *range(10, 250, 10))
_STEPS_SHOWN = (*range(0, 10_000, 1_000), *range(10_000, 50_000, 5_000))
_OPERATIONS = (("add", "sums"), ("sub", "differences"), ("mul", "products"))
_NALU = "--layer-type NALU --nalu-variant"

# fmt: off
EXPERIMENTS = (
    measured(
        "article/mystery",
        "The mystery arithmetic problem: sums, differences and products of 100 inputs",
        shown_in(NALU_ARTICLE, "Performance evaluation"),
        units_of("article/mystery",
                 Recipe("mystery_arithmetic", "--max-epochs 250", range(50), Resources(30),
                         steps_per_epoch=32),
                 {**layers("vanilla", "NAC"), "article": ("NALU (article)", f"{_NALU} article"),
                  "two-nac": ("NALU (two NACs)", f"{_NALU} two-nac"),
                  "shared": ("NALU (paper)", f"{_NALU} shared")}),
        drawn(sketch(
            "learning",
            curves=(("metric.train.mse", "Training rows"), ("metric.test.mse", "Test rows")),
            ends=tuple((f"metric.test.mse.{name}", text) for name, text in _OPERATIONS),
            ends_title="By operation",
        )),
        parameter="nalu.variant",
        measures=(Measure("metric.train.mse", "training error", steps=_EPOCHS_SHOWN),
                  Measure("metric.test.mse", "test error", steps=_EPOCHS_SHOWN),
                  *(Measure(f"metric.test.mse.{name}", f"test error of {text}", optional=True)
                    for name, text in _OPERATIONS)),
        note="A problem for each seed; the article shows one. Its text announces test inputs from "
        "-50 to 50, its code draws them from -10 to 10, as here; its listing divides, its text and "
        "this do not. The NALU of two NACs lies between that of the article and that of the paper.",
    ),
    Experiment(
        "article/w-distribution", "Weights of a NAC, drawn at random and at their start",
        shown_in(NALU_ARTICLE, "W distribution"), (), drawn(sketch("weights")),
        note="Needs no training.",
    ),
    measured(
        "notes/addition", "The sum of ten numbers by two NALUs, trained on all rows at once",
        shown_in(NALU_NOTES, "Notebook"),
        units_of("notes/addition",
                 Recipe("notebook_addition", "--max-iterations 50000 --train-size 1000",
                         range(100), Resources(60)),
                 layers("NALU")),
        drawn(sketch("losses", experiment="notes/addition", column="loss.train.mse",
                     half_sum="loss.train.half-sum-squares", below=1e-3)),
        measures=(Measure("loss.train.half-sum-squares", "loss", below=1e-3),
                  Measure("metric.test.half-sum-squares", "test loss", below=1e-3),
                  Measure("loss.train.mse", "mean squared error", steps=_STEPS_SHOWN),
                  Measure("metric.test.mse", "mean squared test error")),
        note="On 1,000 rows, the notebook's run on 10,000: a fraction of the work for each of 100 "
        "seeds, and a limit that is ten times as wide for a row. The notebook's last evaluation "
        "trained on the test rows; here these are only measured.",
    ),
)
