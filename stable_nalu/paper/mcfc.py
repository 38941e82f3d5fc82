"""The MC-FC layers, measured on the benchmark of the primer."""

from __future__ import annotations

from stable_nalu.papers import MCFC_2023

from .experiment import Model, shown_in
from .primer import ADDING, NMU, WINDOW, for_operation, judged_by_benchmark, on_every_range


def _model(operation: str, layer: str, label: str, number: int, text: str = "") -> Model:
    return for_operation(operation).model(
        layer,
        label,
        f"--layer-type {layer} {WINDOW} {text} --id {number}",
        name=f"{operation}/{layer}",
        minutes=240,
    )


# fmt: off
EXPERIMENTS = (
    judged_by_benchmark(
        "benchmark_sltr_mul_mcfc", "MC-FC layers: multiplication",
        shown_in(MCFC_2023, "multiplication"),
        (NMU, _model("mul", "MulMCFC", "MulMCFC", 32),
         _model("mul", "MulMCFCSignINALU", "MulMCFC (sign: iNALU)", 34),
         _model("mul", "MulMCFCSignRealNPU", "MulMCFC (sign: Real NPU)", 35,
                "--reg-scale-type madsen --regualizer-gate 1")),
        on_every_range("mul", "NMU MulMCFC MulMCFCSignINALU MulMCFCSignRealNPU"),
    ),
    judged_by_benchmark(
        "benchmark_sltr_add_mcfc", "MC-FC layers: addition", shown_in(MCFC_2023, "addition"),
        (ADDING[2], _model("add", "MCFC", "MCFC", 33)), on_every_range("add", "NAU MCFC"),
    ),
)
