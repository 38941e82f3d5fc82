"""The experiments of the NALU paper, and of two articles about it."""

from __future__ import annotations

from stable_nalu.papers import NALU_ARTICLE, NALU_NOTES, TRASK_2018

from .experiment import Experiment, Measure, Resources, Setting, Shown

FIGURE_1 = (
    "Hardtanh", "Sigmoid", "ReLU6", "Tanh", "Tanhshrink", "Hardshrink", "LeakyReLU", "Softshrink",
    "Softsign", "Threshold", "ReLU", "PReLU", "Softplus", "ELU", "SELU",
)  # fmt: skip
"""The activations of figure 1, in its order."""

_IDENTITY = Setting(
    "identity_autoencoder",
    "--max-iterations 10000",
    range(100),
    Resources(15),
    prefix="nalu/fig1/",
)

_FIG1 = Experiment(
    "nalu/fig1",
    "Identity by a scalar autoencoder: the error beyond the range of training",
    (Shown(TRASK_2018, "Figure 1"),),
    tuple(
        _IDENTITY.model(name.lower(), name, f"--layer-type {name}", csv="nalu-fig1/" + name.lower())
        for name in (*FIGURE_1, "linear", "NAC", "NALU")
    ),
    parameter="layer.type",
    criterion="measured",
    measures=(
        Measure("abs.error.*", "error at x = *", typical="mean"),
        Measure("metric.test.extrapolation", "mean error outside", typical="mean"),
        Measure("metric.valid.interpolation", "mean error inside", typical="mean"),
    ),
    note="The paper does not say its optimiser, rate and sampling: here Adam at 0.01 on the whole "
    "numbers from -5 to 5. Linear, NAC and NALU are not in the paper's figure.",
)

NOTEBOOK_STEPS = (*range(0, 10_000, 1_000), *range(10_000, 50_000, 5_000))
"""Steps of the notebook's addition whose losses are kept."""

_NOTEBOOK = Experiment(
    "notes/addition",
    "The sum of ten numbers by two NALUs, trained on all rows at once",
    (Shown(NALU_NOTES, "Notebook"),),
    (
        Setting(
            "notebook_addition",
            "--max-iterations 50000 --train-size 1000",
            range(100),
            Resources(60),
            prefix="notes/addition/",
        ).model("nalu", "NALU", "--layer-type NALU", csv="notes-addition/nalu"),
    ),
    parameter="layer.type",
    criterion="measured",
    measures=(
        Measure("loss.train.half-sum-squares", "loss", below=1e-3),
        Measure("metric.test.half-sum-squares", "test loss", below=1e-3),
        Measure("loss.train.mse", "mean squared error", steps=NOTEBOOK_STEPS),
        Measure("metric.test.mse", "mean squared test error"),
    ),
    note="On 1,000 rows, the notebook's run on 10,000: a fraction of the work for each of 100 "
    "seeds, and a limit that is ten times as wide for a row. The notebook's last evaluation "
    "trained on the test rows; here these are only measured.",
)


_WEIGHTS = Experiment(
    "article/w-distribution",
    "Weights of a NAC, drawn at random and at their start",
    (Shown(NALU_ARTICLE, "W distribution"),),
    (),
    note="Needs no training.",
)

EXPERIMENTS = (_FIG1, _WEIGHTS, _NOTEBOOK)
