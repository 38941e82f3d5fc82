"""The experiments of the NALU paper, and of two articles about it."""

from __future__ import annotations

from collections.abc import Mapping

from stable_nalu.papers import NALU_ARTICLE, NALU_NOTES, TRASK_2018

from .experiment import Experiment, Measure, Resources, Setting, Shown, Variant, flags
from .programs import PROGRAMS

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
    "numbers from -5 to 5. Linear, NAC and NALU are not in the paper's figure. Its numbers were "
    "read off the figure, whose colours repeat: three pairs of lines were told apart by shape.",
)

TABLE_1 = ("add", "sub", "mul", "div", "squared", "root")
"""The operations of table 1, in its order."""

STATIC_UNITS = {"relu6": "Relu6", "linear": "None", "nac": "NAC", "nalu": "NALU"}
RECURRENT_UNITS = {"lstm": "LSTM", "relu": "ReLU", "nac": "NAC", "nalu": "NALU"}
"""Models of both halves of table 1, and their columns there."""
_LAYERS = {"relu6": "ReLU6", "linear": "linear", "relu": "RNN-ReLU"}

_OPERATIONS = tuple(Variant(name, flags(f"--operation {name}")) for name in TABLE_1)
_SCORES = (
    Measure("score.extrapolation", "score, extrapolation", below=1.0),
    Measure("score.interpolation", "score, interpolation", below=1.0),
)
_SCALE = (
    "Scores are mean squared errors in percent of those of untrained networks; the paper does not "
    "say which error it scores, nor optimiser, rate, length, widths, ranges and seeds"
)
_STATIC = Setting(
    "simple_function_static",
    "--extrapolation-rule exceed --random-models 100 --max-iterations 20000",
    range(10),
    Resources(15),
    prefix="nalu/table1-static/",
    variants=_OPERATIONS,
)
_RECURRENT = Setting(
    "simple_function_recurrent",
    "--input-range [0,1] --subset-ratio 0.25 --random-models 10 --learning-rate 1e-2 "
    "--clip-grad-norm 1 --max-iterations 3000",
    range(10),
    Resources(30),
    prefix="nalu/table1-recurrent/",
    variants=_OPERATIONS,
)
_TABLE_1_STATIC = Experiment(
    "nalu/table1-static",
    "Six operations on sums over a vector, relative to untrained networks",
    (Shown(TRASK_2018, "Table 1, static"),),
    tuple(
        _STATIC.model(
            key,
            column,
            f"--layer-type {_LAYERS.get(key, column)}",
            csv=f"nalu-table1-static/{key}",
        )
        for key, column in STATIC_UNITS.items()
    ),
    parameter="operation",
    criterion="measured",
    measures=_SCORES,
    note=f"{_SCALE}: here 100 untrained Relu6 networks, 100 inputs from U[1,2], U[2,6] beyond, "
    "Adam at 0.001. Relu6 networks on products and squares are still falling at the end.",
    rate=5000,
)
_TABLE_1_RECURRENT = Experiment(
    "nalu/table1-recurrent",
    "Six operations on sums over ten steps, asked of a thousand, relative to untrained LSTMs",
    (Shown(TRASK_2018, "Table 1, recurrent"),),
    tuple(
        _RECURRENT.model(
            key,
            column,
            f"--layer-type {_LAYERS.get(key, column)}",
            csv=f"nalu-table1-recurrent/{key}",
        )
        for key, column in RECURRENT_UNITS.items()
    ),
    parameter="operation",
    criterion="measured",
    measures=_SCORES,
    note=f"{_SCALE}: here 10 untrained LSTMs, ten inputs from U[0,1) a step, Adam at 0.01. An "
    "error that overflows has the score infinity. NALUs have not settled at the end.",
    rate=1000,
)

TABLE_2 = {
    "lstm": ("LSTM", "--layer-type LSTM"),
    "gru": ("GRU", "--layer-type GRU"),
    "rnn-tanh": ("RNN-tanh", "--layer-type RNN-tanh"),
    "rnn-relu": ("RNN-ReLU", "--layer-type RNN-ReLU"),
    "nac": ("NAC", "--layer-type NAC"),
    "nalu": ("NALU", "--layer-type NALU --nalu-init truncated"),
}
"""Models of table 2: labels and flags."""


_RATES: dict[str, str] = dict.fromkeys(("lstm", "rnn-tanh", "rnn-relu"), "3e-3")
"""Rates of Adam for counting that are not 1e-2, at which LSTMs do not learn."""


