"""The Domain Mixed Unit: nine ranges, four operations, operands that are given or learned."""

from __future__ import annotations

from dataclasses import replace

from stable_nalu.papers import CURRY_2025
from stable_nalu.statistics.setups import DMU

from .drawing import Drawing, Only, Runs, Series, drawn, sketch
from .experiment import Experiment, Model, shown_in
from .primer import RUNS, for_operation

_PAIRS = {"add": "add", "mul": "add", "sub": "sub", "div": "sub"}
"""Operation -> the operands that are given for it."""


def _model(name: str, kind: str, operands: str) -> Model:
    """Return the unit on one operation; those of all operations share a table."""
    setting = replace(for_operation(name), prefix="dmu/")
    text = f"--layer-type DMU --layer-option operands={operands} --learning-rate 0.1"
    return setting.model(
        f"{kind}-{name}", f"operands {kind} ({name})", text, name=kind, csv=f"dmu/{kind}_operands"
    )


_MODELS = (
    *(_model(name, "given", operands) for name, operands in _PAIRS.items()),
    *(_model(name, "learned", "learned") for name in _PAIRS),
)


def _of_operations(runs: Runs) -> tuple[Drawing]:
    """Return the three panels over ranges of each operation."""
    parts = (
        sketch(
            "panels",
            "{key}_op-" + name,
            runs=replace(runs, only=(Only("operation", (name,)),)),
            x_label="Interpolation range",
        )
        for name in _PAIRS
    )
    series = (
        Series((f"dmu/{kind}_operands", kind), f"operands {kind}") for kind in ("given", "learned")
    )
    return drawn(*parts, series=tuple(series))


EXPERIMENTS = (
    Experiment(
        "dmu",
        "The DMU by the thresholds of the other single modules",
        shown_in(CURRY_2025, "nine ranges, four operations"),
        _MODELS,
        _of_operations(RUNS),
        criterion="benchmark",
        note="Rate 0.1 and temperature 0.1, as those of the paper are not known. Given operands "
        "leave one bit to learn: which of two operations.",
    ),
    Experiment(
        "dmu_thresholds",
        "The DMU by the thresholds of its repository",
        shown_in(CURRY_2025, "nine ranges, four operations"),
        _MODELS,
        _of_operations(RUNS),
        criterion=DMU,
        note="The runs of the key dmu. A threshold is the error of exact operands whose gate is "
        "1e-4 from 0 or 1; there it has to be met once, here at the step that runs are judged at. "
        "The numbers of the repository are of an earlier state of the unit, whose operands and "
        "gate depend on the inputs, with 3,000 iterations, and of its rule then: training error "
        "below 1e-7 in 100 iterations in a row, with a gate that evaluation rounds.",
    ),
)
