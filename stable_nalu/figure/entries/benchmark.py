"""The single-module benchmark: every module over the nine ranges, one figure per operation."""

from __future__ import annotations

from dataclasses import replace

from stable_nalu.paper.ranges import INTERPOLATION_ORDER
from stable_nalu.paper.robust import SNMU_LABEL
from stable_nalu.papers import MISTRY_2022_PRIMER, MISTRY_2022_ROBUST
from stable_nalu.statistics.names import MODELS

from ..entry import Entry, Runs, Threshold
from ..kinds import Panels, Surface, Table
from ..source import Series

# The primer's thresholds are the usual ones of these runs; others may be beside the exported files.
BENCHMARK = Threshold(file="eps_thrs_sltr", by_input_size=True)
RUNS = Runs(
    x="interpolation.range", threshold=BENCHMARK, names="single", expected=INTERPOLATION_ORDER
)
_WORDS = {"add": "addition", "sub": "subtraction", "mul": "multiplication", "div": "division"}
_FILES = {
    "NAC": MODELS["nac"],
    "MNAC": MODELS["mnac"],
    "NALU": MODELS["nalu"],
    "NAU": MODELS["reregualizedlinearnac"],
    "NMU": MODELS["reregualizedlinearmnac"],
    "NPU": MODELS["npu"],
    "RealNPU": MODELS["realnpu"],
    "iNALU": MODELS["inalu"],
    "G-NALU": MODELS["nalu-gr"],
    "MCFC": MODELS["mcfc"],
    "MulMCFC": MODELS["mulmcfc"],
    "MulMCFCSignINALU": MODELS["mulmcfcsigninalu"],
    "MulMCFCSignRealNPU": MODELS["mulmcfcsignrealnpu"],
}
"""File -> label that its runs are parsed to."""


def _panels(operation: str) -> Panels:
    return Panels("{key}_op-" + operation, RUNS, "Interpolation range")


def _table(operation: str) -> Table:
    caption = (
        f"Results for {_WORDS[operation]} of single modules on every range, 25 seeds, with 95\\% "
        "confidence intervals. Bold: the best range of a module."
    )
    return Table(
        stem="{key}_op-" + operation,
        runs=RUNS,
        label=f"benchmark-sltr-{operation}",
        caption=caption,
        show_operation=False,
        show_range=True,
        within=("operation", "model"),
        long=True,
    )


def _benchmark(key: str, number: str, operation: str, *files: str) -> Entry:
    series = tuple(Series((name, f"{operation}/{name}"), expects=(_FILES[name],)) for name in files)
    folders = (f"benchmark/sltr-in2/{operation}", "benchmark/sltr-in2")
    shows = f"Single modules: {_WORDS[operation]} ({', '.join(files)})"
    parts = (_panels(operation), _table(operation))
    return Entry(key, MISTRY_2022_PRIMER, number, shows, parts, series, folders)


_NALUS = ("NALU", "iNALU", "G-NALU")
_MULTIPLYING = ("MNAC", "NMU", "NPU", "RealNPU", *_NALUS)


def _with_noise() -> Entry:
    """Return the figure of the multiplying modules with the sNMU: every error below 1e-5 counts."""
    entry = _benchmark("robust-benchmark_sltr_mul", "Figure 2", "mul", *_MULTIPLYING)
    snmu = Series(("sNMU", "mul/sNMU"), SNMU_LABEL)
    part = replace(_panels("mul"), runs=replace(RUNS, threshold=Threshold(flat=1e-5)))
    return replace(
        entry,
        paper=MISTRY_2022_ROBUST,
        shows="Single modules: multiplication, with the sNMU",
        parts=(part,),
        series=(*entry.series, snmu),
    )


_SURFACES = {
    "Exact": "mul_gold",
    "NMU: both ranges": "mul-nmu-s0",
    "MLP (1): neither range": "mul-ReLU-h1-s0",
    "MLP (100): training range only": "mul-ReLU-h100-s8",
}
_SURFACE = Entry(
    "surface-mul",
    MISTRY_2022_ROBUST,
    "Figure 1",
    "Predictions of MLPs and modules over two inputs: multiplication",
    (Surface(stem="2D-surface-mul"),),
    tuple(Series((name,), label) for label, name in _SURFACES.items()),
    ("2d-surface-plots/csvs",),
)


ENTRIES = (
    _SURFACE,
    _benchmark("benchmark_sltr_add", "Figure 14", "add", "NAC", "NAU", *_NALUS),
    _benchmark("benchmark_sltr_sub", "Figure 15", "sub", "NAC", "NAU", *_NALUS),
    _benchmark(
        "benchmark_sltr_mul",
        "Figure 16",
        "mul",
        *_MULTIPLYING,
    ),
    _with_noise(),
    _benchmark("benchmark_sltr_div", "Figure 17", "div", "MNAC", "NPU", "RealNPU", *_NALUS),
    Entry(
        "inalu-in10",
        MISTRY_2022_PRIMER,
        "Figure 18",
        "iNALU: addition with ten inputs",
        (_panels("add"),),
        (Series(("sltr-in10/add/iNALU",), expects=(_FILES["iNALU"],)),),
        ("benchmark",),
    ),
    Entry(
        "nau-failure",
        MISTRY_2022_PRIMER,
        "Figure 19",
        "NAU: where addition and subtraction with ten inputs fail",
        (_panels("sub-add"),),
        (Series(("add/NAU",), "NAU (add)"), Series(("sub/NAU",), "NAU (sub)")),
        ("benchmark/sltr-in10", "sltr-in10"),
    ),
    Entry(
        "nau-in100",
        MISTRY_2022_PRIMER,
        "Figure 20",
        "NAU: subtraction with a hundred inputs",
        (_panels("sub"),),
        (Series(("sltr-in100/sub/NAU",), expects=(_FILES["NAU"],)),),
        ("benchmark",),
    ),
    _benchmark("benchmark_sltr_add_mcfc", "", "add", "NAU", "MCFC"),
    _benchmark(
        "benchmark_sltr_mul_mcfc",
        "",
        "mul",
        "NMU",
        "MulMCFC",
        "MulMCFCSignINALU",
        "MulMCFCSignRealNPU",
    ),
)
