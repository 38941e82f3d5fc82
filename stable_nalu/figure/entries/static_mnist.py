"""Pairs of MNIST digits: arithmetic on labels that are learned along with it."""

from __future__ import annotations

from pathlib import PurePath

from stable_nalu.paper.index import EXPERIMENTS
from stable_nalu.papers import MISTRY_2022_DIVISION, MISTRY_2022_ROBUST

from ..entry import Entry, Part
from ..kinds import Bars, EpochCurves, Matrix, Scatter, Violin
from ..source import Series

ORDER = ("mul", "fc", "nmu", "snmu [1,5]", "snmu [1,1+1/sd(x)]")
DIVIDERS = ("DIV", "MLP", "Real NPU (mod)", "NRU", "NMRU")
BEST = "metric.train.output_rounded_5dp.acc"
_CONV = "MSE_Adam-lr0.001"
_TPS = f"{_CONV}_TPS-no-concat-conv"
_QUANTITIES = (("output", "output"), ("label1", "label 1"), ("label2", "label 2"))

Metrics = tuple[tuple[tuple[str, ...], str], ...]


def _metrics(ending: tuple[str, ...], states: tuple[str, ...] = ("train", "test")) -> Metrics:
    return tuple(
        (tuple(f"metric.{state}.{quantity}{end}" for end in ending), f"{text} ({state})")
        for quantity, text in _QUANTITIES
        for state in states
    )


_LOSS: Metrics = (
    *(
        ((f"metric.{state}.output.loss", f"metric.{state}.output.mse"), f"output ({state})")
        for state in ("train", "valid", "test")
    ),
    *_metrics((".loss", ".mse"))[2:],
)


def _curves(base: str) -> tuple[EpochCurves, ...]:
    return tuple(
        EpochCurves(
            stem=f"{base}_ep-{measure}{suffix}",
            column=f"metric.test.{quantity}{rounded}.acc",
            y_label=f"{side}Accuracy (%)",
        )
        for measure, rounded in (("acc", ""), ("rounded_acc", "_rounded"))
        for quantity, suffix, side in (
            ("output", "", "Test "),
            ("label1", "-lab1", "Left Label "),
            ("label2", "-lab2", "Right Label "),
        )
    )


def _parts(base: str) -> tuple[Part, ...]:
    return (
        Scatter(stem=f"{base}_loss", metrics=_LOSS, y_label="Loss", order=ORDER),
        Scatter(
            stem=f"{base}_acc", metrics=_metrics((".acc",)), y_label="Accuracy (%)", order=ORDER
        ),
        Scatter(
            stem=f"{base}_rounded_acc",
            metrics=_metrics(("_rounded.acc",)),
            y_label="Accuracy (%)",
            order=ORDER,
        ),
        *_curves(base),
    )


def _key(key: str, shows: str, series: dict[str, str], number: str = "") -> Entry:
    found = tuple(Series((name,), label) for label, name in series.items())
    folders = ("static-mnist/mul", "static-mnist/add")
    return Entry(key, MISTRY_2022_ROBUST, number, shows, _parts("{key}"), found, folders)


def _trained(key: str, shows: str) -> Entry:
    """Return the figure of an experiment: a series for each of its models."""
    experiment = EXPERIMENTS[key]
    series = {model.label: PurePath(model.csv).name for model in experiment.models}
    return _key(key, shows, series, experiment.shown[0].number)


PAIRS = (
    _trained("static-mnist-mul-isolated", "Product of two isolated digits"),
    _trained("static-mnist-mul-colour-concat", "Product of two digits in colour channels"),
)

_DECIMALS: Metrics = tuple(
    ((f"metric.{state}.output_rounded_{places}dp.acc",), f"output {places} d.p. ({state})")
    for places in (4, 5)
    for state in ("train", "test")
)

DIVISION_OF_DIGITS = Entry(
    "div-1digit_conv-Adam-s3Init",
    MISTRY_2022_DIVISION,
    "MNIST division",
    "Quotient of two isolated digits",
    (
        Scatter(
            stem="{key}_dp_acc",
            metrics=(*_DECIMALS, *_metrics((".acc",))[2:]),
            y_label="accuracy (%)",
            order=DIVIDERS,
            best=BEST,
        ),
        Violin(
            stem="{key}_5dp_test_acc_violin",
            column="metric.test.output_rounded_5dp.acc",
            y_label="accuracy (%)",
            order=("DIV", "Real NPU (mod)", "NRU", "NMRU"),
            best=BEST,
        ),
    ),
    tuple(Series((m.csv,), m.label) for m in EXPERIMENTS["div-1digit_conv-Adam-s3Init"].models),
    ("static-mnist/div",),
)


def _classes(
    key: str, number: str, shows: str, ids: tuple[int, int, int, int, int], experiment: str
) -> Entry:
    """Return a figure of fold 2: by the ids of the published runs, else by those of the scripts."""
    flags = ("nalmF_learnLF", "nalmF_learnLT", *["nalmT_learnLT"] * 3)
    labels = ("mul", "fc", "nmu", "snmu", "snmu [1,1+1/sd(x)]")
    trained = (model.flags["--id"][0] for model in EXPERIMENTS[experiment].models)
    series = tuple(
        Series(tuple(f"{one}_f2_op-mul_{flag}_s2_class_accs" for one in both), label)
        for both, flag, label in zip(zip(ids, trained, strict=True), flags, labels, strict=True)
    )
    part = Bars(stem=f"{key}_class_accs")
    return Entry(
        f"class_accs-{key}",
        MISTRY_2022_ROBUST,
        number,
        shows,
        (part,),
        series,
        ("class-accs",),
    )


_ISOLATED_IDS = (23, 25, 24, 22, 70)
_COLOUR_IDS = (60, 63, 62, 61, 69)

_ISOLATED, _COLOUR = "static-mnist-mul-isolated", "static-mnist-mul-colour-concat"

CLASSES = (
    _classes(
        "mul-1digit_conv-Adam",
        "Figure 15",
        "Accuracy by class, isolated digits",
        _ISOLATED_IDS,
        _ISOLATED,
    ),
    _classes(
        f"{_TPS}_ROUNDED",
        "Figure 17",
        "Accuracy by class, colour channels, rounded",
        _COLOUR_IDS,
        _COLOUR,
    ),
)

CONFUSION = Entry(
    "confusion_matrix",
    MISTRY_2022_ROBUST,
    "Appendix G",
    "True against predicted digits of one trained network",
    (Matrix(stem="{key}"),),
    (Series(("confusion_matrix",), "counts"),),
    ("class-accs",),
)

ENTRIES = (*PAIRS, DIVISION_OF_DIGITS, *CLASSES, CONFUSION)
