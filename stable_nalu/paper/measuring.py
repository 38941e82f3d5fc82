"""Measuring Arithmetic Extrapolation Performance: the NALU, reproduced on the data set."""

from __future__ import annotations

from dataclasses import replace

from stable_nalu.papers import MADSEN_2019

from . import arithmetic_units as units
from .arithmetic_units import on_data_set, pick
from .drawing import Only, drawn, sketch
from .experiment import shown_in
from .labels import NAC_ADD, NAC_MUL
from .sweeps import MULTIPLICATION_PAIRS

_MULTIPLYING, _ADDING = (NAC_MUL, "NALU"), ("Linear", NAC_ADD, "NALU")
_NAME, _MUL = "function_task_static", "function_task_static_mul"

# Title of a panel, table, runs as points, and the models with what is added to their keys.
_STUDIES = (
    ("Hidden Size", "hidden_size", units.HIDDEN, "hidden-size", units.HIDDEN_MODELS),
    ("Input Size", "input_size", units.INPUT, "input-size", units.INPUT_MODELS),
    ("Overlap Ratio", "overlap", units.OVERLAP, "overlap", units.OVERLAP_MODELS),
    ("Subset Ratio", "subset", units.SUBSET, "subset", units.SUBSET_MODELS),
)
_PANELS = tuple(
    (
        title,
        f"{_MUL}_{name}",
        replace(runs, models=_MULTIPLYING, closed=True),
    )
    for title, name, runs, _, _ in _STUDIES
)
_PARAMETERS = "simple_function_static_mul_parameter"
_RANGES = ("U[0,1]", "U[0.1,0.2]", "U[1,2]", "U[1.1,1.2]", "U[10,20]")
_SHOWN_RANGES = replace(
    units.RANGE,
    models=_MULTIPLYING,
    closed=True,
    expected=_RANGES,
    only=(*units.RANGE.only, Only("interpolation.range", _RANGES)),
)
_POSITIVE = tuple(p for p in MULTIPLICATION_PAIRS if "-" not in p["--interpolation-range"][0])

# fmt: off
EXPERIMENTS = (
    on_data_set(
        f"{_NAME}_reproduce", "Reproduction of the NALU on the arithmetic data set",
        shown_in(MADSEN_2019, "table of default parameters"),
        units.by_operation(units.ALL, {"linear": "add sub", "nac-add": "add sub",
                                       "nac-mul": "mul div", "nalu": "add sub mul div"}),
        units.default_table((("mul", _MULTIPLYING), ("div", _MULTIPLYING),
                             ("add", _ADDING), ("sub", _ADDING))),
    ),
    on_data_set(
        f"{_MUL}_paramaters", "Multiplication by NAC• and NALU against data set parameters",
        shown_in(MADSEN_2019, "figure of data set parameters"),
        tuple(replace(model, key=f"{model.key}-{added}") for *_, added, models in _STUDIES
              for model in pick(models, "nac-mul", "nalu")),
        drawn(sketch("successes", _PARAMETERS, swept=_PANELS, columns=2, height=9.0),
              sketch("successes", f"{_PARAMETERS}_onerow", swept=_PANELS, columns=4)),
        parameter="hidden.size",
    ),
    on_data_set(
        f"{_MUL}_range_reproduce", "Multiplication by NAC• and NALU against the training range",
        shown_in(MADSEN_2019, "figure of training ranges"),
        tuple(replace(m, points=_POSITIVE) for m in pick(units.RANGE_MODELS, "nac-mul", "nalu")),
        drawn(units.panels("mul_range_reproduce", _SHOWN_RANGES, "Interpolation range", "dodge")),
        parameter="interpolation.range",
    ),
)
