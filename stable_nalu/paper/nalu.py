"""Neural Arithmetic Logic Units: autoencoders, tables of scores, digits, words, programs."""

from __future__ import annotations

from collections.abc import Mapping

from stable_nalu.papers import TRASK_2018, Paper

from .drawing import Drawing, Sketch, drawn, sketch
from .experiment import Experiment, Measure, Resources, Setting, Shown
from .sweeps import operations, variants

Units = Mapping[str, tuple[str, str]]
"""Key of a model -> its label and flags."""


def measured(
    key: str,
    title: str,
    shown: tuple[Paper, str],
    setting: Setting,
    units: Units,
    *,
    measures: tuple[Measure, ...],
    drawings: tuple[Drawing, ...],
    note: str,
    parameter: str = "layer.type",
    rate: float | None = None,
    selected_by: str = "",
) -> Experiment:
    """Return an experiment whose runs have measures; its tables have the names of its models."""
    csv = key.replace("/", "-")
    return Experiment(
        key=key,
        title=title,
        shown=(Shown(*shown),),
        models=tuple(
            setting.model(unit, label, text, csv=f"{csv}/{unit}")
            for unit, (label, text) in units.items()
        ),
        parameter=parameter,
        criterion="measured",
        measures=measures,
        drawings=drawings,
        note=note,
        rate=rate,
        selected_by=selected_by,
    )


def layers(*names: str) -> dict[str, tuple[str, str]]:
    """Return models that are called as their layers are."""
    return {name.lower(): (name, f"--layer-type {name}") for name in names}


def _better(column: str, label: str, *, mean: bool = True) -> Measure:
    return Measure(column, label, typical="mean" if mean else "median", lower=False)


_FIGURE_1 = measured(
    "nalu/fig1",
    "Identity by a scalar autoencoder: the error beyond the range of training",
    (TRASK_2018, "Figure 1"),
    Setting(
        "identity_autoencoder",
        "--max-iterations 10000",
        range(100),
        Resources(15),
        prefix="nalu/fig1/",
    ),
    layers(
        *("Hardtanh", "Sigmoid", "ReLU6", "Tanh", "Tanhshrink", "Hardshrink", "LeakyReLU"),
        *("Softshrink", "Softsign", "Threshold", "ReLU", "PReLU", "Softplus", "ELU", "SELU"),
        *("linear", "NAC", "NALU"),
    ),
    measures=(
        Measure("abs.error.*", "error at x = *", typical="mean"),
        Measure("metric.test.extrapolation", "mean error outside", typical="mean"),
        Measure("metric.valid.interpolation", "mean error inside", typical="mean"),
    ),
    drawings=drawn(sketch("Extrapolations", experiment="nalu/fig1")),
    note="The paper does not say its optimiser, rate and sampling: here Adam at 0.01 on the whole "
    "numbers from -5 to 5. Linear, NAC and NALU are not in the paper's figure. Its numbers were "
    "read off the figure, whose colours repeat: three pairs of lines were told apart by shape.",
)

TABLE_1 = ("add", "sub", "mul", "div", "squared", "root")
"""The operations of table 1, in its order."""

_SCALE = (
    "Scores are mean squared errors in percent of those of untrained networks; the paper does not "
    "say which error it scores, nor optimiser, rate, length, widths, ranges and seeds"
)


def _table_1(
    half: str, title: str, script: str, flags: str, minutes: int, units: Units, note: str, rate: int
) -> Experiment:
    setting = Setting(
        script,
        flags,
        range(10),
        Resources(minutes),
        prefix=f"nalu/table1-{half}/",
        variants=operations(" ".join(TABLE_1)),
    )
    return measured(
        f"nalu/table1-{half}",
        f"Six operations on sums over {title}",
        (TRASK_2018, f"Table 1, {half}"),
        setting,
        units,
        measures=tuple(
            Measure(f"score.{part}", f"score, {part}", below=1.0)
            for part in ("extrapolation", "interpolation")
        ),
        drawings=drawn(sketch("Scores")),
        note=f"{_SCALE}: here {note}",
        parameter="operation",
        rate=rate,
    )