def _table_2(task: str, title: str, rates: Mapping[str, str], rate: str, why: str) -> Experiment:
    setting = Setting(
        "mnist_counting",
        f"--task {task} --digit-source mnist --batch-size 16 --max-epochs 5",
        range(3),
        Resources(30),
        prefix=f"nalu/table2-{task}/",
        variants=tuple(Variant(loss, flags(f"--sequence-loss {loss}")) for loss in ("last", "all")),
        steps_per_epoch=344,
    )
    return Experiment(
        f"nalu/table2-{task}",
        title,
        (Shown(TRASK_2018, f"Table 2, {task}"),),
        tuple(
            setting.model(
                key,
                label,
                f"{text} --learning-rate {rates.get(key, rate)}",
                csv=f"nalu-table2-{task}/{key}",
            )
            for key, (label, text) in TABLE_2.items()
        ),
        parameter="sequence.loss",
        criterion="measured",
        measures=(
            *(
                Measure(f"metric.test.extrapolation.{length}.mae", f"error of {length:,} digits")
                for length in (10, 100, 1000)
            ),
            Measure("metric.test.extrapolation.1.mae", "error of a digit"),
            Measure("metric.test.extrapolation.1.acc", "accuracy of a digit", lower=False),
            Measure("metric.valid.mse", "squared error, validation"),
            Measure("metric.test.shown.*", "shown digits, *"),
        ),
        note="Five epochs of MNIST, 1,720 updates of 16 sequences: runs still improve at the end. "
        "The paper does not say optimiser, rate, batch, length and sizes. What is due after the "
        "last digit is read as a loss of the last step (last); trained on what is true at every "
        f"step (all), cells learn sooner. {why} NALUs start near zero (--nalu-init truncated), as "
        "they overflow from their usual start.",
        rate=40,
    )


_TABLE_2 = (
    _table_2(
        "count",
        "How many of each digit a sequence of images has",
        _RATES,
        "1e-2",
        "Adam at 0.01; at 0.003 for LSTMs, which do not learn at 0.01, and for RNNs.",
    ),
    _table_2("sum", "The sum of the digits of a sequence of images", {}, "1e-2", "Adam at 0.01."),
)

TABLE_3 = {
    "linear": ("LSTM", "--layer-type linear"),
    "nac": ("LSTM + NAC", "--layer-type NAC"),
    "nalu": ("LSTM + NALU", "--layer-type NALU"),
}
"""The models of table 3: labels there, and flags."""

