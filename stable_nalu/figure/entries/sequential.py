"""Sequential MNIST: sums and products of sequences longer than those trained on."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from stable_nalu.paper.sequences import PRODUCT_REFERENCE
from stable_nalu.papers import MADSEN_2020, MISTRY_2022_ROBUST
from stable_nalu.statistics.thresholds import REFERENCE_SEEDS

from ..digit_sequences import SEQUENCE_VALIDATION
from ..entry import Entry, Only, Reference, Runs, Threshold, standard
from ..kinds import Lengths, Panels
from ..source import Series
from ..style import NAC_ADD, NAC_ADD_Z, NAC_MUL, NAC_MUL_NMU, NAC_MUL_SIGMA

PRODUCT_LENGTHS = tuple(range(1, 21))
SUM_LENGTHS = (1, 10, *range(100, 1001, 100))
_FROM_REFERENCE = Threshold()
_SOLVED = PRODUCT_REFERENCE.label
_LENGTH = "Extrapolation length"
_PRODUCT_BREAKS = (1, *range(2, 21, 2))
_SUM_BREAKS = (1, 10, *range(200, 1001, 200))


def _runs(
    operation: str,
    models: tuple[str, ...],
    only: tuple[Only, ...] = (),
    relabel=None,
) -> Runs:
    lengths = PRODUCT_LENGTHS if operation == "cumprod" else SUM_LENGTHS
    name = "prod" if operation == "cumprod" else "sum"
    return Runs(
        x="extrapolation.length",
        threshold=_FROM_REFERENCE,
        names="sequence",
        models=models,
        expected=lengths,
        only=only,
        relabel=relabel,
        best_range=1000,
        reference=Reference((f"sequential_mnist_{name}_reference",), REFERENCE_SEEDS[operation]),
    )


def with_z(rows: pd.DataFrame) -> pd.Series:
    """Return labels with one of its own for NAC under the z penalty."""
    pairs = zip(rows["model"], rows["regualizer.z"], strict=True)
    labels = [NAC_ADD_Z if model == NAC_ADD and z > 0 else model for model, z in pairs]
    return pd.Series(labels, index=rows.index)


def _z(value: float, *models: str) -> tuple[Only, ...]:
    return (Only("regualizer.z", (value,), models),)


_PRODUCT_MODELS = (NAC_MUL_NMU, NAC_MUL_SIGMA, NAC_MUL, "LSTM", "NALU", "NMU")
_SUM_MODELS = (NAC_ADD, NAC_ADD_Z, "LSTM", "NALU", "NAU")


def _product(stem: str, z: float, height: float = 5.7) -> Panels:
    runs = _runs("cumprod", _PRODUCT_MODELS, _z(z, "NMU", NAC_MUL_NMU))
    return Panels(stem, runs, _LENGTH, "line", _PRODUCT_BREAKS, size=standard(height))


def _sum(stem: str, runs: Runs) -> Panels:
    return Panels(stem, runs, _LENGTH, "category", _SUM_BREAKS)


def _errors(name: str, shows: str, runs: Runs, trained: int, longer: int) -> Entry:
    """Return the figure of the errors themselves, which need no threshold."""
    task = f"sequential_mnist_{name}"
    curves = (
        (SEQUENCE_VALIDATION, f"{trained} digits, as trained"),
        (f"metric.test.extrapolation.{longer}.mse", f"{longer:,} digits"),
    )
    return Entry(
        f"{task}_errors",
        MADSEN_2020,
        "",
        f"{shows}: errors over the epochs, and by length",
        (Lengths("{key}", runs, _SOLVED, curves),),
        (Series((f"{task}_reference",), _SOLVED), Series((f"{task}_long",))),
    )


_LONGEST = 9
_INTERPOLATION, _OUTPUTS = "sequential_mnist_prod_interpolation", "sequential_mnist_prod_outputs"
_TO_NINE = tuple(range(1, _LONGEST + 1))
_MORE_OUTPUTS = tuple(range(1, 7))
_ONE_RUN = Reference(
    ("sequential_mnist_prod_reference",), (0, 1, 2, 4, 5, 6, 7, 9), level=0.999, of_one_run=True
)
_ALL_PRODUCTS = _runs("cumprod", (), _z(1.0, "NMU", NAC_MUL_NMU))


def with_outputs(rows: pd.DataFrame) -> pd.Series:
    """Return labels with the number of outputs of the digit network."""
    pairs = zip(rows["model"], rows["hidden.size"], strict=True)
    return pd.Series([f"{model}, outputs: {count}" for model, count in pairs], index=rows.index)


def _exploring(key: str, shows: str, part: Panels, file: str) -> Entry:
    """Return a figure of a published script that is in no paper."""
    return Entry(
        f"sequential_mnist_prod_{key}", MADSEN_2020, "", shows, (part,), (Series((file,)),)
    )


_EXPLORING = (
    _exploring(
        "interpolation",
        "Products of nine digits against the training length",
        Panels(
            "sequential_mnist_prod_boundary_interpolation",
            replace(
                _ALL_PRODUCTS, x="interpolation.length", length=_LONGEST, expected=(2, 3, 4, 5)
            ),
            "Interpolation length",
            "line",
            (2, 3, 4, 5),
        ),
        _INTERPOLATION,
    ),
    _exploring(
        "boundary_output",
        "Products of nine digits against the outputs of the digit network",
        Panels(
            "sequential_mnist_prod_hidden_size_l9",
            replace(
                _ALL_PRODUCTS,
                x="hidden.size",
                length=_LONGEST,
                expected=_MORE_OUTPUTS,
                reference=_ONE_RUN,
            ),
            "Hidden size at extrapolation length 9",
            "line",
            _MORE_OUTPUTS,
        ),
        _OUTPUTS,
    ),
    _exploring(
        "horizon_output",
        "Products by the NMU against the length, for each number of outputs",
        Panels(
            "{key}",
            replace(
                _ALL_PRODUCTS,
                expected=_TO_NINE,
                only=(Only("regualizer.z", (1.0,)),),
                relabel=with_outputs,
                models=tuple(f"NMU, outputs: {count}" for count in _MORE_OUTPUTS),
                closed=True,
            ),
            _LENGTH,
            "line",
            _TO_NINE,
        ),
        _OUTPUTS,
    ),
)

_PROD = "sequential_mnist_prod_long"
_SUMS = "sequential_mnist_sum_long"
_SUM_RUNS = _runs("cumsum", _SUM_MODELS, _z(1.0, "NAU"), with_z)

ENTRIES = (
    Entry(
        _PROD,
        MADSEN_2020,
        "Figures 4 and 13",
        "Products of digit sequences",
        (
            _product(_PROD, 1.0),
            _product(f"{_PROD}_short", 1.0, 5.1),
            _product(f"{_PROD}_ablation", 0.0),
        ),
        (Series((_PROD,)),),
    ),
    Entry(
        _SUMS,
        MADSEN_2020,
        "Appendix",
        "Sums of digit sequences",
        (
            _sum(_SUMS, _SUM_RUNS),
            _sum(f"{_SUMS}_ablation", _runs("cumsum", _SUM_MODELS, _z(0.0, "NAU"), with_z)),
        ),
        (Series((_SUMS,)),),
    ),
    _errors(
        "prod",
        "Products of digit sequences",
        _runs("cumprod", _PRODUCT_MODELS, _z(1.0, "NMU", NAC_MUL_NMU)),
        trained=2,
        longer=10,
    ),
    _errors("sum", "Sums of digit sequences", _SUM_RUNS, trained=10, longer=1000),
    Entry(
        f"robust-{_PROD}",
        MISTRY_2022_ROBUST,
        "Figure 10",
        "Products of digit sequences: NMU and sNMU",
        (Panels("{key}", _runs("cumprod", ()), _LENGTH, "line", _PRODUCT_BREAKS),),
        (
            Series((f"{_PROD}_nmu",), "NMU"),
            Series((f"{_PROD}_snmu",), "sNMU [1,5]"),
            Series((f"{_PROD}_batch-snmu",), "sNMU [1,1+1/sd(X)]"),
        ),
    ),
    *_EXPLORING,
)
