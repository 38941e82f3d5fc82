"""Neural Arithmetic Logic Units, and two articles: autoencoders, scores, digits, programs."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from stable_nalu.base.papers import NALU_ARTICLE, NALU_NOTES, TRASK_2018, Paper
from stable_nalu.figure.drawing import Sketch, drawn, sketch

from .experiment import MEASURED, Experiment, FurtherTable, Measure, Recipe, Resources
from .nac_weights import weights
from .nalu_answers import (
    arrivals,
    digit_bars,
    episodes,
    program_traces,
    running_counts,
    word_traces,
)
from .nalu_curves import counting_lengths, extrapolations, learning, losses
from .nalu_tables import TABLE_1, heads, reading_errors, scores
from .sweeps import operations, variants

Units = Mapping[str, tuple[str, str]]
"""Key of a model -> its label and flags."""


def measured(
    key: str,
    title: str,
    paper: Paper,
    number: str,
    setting: Recipe,
    units: Units,
    *parts: Sketch,
    **more: Any,
) -> Experiment:
    """Return an experiment whose runs are measured; they and their tables are in its folder.

    parts: of its figure. more: other fields.
    """
    folder = replace(setting, prefix=f"{key}/")
    csv = key.replace("/", "-")
    models = tuple(
        folder.model(unit, label, text, csv=f"{csv}/{unit}")
        for unit, (label, text) in units.items()
    )
    more = {"parameter": "layer.type", "criterion": MEASURED} | more
    return Experiment(key, title, paper, (number,), models, drawn(*parts) if parts else (), **more)


def layers(*names: str) -> dict[str, tuple[str, str]]:
    """Return models that are called as their layers are."""
    return {name.lower(): (name, f"--layer-type {name}") for name in names}


_mean = partial(Measure, typical="mean")
_higher = partial(Measure, typical="mean", lower=False)

_ACTIVATIONS = (
    "Hardtanh", "Sigmoid", "ReLU6", "Tanh", "Tanhshrink", "Hardshrink", "LeakyReLU", "Softshrink",
    "Softsign", "Threshold", "ReLU", "PReLU", "Softplus", "ELU", "SELU",
)  # fmt: skip


def _table_1(half: str, title: str, rate: int, setting: Recipe, units: Units, note: str):
    return measured(
        f"nalu/table1-{half}",
        f"Six operations on sums over {title}",
        TRASK_2018,
        f"Table 1, {half}",
        replace(setting, variants=operations(" ".join(TABLE_1))),
        units,
        sketch(scores),
        parameter="operation",
        measures=tuple(
            Measure(f"score.{part}", f"score, {part}", below=1.0)
            for part in ("extrapolation", "interpolation")
        ),
        rate=rate,
        note="Scores are mean squared errors in percent of those of untrained networks; the paper "
        "does not say which error it scores, nor optimiser, rate, length, widths, ranges and "
        f"seeds: here {note}",
    )


def _table_2(task: str, title: str, slower: tuple[str, ...], why: str, *more: Sketch):
    """Return an experiment on sequences of images; `slower` cells learn at a rate of 0.003."""
    cells = layers("LSTM", "GRU", "RNN-tanh", "RNN-ReLU", "NAC")
    cells["nalu"] = ("NALU", "--layer-type NALU --nalu-init truncated")
    flags = f"--task {task} --digit-source mnist --batch-size 16 --max-epochs 5"
    setting = Recipe("mnist_counting", flags, range(3), Resources(30), steps_per_epoch=344)
    setting = replace(setting, variants=variants("--sequence-loss", "last all"))
    rates = {name: "3e-3" if name in slower else "1e-2" for name in cells}
    units = {
        name: (label, f"{text} --learning-rate {rates[name]}")
        for name, (label, text) in cells.items()
    }
    return measured(
        f"nalu/table2-{task}", title, TRASK_2018, f"Table 2, {task}", setting, units,
        sketch(counting_lengths), *more,
        parameter="sequence.loss",
        measures=(
            *(Measure(f"metric.test.extrapolation.{length}.mae", f"error of {length:,} digits")
              for length in (10, 100, 1000)),
            Measure("metric.test.extrapolation.1.mae", "error of a digit"),
            Measure("metric.test.extrapolation.1.acc", "accuracy of a digit", lower=False),
            Measure("metric.valid.mse", "squared error, validation"),
            Measure("metric.test.shown.*", "shown digits, *"),
        ),
        rate=40,
        note="Five epochs of MNIST, 1,720 updates of 16 sequences: runs still improve at the end. "
        "The paper does not say optimiser, rate, batch, length and sizes. What is due after the "
        "last digit is read as a loss of the last step (last); trained on what is true at every "
        f"step (all), cells learn sooner. {why} NALUs start near zero (--nalu-init truncated), as "
        "they overflow from their usual start.",
    )  # fmt: skip


def _programs(kind: str, title: str, number: str, note: str = ""):
    flags = f"--program {kind} --max-iterations 10000"
    setting = Recipe("program_evaluation", flags, range(3), Resources(60))
    tests = {
        "4 digits": "metric.test.1000-10000",
        "3 digits": "metric.test.100-1000",
        "2 digits": "metric.valid",
    }
    return measured(
        f"nalu/fig4-{kind}",
        f"Programs {title}: digits that are right, also of larger numbers",
        TRASK_2018,
        number,
        setting,
        layers("LSTM", "UGRNN", "NAC", "NALU"),
        sketch(digit_bars),
        sketch(program_traces, "{key}_program"),
        measures=(
            *(_higher(f"{test}.digits", f"digits right, {size}") for size, test in tests.items()),
            *(Measure(f"{test}.relative", f"relative error, {s}") for s, test in tests.items()),
            Measure("metric.trace.*", "answer *"),
        ),
        rate=200,
        note="The paper does not say its sizes, rates and lengths; its differentiable neural "
        "computer is left out. Shares of digits are harsh: an error of one in the last place "
        f"costs a digit or more.{note}",
    )


_STEPS = 16_000
_HEADS = {
    f"{layer.lower()}{'-b' * bias}": (
        f"{label}{' + b' * bias}",
        f"--layer-type {layer}{'' if bias else ' --no-head-bias'}",
    )
    for layer, label in (
        ("linear", "W x"), ("sigmoid", "σ(W) x"), ("tanh", "tanh(W) x"), ("NAC", "NAC"),
    )
    for bias in (True, False)
}  # fmt: skip

# fmt: off
_NALU_PAPER = (
    measured(
        "nalu/fig1", "Identity by a scalar autoencoder: the error beyond the range of training",
        TRASK_2018, "Figure 1",
        Recipe("identity_autoencoder", "--max-iterations 10000", range(100), Resources(15)),
        layers(*_ACTIVATIONS, "linear", "NAC", "NALU"),
        sketch(extrapolations, experiment="nalu/fig1"),
        measures=(_mean("abs.error.*", "error at x = *"),
                  _mean("metric.test.extrapolation", "mean error outside"),
                  _mean("metric.valid.interpolation", "mean error inside")),
        note="The paper does not say its optimiser, rate and sampling: here Adam at 0.01 on the "
        "whole numbers from -5 to 5. Linear, NAC and NALU are not in the paper's figure. Its "
        "numbers were read off the figure, whose colours repeat: three pairs of lines were told "
        "apart by shape.",
    ),
    _table_1(
        "static", "a vector, relative to untrained networks", 5000,
        Recipe("simple_function_static",
                "--extrapolation-rule exceed --random-models 100 --max-iterations 20000",
                range(10), Resources(15)),
        {"relu6": ("Relu6", "--layer-type ReLU6"), "linear": ("None", "--layer-type linear"),
         **layers("NAC", "NALU")},
        "100 untrained Relu6 networks, 100 inputs from U[1,2], U[2,6] beyond, Adam at 0.001. Relu6 "
        "networks on products and squares are still falling at the end.",
    ),
    _table_1(
        "recurrent", "ten steps, tested on 1,000, relative to untrained LSTMs", 1000,
        Recipe("simple_function_recurrent",
                "--input-range [0,1] --subset-ratio 0.25 --random-models 10 --learning-rate 1e-2 "
                "--clip-grad-norm 1 --max-iterations 3000",
                range(10), Resources(30)),
        {**layers("LSTM"), "relu": ("ReLU", "--layer-type RNN-ReLU"), **layers("NAC", "NALU")},
        "10 untrained LSTMs, ten inputs from U[0,1) a step, Adam at 0.01. An error that overflows "
        "has the score infinity. NALUs have not settled at the end.",
    ),
    _table_2(
        "count", "How many of each digit a sequence of images has",
        ("lstm", "rnn-tanh", "rnn-relu"),
        "Adam at 0.01; at 0.003 for LSTMs, which do not learn at 0.01, and for RNNs.",
        sketch(running_counts, "{key}_digits", models=("NAC", "LSTM")),
    ),
    _table_2("sum", "The sum of the digits of a sequence of images", (), "Adam at 0.01."),
    measured(
        "nalu/table3", "Numbers in words: the error of an LSTM with three heads",
        TRASK_2018, "Table 3",
        Recipe("number_translation",
               "--number-range paper --head final --embedding-size 32 --hidden-size 128 "
               "--learning-rate 3e-3 --clip-grad-norm 10 --max-epochs 3000",
               range(5), Resources(30), steps_per_epoch=3),
        {"linear": ("LSTM", "--layer-type linear"),
         "nac": ("LSTM + NAC", "--layer-type NAC"),
         "nalu": ("LSTM + NALU", "--layer-type NALU")},
        sketch(reading_errors), sketch(word_traces, "{key}_trace"),
        measures=(Measure("metric.test.mae", "mean absolute error, test"),
                  Measure("metric.valid.mae", "mean absolute error, validation"),
                  Measure("metric.train.mae", "mean absolute error, training"),
                  Measure("metric.trace.*", "trace *")),
        rate=200, selected_by="metric.valid.mae",
        note="Of each run, the logged epoch of the lowest validation error. The paper does not say "
        "its optimiser, rate and length, and its sizes are quoted from memory only: here 32 for a "
        "word, 128 for the LSTM, Adam at 0.003 and 3,000 epochs. A NAC adds up outputs of the LSTM "
        "between -1 and 1: none of width 128 answers more than 128.",
    ),
    _programs("addition", "that add two numbers", "Programs, addition",
              " That sums are in its supplement could not be checked."),
    _programs("programs", "of two operations, +, - or if", "Figure 4"),
    measured(
        "nalu/fig5",
        "Tracking time in a grid world: arriving at a given step, beyond those of training",
        TRASK_2018, "Figure 5",
        Recipe("gridworld_time", "--max-iterations 3000", range(3), Resources(60)),
        {**layers("LSTM"),
         "nac-feedforward": ("NAC, feed-forward", "--layer-type NAC --nac-wiring feedforward"),
         "nac": ("NAC, recurrent", "--layer-type NAC"),
         "nalu": ("NALU, recurrent", "--layer-type NALU")},
        sketch(arrivals, marks=(13, 19)), sketch(episodes, "{key}_episode", stimulus=16),
        measures=(_higher("metric.test.beyond", "mean reward, T = 13 to 25"),
                  _higher("metric.test.within", "mean reward, T = 5 to 12"),
                  _higher("metric.train.reward", "reward in training"),
                  Measure("metric.test.episode.*", "frame at step *"),
                  _higher("metric.test.stimulus.*", "test of T = *")),
        rate=100,
        note="Reward shape assumed: an arrival at step t pays 10 - |T - t|, none pays 0; the paper "
        "does not say it. An advantage actor-critic on planes of cells stands in for A3C on "
        "pixels. How the NAC is wired is not published: both readings are trained. NALU is not in "
        "the paper's figure.",
    ),
    measured(
        "nalu/table4", "Even digits of a picture, counted by one network with eight last layers",
        TRASK_2018, "Table 4",
        Recipe("even_digit_count", f"--digit-source mnist --max-iterations {_STEPS}",
               range(3), Resources(30)),
        _HEADS,
        sketch(heads),
        measures=(_higher("metric.test.acc", "test accuracy"),
                  _mean("metric.test.rmse", "root of the mean squared error"),
                  _higher("metric.valid.acc", "validation accuracy")),
        rate=40,
        note=f"{_STEPS:,} updates at a rate of 0.001; the public repository whose pictures and "
        "network these are has 100,000 at 0.0001, and how long the paper trains is not known. That "
        "its table 4 is about these pictures is an inference.",
    ),
)

_EPOCHS_SHOWN = (0, 1, 2, 5, *range(10, 250, 10))
_STEPS_SHOWN = (*range(0, 10_000, 1_000), *range(10_000, 50_000, 5_000))
_OPERATIONS = (("add", "sums"), ("sub", "differences"), ("mul", "products"))
_NALU = "--layer-type NALU --nalu-variant"

# fmt: off
_ARTICLES = (
    measured(
        "article/mystery",
        "The mystery arithmetic problem: sums, differences and products of 100 inputs",
        NALU_ARTICLE, "Performance evaluation",
        Recipe("mystery_arithmetic", "--max-epochs 250", range(50), Resources(30),
               steps_per_epoch=32),
        {**layers("vanilla", "NAC"), "article": ("NALU (article)", f"{_NALU} article"),
         "two-nac": ("NALU (two NACs)", f"{_NALU} two-nac"),
         "shared": ("NALU (paper)", f"{_NALU} shared")},
        sketch(
            learning,
            curves=(("metric.train.mse", "Training rows"), ("metric.test.mse", "Test rows")),
            ends=tuple((f"metric.test.mse.{name}", text) for name, text in _OPERATIONS),
            ends_title="By operation",
        ),
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
        NALU_ARTICLE, ("W distribution",), (), drawn(sketch(weights)),
        note="Needs no training.",
        tables=(FurtherTable("experiments/weight_distribution.py",
                             "--init uniform nac xavier-normal truncated-normal "
                             "--csv-out {csv}/article-w-distribution.csv"),),
    ),
    measured(
        "notes/addition", "The sum of ten numbers by two NALUs, trained on all rows at once",
        NALU_NOTES, "Notebook",
        Recipe("notebook_addition", "--max-iterations 50000 --train-size 1000", range(100),
               Resources(60)),
        layers("NALU"),
        sketch(losses, experiment="notes/addition", column="loss.train.mse",
               half_sum="loss.train.half-sum-squares", below=1e-3),
        measures=(Measure("loss.train.half-sum-squares", "loss", below=1e-3),
                  Measure("metric.test.half-sum-squares", "test loss", below=1e-3),
                  Measure("loss.train.mse", "mean squared error", steps=_STEPS_SHOWN),
                  Measure("metric.test.mse", "mean squared test error")),
        note="On 1,000 rows, the notebook's run on 10,000: a fraction of the work for each of 100 "
        "seeds, and a limit that is ten times as wide for a row. The notebook's last evaluation "
        "trained on the test rows; here these are only measured.",
    ),
)

EXPERIMENTS = (*_NALU_PAPER, *_ARTICLES)