_WORDS = Setting(
    "number_translation",
    "--number-range paper --head final --embedding-size 32 --hidden-size 128 --learning-rate 3e-3 "
    "--clip-grad-norm 10 --max-epochs 3000",
    range(5),
    Resources(30),
    prefix="nalu/table3/",
    steps_per_epoch=3,
)
_TABLE_3 = Experiment(
    "nalu/table3",
    "Numbers in words: the error of an LSTM with three heads",
    (Shown(TRASK_2018, "Table 3"),),
    tuple(
        _WORDS.model(key, label, text, csv=f"nalu-table3/{key}")
        for key, (label, text) in TABLE_3.items()
    ),
    parameter="layer.type",
    criterion="measured",
    measures=(
        Measure("metric.test.mae", "mean absolute error, test"),
        Measure("metric.valid.mae", "mean absolute error, validation"),
        Measure("metric.train.mae", "mean absolute error, training"),
        Measure("metric.trace.*", "trace *"),
    ),
    note="Of each run, the logged epoch of the lowest validation error. The paper does not say its "
    "optimiser, rate and length, and its sizes are told from memory only: here 32 for a word, 128 "
    "for the LSTM, Adam at 0.003 and 3,000 epochs. A NAC adds up outputs of the LSTM between -1 "
    "and 1: none of width 128 answers more than 128.",
    rate=200,
    selected_by="metric.valid.mae",
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


_GRIDWORLD = Setting(
    "gridworld_time",
    "--max-iterations 3000",
    range(3),
    Resources(60),
    prefix="nalu/fig5/",
)
FIGURE_5 = {
    "lstm": ("LSTM", "--layer-type LSTM"),
    "nac-feedforward": ("NAC, feed-forward", "--layer-type NAC --nac-wiring feedforward"),
    "nac": ("NAC, recurrent", "--layer-type NAC"),
    "nalu": ("NALU, recurrent", "--layer-type NALU"),
}
"""The models of figure 5: labels and flags."""

_FIG5 = Experiment(
    "nalu/fig5",
    "Tracking time in a grid world: arriving at a step that is told, beyond those of training",
    (Shown(TRASK_2018, "Figure 5"),),
    tuple(
        _GRIDWORLD.model(key, label, text, csv=f"nalu-fig5/{key}")
        for key, (label, text) in FIGURE_5.items()
    ),
    parameter="layer.type",
    criterion="measured",
    measures=(
        Measure("metric.test.beyond", "mean reward, T = 13 to 25", typical="mean", lower=False),
        Measure("metric.test.within", "mean reward, T = 5 to 12", typical="mean", lower=False),
        Measure("metric.train.reward", "reward in training", typical="mean", lower=False),
        Measure("metric.test.episode.*", "frame at step *"),
        Measure("metric.test.stimulus.*", "test of T = *", typical="mean", lower=False),
    ),
    note="Reward shape assumed: an arrival at step t pays 10 - |T - t|, none pays 0; the paper "
    "does not say it. An advantage actor-critic on planes of cells stands in for A3C on pixels. "
    "How the NAC is wired is not published: both readings are trained. NALU is not in the paper's "
    "figure.",
    rate=100,
)

TABLE_4 = {
    f"{weight}{'-b' if bias else ''}": (
        f"{label} + b" if bias else label,
        f"--layer-type {unit}{'' if bias else ' --no-head-bias'}",
    )
    for weight, unit, label in (
        ("linear", "linear", "W x"),
        ("sigmoid", "sigmoid", "σ(W) x"),
        ("tanh", "tanh", "tanh(W) x"),
        ("nac", "NAC", "NAC"),
    )
    for bias in (True, False)
}
"""The last layers of table 4: labels and flags."""

TABLE_4_STEPS = 16_000

_HEAD = Setting(
    "even_digit_count",
    f"--digit-source mnist --max-iterations {TABLE_4_STEPS}",
    range(3),
    Resources(30),
    prefix="nalu/table4/",
)

_TABLE_4 = Experiment(
    "nalu/table4",
    "Even digits of a picture, counted by one network with eight last layers",
    (Shown(TRASK_2018, "Table 4"),),
    tuple(
        _HEAD.model(key, label, text, csv=f"nalu-table4/{key}")
        for key, (label, text) in TABLE_4.items()
    ),
    parameter="layer.type",
    criterion="measured",
    measures=(
        Measure("metric.test.acc", "test accuracy", typical="mean", lower=False),
        Measure("metric.test.rmse", "root of the mean squared error", typical="mean"),
        Measure("metric.valid.acc", "validation accuracy", typical="mean", lower=False),
    ),
    note=f"{TABLE_4_STEPS:,} updates at a rate of 0.001; the public repository whose pictures and "
    "network these are has 100,000 at 0.0001, and how long the paper trains is not known. That its "
    "table 4 is about these pictures is an inference.",
    rate=40,
)

_WEIGHTS = Experiment(
    "article/w-distribution",
    "Weights of a NAC, drawn at random and at their start",
    (Shown(NALU_ARTICLE, "W distribution"),),
    (),
    note="Needs no training.",
)

_PROBLEMS = Setting(
    "mystery_arithmetic",
    "--max-epochs 250",
    range(50),
    Resources(30),
    prefix="article/mystery/",
    steps_per_epoch=32,
)

_EPOCHS_SHOWN = (0, 1, 2, 5, *range(10, 250, 10))

MYSTERY = Experiment(
    "article/mystery",
    "The mystery arithmetic problem: sums, differences and products of 100 inputs",
    (Shown(NALU_ARTICLE, "Performance evaluation"),),
    tuple(
        _PROBLEMS.model(key, label, flags, csv=f"article-mystery/{key}")
        for key, label, flags in (
            ("vanilla", "vanilla", "--layer-type vanilla"),
            ("nac", "NAC", "--layer-type NAC"),
            ("article", "NALU (article)", "--layer-type NALU --nalu-variant article"),
            ("two-nac", "NALU (two NACs)", "--layer-type NALU --nalu-variant two-nac"),
            ("shared", "NALU (paper)", "--layer-type NALU --nalu-variant shared"),
        )
    ),
    parameter="nalu.variant",
    criterion="measured",
    measures=(
        Measure("metric.train.mse", "training error", steps=_EPOCHS_SHOWN),
        Measure("metric.test.mse", "test error", steps=_EPOCHS_SHOWN),
        Measure("metric.test.mse.add", "test error of sums", optional=True),
        Measure("metric.test.mse.sub", "test error of differences", optional=True),
        Measure("metric.test.mse.mul", "test error of products", optional=True),
    ),
    note="A problem for each seed; the article shows one. Its text announces test inputs from -50 "
    "to 50, its code draws them from -10 to 10, as here; its listing divides, its text and this do "
    "not. The NALU of two NACs lies between that of the article and that of the paper.",
)

EXPERIMENTS = (
    *(_FIG1, _TABLE_1_STATIC, _TABLE_1_RECURRENT, *_TABLE_2, _TABLE_3),
    *(*PROGRAMS, _FIG5, _TABLE_4),
    *(MYSTERY, _WEIGHTS, _NOTEBOOK),
)
