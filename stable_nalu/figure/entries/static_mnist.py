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


def _key(
    key: str, shows: str, series: dict[str, str], number: str = "", published: str = ""
) -> Entry:
    found = tuple(Series((name,), label) for label, name in series.items())
    folders = ("static-mnist/mul", "static-mnist/add")
    return Entry(key, MISTRY_2022_ROBUST, number, shows, _parts("{key}"), found, folders, published)


def _trained(key: str, shows: str) -> Entry:
    """Return the figure of an experiment: a series for each of its models."""
    experiment = EXPERIMENTS[key]
    series = {model.label: PurePath(model.csv).name for model in experiment.models}
    return _key(key, shows, series, experiment.shown[0].number)


PAIRS = (
    _trained("static-mnist-mul-isolated", "Product of two isolated digits"),
    _trained("static-mnist-mul-colour-concat", "Product of two digits in colour channels"),
    _key(
        "two-digit-test",
        "Early runs: sum of two digits, with and without a unit",
        {
            "covn-fc": "add_nalmF_fixF",
            "covn-add": "add_nalmF_fixT",
            "convn-nau": "add_nalmT_fixF",
        },
        published="test",
    ),
    _key(
        "two-digit-add",
        "Early runs: sum of two digits",
        {
            "covn-add (Adam)": "conv-add",
            "covn-fc": "conv-fc",
            "conv-nau": "conv-nau",
            "convn-add (Adadelta)": "conv-add_opt-Adadelta-rho-0.95_lr-1",
        },
        published="add",
    ),
    _key(
        "two-digit-mul",
        "Early runs: product of two digits",
        {
            "covn-mul": "conv-mul",
            "covn-fc": "conv-fc",
            "convn-nmu": "conv-nmu",
            "conv-snmu": "conv-snmu",
        },
        published="mul",
    ),
    _key(
        "mul-adadelta",
        "Product of two digits, ResNet-18, Adadelta",
        {
            "mul": "resnet18-mul-Adadelta",
            "fc": "resnet18-fc-Adadelta",
            "nmu": "resnet18-nmu-Adadelta",
            "nmu R25-35": "resnet18-nmu-AdadeltaR25-35",
            "snmu": "resnet18-snmu-Adadelta",
        },
    ),
    _key(
        "mul-1digit_conv-Adadelta",
        "Product of isolated digits, Adadelta",
        {name: f"1digit_conv-{name}" for name in ("mul", "fc", "nmu", "snmu")},
    ),
    _key(
        "mul-1digit_conv-snmu-dev",
        "Product of isolated digits, sNMU: schedules",
        {
            "(Adadelta + scheduler)": "1digit_conv-snmu",
            "(r10-20-10) (Ada.+schd)": "1digit_conv-snmu_r10-20-10",
            "(r10-20-100) (Ada.+schd) (E100)": "1digit_conv-snmu_r10-20-100",
            "(r10-20-100) (Adam+schd)": "1digit_conv-snmu-id20",
            "(r30-40-100) (Adam+schd(ms=[50]))": "1digit_conv-snmu-id21",
            "(r30-40-100) (Adam)(E1K)": "1digit_conv-snmu-id22",
        },
    ),
    _key(
        "mul-1digit_conv-Adam",
        "Product of isolated digits, Adam",
        {
            "mul": "1digit_conv-mul_Adam",
            "fc": "1digit_conv-fc_Adam",
            "nmu": "1digit_conv-nmu_Adam",
            "snmu [1,5]": "1digit_conv-snmu-id22",
            "snmu [1,1+1/sd(x)]": "1digit_conv-batch-snmu-id70",
        },
    ),
    _key(
        "mul-spatial-transformer",
        "Product of two digits, spatial transformers",
        {
            "mul (Adam)": "st-mul_Adam",
            "snmu (Adam)": "st-snmu_Adam",
            "mul (Adadelta & Scd.)": "st-mul_Adadelta_MSLR-35-75-125",
            "mul (noconcat; Adam)": "noConcat-st-mul_Adam",
            "mul (noconcat;Adadelta & Scd.)": "noConcat-st-mul_Adadelta_MSLR-35-75-125",
        },
    ),
    _key(
        "mul-colour_no-concat-conv",
        "Product of digits in colour channels, convolutions",
        {
            "mul": f"ID55-stOrgTask-mul_{_CONV}_no-concat-conv",
            "fc": f"ID58-fc_{_CONV}_colour_no-concat-conv",
            "fc (gnc=1)": f"ID59-fc-gnc1_{_CONV}_colour_no-concat-conv",
            "snmu": f"ID56-snmu_{_CONV}_colour_no-concat-conv",
            "nmu": f"ID57-nmu_{_CONV}_colour_no-concat-conv",
        },
    ),
    _key(
        "mul-TPS-no-concat-conv",
        "Product of digits in colour channels, thin-plate splines",
        {
            "mul": f"ID60-mul_{_TPS}",
            "fc": f"ID63-fc_{_TPS}",
            "nmu": f"ID62-nmu_{_TPS}",
            "snmu [1,5]": f"ID61-snmu_{_TPS}",
            "snmu [1,1+1/sd(x)]": f"ID69-batch-snmu_{_TPS}",
        },
    ),
    _key(
        "add-1digit_conv-Adam",
        "Sum of isolated digits, Adam",
        {
            "mul": "1digit_conv-add_Adam",
            "fc": "1digit_conv-fc_Adam",
            "nau (r30-40-100)": "1digit_conv-nau_Adam",
        },
    ),
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
        key,
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
    _classes(
        f"{_TPS}_NOT-ROUNDED",
        "",
        "Accuracy by class, colour channels",
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
