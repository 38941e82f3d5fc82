"""Two articles about the NALU: one with the mystery problem, one with a notebook."""

from __future__ import annotations

from stable_nalu.papers import NALU_ARTICLE, NALU_NOTES

from .drawing import drawn, sketch
from .experiment import Experiment, Measure, Resources, Setting, Shown
from .nalu import layers, measured

_EPOCHS_SHOWN = (0, 1, 2, 5, *range(10, 250, 10))
_OF_OPERATIONS = (("add", "sums"), ("sub", "differences"), ("mul", "products"))

_MYSTERY = measured(
    "article/mystery",
    "The mystery arithmetic problem: sums, differences and products of 100 inputs",
    (NALU_ARTICLE, "Performance evaluation"),
    Setting(
        "mystery_arithmetic",
        "--max-epochs 250",
        range(50),
        Resources(30),
        prefix="article/mystery/",
        steps_per_epoch=32,
    ),
    {
        "vanilla": ("vanilla", "--layer-type vanilla"),
        "nac": ("NAC", "--layer-type NAC"),
        "article": ("NALU (article)", "--layer-type NALU --nalu-variant article"),
        "two-nac": ("NALU (two NACs)", "--layer-type NALU --nalu-variant two-nac"),
        "shared": ("NALU (paper)", "--layer-type NALU --nalu-variant shared"),
    },
    measures=(
        Measure("metric.train.mse", "training error", steps=_EPOCHS_SHOWN),
        Measure("metric.test.mse", "test error", steps=_EPOCHS_SHOWN),
        *(
            Measure(f"metric.test.mse.{operation}", f"test error of {text}", optional=True)
            for operation, text in _OF_OPERATIONS
        ),
    ),
    drawings=drawn(
        sketch(
            "Learning",
            curves=(("metric.train.mse", "Training rows"), ("metric.test.mse", "Test rows")),
            ends=tuple((f"metric.test.mse.{name}", text) for name, text in _OF_OPERATIONS),
            ends_title="By operation",
        )
    ),
    note="A problem for each seed; the article shows one. Its text announces test inputs from -50 "
    "to 50, its code draws them from -10 to 10, as here; its listing divides, its text and this do "
    "not. The NALU of two NACs lies between that of the article and that of the paper.",
    parameter="nalu.variant",
)

_WEIGHTS = Experiment(
    "article/w-distribution",
    "Weights of a NAC, drawn at random and at their start",
    (Shown(NALU_ARTICLE, "W distribution"),),
    (),
    note="Needs no training.",
    drawings=drawn(sketch("Weights")),
)

_NOTEBOOK_STEPS = (*range(0, 10_000, 1_000), *range(10_000, 50_000, 5_000))
_LOSS = "loss.train.half-sum-squares"
_NOTEBOOK = measured(
    "notes/addition",
    "The sum of ten numbers by two NALUs, trained on all rows at once",
    (NALU_NOTES, "Notebook"),
    Setting(
        "notebook_addition",
        "--max-iterations 50000 --train-size 1000",
        range(100),
        Resources(60),
        prefix="notes/addition/",
    ),
    layers("NALU"),
    measures=(
        Measure(_LOSS, "loss", below=1e-3),
        Measure("metric.test.half-sum-squares", "test loss", below=1e-3),
        Measure("loss.train.mse", "mean squared error", steps=_NOTEBOOK_STEPS),
        Measure("metric.test.mse", "mean squared test error"),
    ),
    drawings=drawn(
        sketch(
            "Losses",
            experiment="notes/addition",
            column="loss.train.mse",
            half_sum=_LOSS,
            below=1e-3,
        )
    ),
    note="On 1,000 rows, the notebook's run on 10,000: a fraction of the work for each of 100 "
    "seeds, and a limit that is ten times as wide for a row. The notebook's last evaluation "
    "trained on the test rows; here these are only measured.",
)

EXPERIMENTS = (_MYSTERY, _WEIGHTS, _NOTEBOOK)