_HALVES = (
    _table_1(
        "static",
        "a vector, relative to untrained networks",
        "simple_function_static",
        "--extrapolation-rule exceed --random-models 100 --max-iterations 20000",
        15,
        {
            "relu6": ("Relu6", "--layer-type ReLU6"),
            "linear": ("None", "--layer-type linear"),
            **layers("NAC", "NALU"),
        },
        "100 untrained Relu6 networks, 100 inputs from U[1,2], U[2,6] beyond, "
        "Adam at 0.001. Relu6 networks on products and squares are still falling at the end.",
        5000,
    ),
    _table_1(
        "recurrent",
        "ten steps, asked of a thousand, relative to untrained LSTMs",
        "simple_function_recurrent",
        "--input-range [0,1] --subset-ratio 0.25 --random-models 10 --learning-rate 1e-2 "
        "--clip-grad-norm 1 --max-iterations 3000",
        30,
        {
            **layers("LSTM"),
            "relu": ("ReLU", "--layer-type RNN-ReLU"),
            **layers("NAC", "NALU"),
        },
        "10 untrained LSTMs, ten inputs from U[0,1) a step, Adam at 0.01. An "
        "error that overflows has the score infinity. NALUs have not settled at the end.",
        1000,
    ),
)


def _table_2(task: str, title: str, slower: str, why: str, *more: Sketch) -> Experiment:
    """Return an experiment on sequences of images; `slower` cells learn at a rate of 0.003."""
    cells = layers("LSTM", "GRU", "RNN-tanh", "RNN-ReLU", "NAC")
    cells["nalu"] = ("NALU", "--layer-type NALU --nalu-init truncated")
    return measured(
        f"nalu/table2-{task}",
        title,
        (TRASK_2018, f"Table 2, {task}"),
        Setting(
            "mnist_counting",
            f"--task {task} --digit-source mnist --batch-size 16 --max-epochs 5",
            range(3),
            Resources(30),
            prefix=f"nalu/table2-{task}/",
            variants=variants("--sequence-loss", "last all"),
            steps_per_epoch=344,
        ),
        {
            key: (label, f"{text} --learning-rate {'3e-3' if key in slower.split() else '1e-2'}")
            for key, (label, text) in cells.items()
        },
        measures=(
            *(
                Measure(f"metric.test.extrapolation.{length}.mae", f"error of {length:,} digits")
                for length in (10, 100, 1000)
            ),
            Measure("metric.test.extrapolation.1.mae", "error of a digit"),
            _better("metric.test.extrapolation.1.acc", "accuracy of a digit", mean=False),
            Measure("metric.valid.mse", "squared error, validation"),
            Measure("metric.test.shown.*", "shown digits, *"),
        ),
        drawings=drawn(sketch("CountingLengths"), *more),
        note="Five epochs of MNIST, 1,720 updates of 16 sequences: runs still improve at the end. "
        "The paper does not say optimiser, rate, batch, length and sizes. What is due after the "
        "last digit is read as a loss of the last step (last); trained on what is true at every "
        f"step (all), cells learn sooner. {why} NALUs start near zero (--nalu-init truncated), as "
        "they overflow from their usual start.",
        parameter="sequence.loss",
        rate=40,
    )


_TABLE_2 = (
    _table_2(
        "count",
        "How many of each digit a sequence of images has",
        "lstm rnn-tanh rnn-relu",
        "Adam at 0.01; at 0.003 for LSTMs, which do not learn at 0.01, and for RNNs.",
        sketch("RunningCounts", "{key}_digits", models=("NAC", "LSTM")),
    ),
    _table_2("sum", "The sum of the digits of a sequence of images", "", "Adam at 0.01."),
)

_TABLE_3 = measured(
    "nalu/table3",
    "Numbers in words: the error of an LSTM with three heads",
    (TRASK_2018, "Table 3"),
    Setting(
        "number_translation",
        "--number-range paper --head final --embedding-size 32 --hidden-size 128 "
        "--learning-rate 3e-3 --clip-grad-norm 10 --max-epochs 3000",
        range(5),
        Resources(30),
        prefix="nalu/table3/",
        steps_per_epoch=3,
    ),
    {
        "linear": ("LSTM", "--layer-type linear"),
        "nac": ("LSTM + NAC", "--layer-type NAC"),
        "nalu": ("LSTM + NALU", "--layer-type NALU"),
    },
    measures=(
        Measure("metric.test.mae", "mean absolute error, test"),
        Measure("metric.valid.mae", "mean absolute error, validation"),
        Measure("metric.train.mae", "mean absolute error, training"),
        Measure("metric.trace.*", "trace *"),
    ),
    drawings=drawn(sketch("ReadingErrors"), sketch("Traces", "{key}_trace")),
    note="Of each run, the logged epoch of the lowest validation error. The paper does not say its "
    "optimiser, rate and length, and its sizes are told from memory only: here 32 for a word, 128 "
    "for the LSTM, Adam at 0.003 and 3,000 epochs. A NAC adds up outputs of the LSTM between -1 "
    "and 1: none of width 128 answers more than 128.",
    rate=200,
    selected_by="metric.valid.mae",
)

