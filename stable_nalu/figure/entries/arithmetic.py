"""Neural arithmetic units: the two-layer arithmetic data set."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from stable_nalu.papers import MADSEN_2019, MADSEN_2020
from stable_nalu.statistics.names import MODELS, ablation_suffix

from ..entry import Entry, Only, Part, Runs, Threshold, standard
from ..kinds import Histogram, Panels, Successes, Table
from ..source import Series
from ..style import GATED, NAC_ADD, NAC_MUL, NAC_MUL_NMU, NAC_MUL_SIGMA, NALU_SEPARATE, NALU_SHARED

LOOKED_UP = Threshold()
MULTIPLIERS = (NAC_MUL_NMU, NAC_MUL_SIGMA, NAC_MUL, GATED, "NALU", "NMU")
MULTIPLICATION_RANGES = (
    "U[-2,-1]",
    "U[-2,2]",
    "U[0,1]",
    "U[0.1,0.2]",
    "U[1,2]",
    "U[1.1,1.2]",
    "U[10,20]",
)
INPUT_SIZES = (4.0, 10.0, *(float(size) for size in range(25, 301, 25)))
HIDDEN_SIZES = tuple(range(2, 11))
SUBSETS = (0.05, 0.1, 0.25, 0.5)
OVERLAPS = (0.0, 0.1, 0.25, 0.5, 0.75, 1.0)
RATES = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
STRENGTHS = (0.0, 0.01, 0.1, 1.0, 10.0, 100.0)
ALL_MODELS = (
    NAC_MUL_NMU,
    NAC_MUL_SIGMA,
    NAC_MUL,
    NAC_ADD,
    GATED,
    "Linear",
    "NALU",
    "NAU",
    "NMU",
    "ReLU",
    "ReLU6",
)


def ablation(rows: pd.DataFrame) -> pd.Series:
    """Return labels with what is switched off."""
    weights = zip(rows["model"], rows["regualizer"], rows["regualizer.oob"], strict=True)
    return pd.Series(
        [model + ablation_suffix(sparse, oob) for model, sparse, oob in weights], index=rows.index
    )


def shared_nalu(rows: pd.DataFrame) -> pd.Series:
    """Return labels that tell the plain NALU, whose two paths share weights, from the other."""
    labels = {MODELS["nalu"]: NALU_SHARED}
    return pd.Series([labels.get(model, model) for model in rows["model"]], index=rows.index)


def optimizer(rows: pd.DataFrame) -> pd.Series:
    """Return the name of the optimizer, with momentum as its suffix."""
    pairs = zip(rows["learning.optimizer"], rows["learning.momentum"], strict=True)
    names = [name if momentum == 0 else f"{name}-Nesterov" for name, momentum in pairs]
    return pd.Series(names, index=rows.index)


_SWEPT = Runs(x="", threshold=LOOKED_UP, models=MULTIPLIERS, only=(Only("operation", ("mul",)),))
HIDDEN = replace(_SWEPT, x="hidden.size", expected=HIDDEN_SIZES)
INPUT = replace(_SWEPT, x="input.size", expected=INPUT_SIZES, best_range=15000)
OVERLAP = replace(_SWEPT, x="overlap.ratio", expected=OVERLAPS)
SUBSET = replace(_SWEPT, x="subset.ratio", expected=SUBSETS)
RANGE = replace(_SWEPT, x="interpolation.range", expected=MULTIPLICATION_RANGES)
_OPERATIONS = Runs(x="operation", threshold=LOOKED_UP, models=ALL_MODELS)


def _entry(key: str, number: str, shows: str, *parts: Part, file: str = "") -> Entry:
    """Return a figure of one file, which has the name of the key unless told otherwise."""
    return Entry(key, MADSEN_2020, number, shows, parts, (Series((file or key,)),))


def _line(name: str, runs: Runs, label: str, breaks: tuple[float, ...] = ()) -> Panels:
    return Panels(f"simple_function_static_mul_{name}", runs, label, "line", breaks)


_HIDDEN = _line("hidden_size", HIDDEN, "Hidden size", (2, 4, 6, 8, 10))
_ABLATED = replace(
    HIDDEN,
    models=tuple(f"NMU{ablation_suffix(sparse, oob)}" for sparse in (10, 0) for oob in (1, 0)),
    relabel=ablation,
)
_FEW_RANGES = ("U[0,1]", "U[0.1,0.2]", "U[1,2]", "U[1.1,1.2]", "U[10,20]")
_REPRODUCED_RANGE = replace(
    RANGE,
    models=(NAC_MUL, "NALU"),
    closed=True,
    expected=_FEW_RANGES,
    only=(*_SWEPT.only, Only("interpolation.range", _FEW_RANGES)),
)


def _regualization(operation: str, model: str) -> Panels:
    runs = Runs(
        x="regualizer",
        threshold=LOOKED_UP,
        models=(model,),
        closed=True,
        expected=STRENGTHS,
        only=(
            Only("operation", (operation,)),
            Only("regualizer.scaling.start", (5000.0,), ("NAU",)),
        ),
    )
    stem = f"simple_function_static_regualization_{operation}"
    return Panels(stem, runs, "Sparse regualizer", "category", size=standard(5.0))


def _learning(operation: str, nac: str) -> Panels:
    runs = Runs(
        x="learning.rate",
        threshold=LOOKED_UP,
        models=(nac, "NALU"),
        closed=True,
        expected=RATES,
        only=(Only("operation", (operation,)),),
        extra="optimizer",
        derive=(("optimizer", optimizer),),
    )
    stem = f"simple_function_static_learning_{operation}"
    return Panels(stem, runs, "Learning rate", "line", log_x=True, size=standard(5.0))


def _parameters() -> Entry:
    base = "function_task_static_mul"
    panels = tuple(
        (
            title,
            f"{base}_{name}",
            replace(runs, models=(NAC_MUL, "NALU"), closed=True, best_range=5000),
        )
        for title, name, runs in (
            ("Hidden Size", "hidden_size", HIDDEN),
            ("Input Size", "input_size", INPUT),
            ("Overlap Ratio", "overlap", OVERLAP),
            ("Subset Ratio", "subset", SUBSET),
        )
    )
    stem = "simple_function_static_mul_parameter"
    parts = (
        Successes(stem=stem, panels=panels, columns=2, size=standard(9.0)),
        Successes(stem=f"{stem}_onerow", panels=panels, columns=4),
    )
    shows = "× by four parameters of the data set, success rates"
    series = tuple(Series((file,)) for _, file, _ in panels)
    return Entry(f"{base}_paramaters", MADSEN_2019, "", shows, parts, series)


_GATES = Runs(
    x="operation",
    threshold=LOOKED_UP,
    models=(GATED, NALU_SEPARATE, NALU_SHARED),
    relabel=shared_nalu,
    only=(Only("operation", ("mul", "add")),),
)
_ADDERS = ("Linear", "NAU", NAC_ADD, "NALU")
_DEFAULTS = "function-task-static-defaults"
_CAPTION = "Arithmetic data set, default parameters: success rate, step and sparsity error."
_ADDING_FIRST = ("Linear", NAC_ADD, "NALU")
_DEFAULT_TABLE = Table("{key}", _OPERATIONS, _DEFAULTS, _CAPTION)
_MUL = "function_task_static_mul"

ENTRIES = (
    _entry(
        "simple_mul",
        "Table 1",
        "Four inputs, ×",
        Table(
            stem="simple_mul",
            runs=replace(_OPERATIONS, models=("Linear", *MULTIPLIERS)),
            label="very-simple-function-results",
            caption="A very simple product of four inputs.",
            rows=(("mul", ("Linear", "NMU", NAC_MUL, "NALU")),),
        ),
    ),
    _entry(
        "function_task_static",
        "Table 2",
        "Default parameters",
        replace(
            _DEFAULT_TABLE,
            rows=(("mul", ("NMU", NAC_MUL, "NALU")), ("add", _ADDERS), ("sub", _ADDERS)),
        ),
    ),
    _entry(
        "function_task_static_all",
        "Table 6",
        "Default parameters, every unit and operation",
        replace(_DEFAULT_TABLE, label=f"{_DEFAULTS}-all", long=True),
        file="function_task_static",
    ),
    replace(
        _entry(
            "function_task_static_reproduce",
            "",
            "Default parameters: NALU and its parts",
            replace(
                _DEFAULT_TABLE,
                rows=(
                    ("mul", (NAC_MUL, "NALU")),
                    ("div", (NAC_MUL, "NALU")),
                    ("add", _ADDING_FIRST),
                    ("sub", _ADDING_FIRST),
                ),
            ),
            file="function_task_static",
        ),
        paper=MADSEN_2019,
    ),
    _entry(
        f"{_MUL}_hidden_size",
        "Figure 3 top",
        "× by hidden size",
        _HIDDEN,
        replace(_HIDDEN, stem=f"{_HIDDEN.stem}_short", size=standard(5.1)),
    ),
    _entry(
        f"{_MUL}_range",
        "Figure 3 bottom",
        "× by interpolation range",
        Panels("simple_function_static_mul_range", RANGE, "Interpolation range"),
    ),
    replace(
        _entry(
            f"{_MUL}_range_reproduce",
            "",
            "× by interpolation range: NAC• and NALU",
            Panels(
                "simple_function_static_mul_range_reproduce",
                _REPRODUCED_RANGE,
                "Interpolation range",
            ),
            file=f"{_MUL}_range",
        ),
        paper=MADSEN_2019,
    ),
    _entry(
        f"{_MUL}_hidden_size_ablation",
        "Figure 7",
        "NMU without penalty or clamp",
        replace(_HIDDEN, stem=f"{_HIDDEN.stem}_ablation", runs=_ABLATED),
    ),
    _entry(
        f"{_MUL}_input_size",
        "Figure 8",
        "× by size of the input",
        _line("input_size", INPUT, "Size of the input vector", (0, 100, 200, 300)),
    ),
    _entry(
        f"{_MUL}_overlap",
        "Figure 8",
        "× by overlap of the subsets",
        _line("overlap", OVERLAP, "The ratio of which subsets overlap with each other"),
    ),
    _entry(
        f"{_MUL}_subset",
        "Figure 8",
        "× by size of the subsets",
        _line("subset", SUBSET, "Relative size of subsets compared to input size"),
    ),
    _entry(
        "function_task_static_nalu",
        "Figure 9, Table 5",
        "Gates of NALU and Gated NAU/NMU at the selected step",
        Histogram(
            stem="function_task_static_nalu",
            runs=_GATES,
            column="network.layer_2.nalu.gate.mean",
            size=standard(7.0),
        ),
        Table(
            stem="function_task_static_nalu",
            runs=_GATES,
            label="simple-function-static-nalu-gate-table",
            caption="Gated units that must choose between adding and multiplying.",
        ),
    ),
    _entry(
        "function_task_static_regualization",
        "Figures 10–12",
        "Strength of the sparsity penalty, by operation",
        *map(_regualization, ("add", "sub", "mul"), ("NAU", "NAU", "NMU")),
    ),
    _entry(
        "function_task_static_learning",
        "",
        "Learning rates and optimizers, by operation",
        *map(_learning, ("add", "sub", "mul", "div"), (NAC_ADD, NAC_ADD, NAC_MUL, NAC_MUL)),
    ),
    _parameters(),
)