_UNKNOWN = (
    "The paper does not say its sizes, rates and lengths; its differentiable neural computer is "
    "left out. Shares of digits are harsh: an error of one in the last place costs a digit or more."
)
_LONGER = {
    "4 digits": "metric.test.1000-10000",
    "3 digits": "metric.test.100-1000",
    "2 digits": "metric.valid",
}


def _programs(kind: str, title: str, number: str, note: str) -> Experiment:
    return measured(
        f"nalu/fig4-{kind}",
        f"Programs {title}: digits that are right, also of larger numbers",
        (TRASK_2018, number),
        Setting(
            "program_evaluation",
            f"--program {kind} --max-iterations 10000",
            range(3),
            Resources(60),
            prefix=f"nalu/fig4-{kind}/",
        ),
        layers("LSTM", "UGRNN", "NAC", "NALU"),
        measures=(
            *(_better(f"{name}.digits", f"digits right, {size}") for size, name in _LONGER.items()),
            *(
                Measure(f"{name}.relative", f"relative error, {size}")
                for size, name in _LONGER.items()
            ),
            Measure("metric.trace.*", "answer *"),
        ),
        drawings=drawn(sketch("DigitBars"), sketch("ProgramTraces", "{key}_program")),
        note=note,
        rate=200,
    )


_PROGRAMS = (
    _programs(
        "addition",
        "that add two numbers",
        "Programs, addition",
        f"{_UNKNOWN} That sums are in its supplement could not be checked.",
    ),
    _programs("programs", "of two operations, +, - or if", "Figure 4", _UNKNOWN),
)

_FIGURE_5 = measured(
    "nalu/fig5",
    "Tracking time in a grid world: arriving at a step that is told, beyond those of training",
    (TRASK_2018, "Figure 5"),
    Setting(
        "gridworld_time", "--max-iterations 3000", range(3), Resources(60), prefix="nalu/fig5/"
    ),
    {
        "lstm": ("LSTM", "--layer-type LSTM"),
        "nac-feedforward": ("NAC, feed-forward", "--layer-type NAC --nac-wiring feedforward"),
        "nac": ("NAC, recurrent", "--layer-type NAC"),
        "nalu": ("NALU, recurrent", "--layer-type NALU"),
    },
    measures=(
        _better("metric.test.beyond", "mean reward, T = 13 to 25"),
        _better("metric.test.within", "mean reward, T = 5 to 12"),
        _better("metric.train.reward", "reward in training"),
        Measure("metric.test.episode.*", "frame at step *"),
        _better("metric.test.stimulus.*", "test of T = *"),
    ),
    drawings=drawn(
        sketch("Arrivals", marks=(13, 19)), sketch("Episodes", "{key}_episode", stimulus=16)
    ),
    note="Reward shape assumed: an arrival at step t pays 10 - |T - t|, none pays 0; the paper "
    "does not say it. An advantage actor-critic on planes of cells stands in for A3C on pixels. "
    "How the NAC is wired is not published: both readings are trained. NALU is not in the paper's "
    "figure.",
    rate=100,
)

_STEPS = 16_000
_TABLE_4 = measured(
    "nalu/table4",
    "Even digits of a picture, counted by one network with eight last layers",
    (TRASK_2018, "Table 4"),
    Setting(
        "even_digit_count",
        f"--digit-source mnist --max-iterations {_STEPS}",
        range(3),
        Resources(30),
        prefix="nalu/table4/",
    ),
    {
        f"{key}{'-b' if bias else ''}": (
            f"{label} + b" if bias else label,
            f"--layer-type {unit}{'' if bias else ' --no-head-bias'}",
        )
        for key, unit, label in (
            ("linear", "linear", "W x"),
            ("sigmoid", "sigmoid", "σ(W) x"),
            ("tanh", "tanh", "tanh(W) x"),
            ("nac", "NAC", "NAC"),
        )
        for bias in (True, False)
    },
    measures=(
        _better("metric.test.acc", "test accuracy"),
        Measure("metric.test.rmse", "root of the mean squared error", typical="mean"),
        _better("metric.valid.acc", "validation accuracy"),
    ),
    drawings=drawn(sketch("Heads")),
    note=f"{_STEPS:,} updates at a rate of 0.001; the public repository whose pictures and "
    "network these are has 100,000 at 0.0001, and how long the paper trains is not known. That its "
    "table 4 is about these pictures is an inference.",
    rate=40,
)

EXPERIMENTS = (_FIGURE_1, *_HALVES, *_TABLE_2, _TABLE_3, *_PROGRAMS, _FIGURE_5, _TABLE_4)
