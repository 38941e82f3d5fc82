"""A Primer for Neural Arithmetic Logic Modules: its benchmark, also of the MC-FC layers."""

from dataclasses import replace
from functools import partial
from typing import Any

from stable_nalu.base.papers import MCFC_2023, MISTRY_2022_PRIMER
from stable_nalu.dataset.distribution import INTERPOLATION_ORDER
from stable_nalu.figure.panels import sweep_panels, table
from stable_nalu.figure.runs import Drawing, Part, Runs, Series, drawn
from stable_nalu.statistics.setups import MODELS

from .experiment import SINGLE_MODULE_RANGES, Experiment, Model, Recipe, Resources

WINDOW = "--regualizer-scaling-start 20000 --regualizer-scaling-end 35000"
NMU_FLAGS = f"--layer-type ReRegualizedLinearMNAC --nac-mul mnac {WINDOW}"
_NAU_FLAGS = f"--layer-type ReRegualizedLinearNAC {WINDOW} --regualizer 0.01"
_GOLDEN = "--nalu-gate golden-ratio --nalu-mul golden-ratio --nac-weight golden-ratio"
_NALUS = {
    "NALU": ("NALU", "--layer-type NALU"),
    "iNALU": ("iNALU", "--layer-type iNALU --clip-grad-value 0.1 --reinit"),
    "G-NALU": ("G-NALU", f"--layer-type NALU {_GOLDEN}"),
}


def _npus(start: str, end: str) -> dict[str, tuple[str, str]]:
    """Return both units of powers, with the strengths of their penalty."""
    penalty = (
        f"--learning-rate 5e-3 --regualizer-beta-start {start} --regualizer-beta-end {end} "
        "--regualizer-l1 --regualizer-shape none --regualizer 0"
    )
    return {
        "NPU": ("NPU", f"--layer-type NPU --nac-mul npu {penalty}"),
        "RealNPU": ("Real NPU", f"--layer-type RealNPU --nac-mul real-npu {penalty}"),
    }


def for_operation(operation: str) -> Recipe:
    """Return the two-input benchmark for one operation."""
    flags = f"--operation {operation} --max-iterations 50000 --log-interval 1000 --no-cuda"
    every = (range(25), Resources(60), "benchmark/sltr-in2/", SINGLE_MODULE_RANGES)
    return Recipe("single_layer_benchmark", flags, *every)


NMU = for_operation("mul").model("NMU", "NMU", NMU_FLAGS, csv="benchmark/sltr-in2/mul/NMU")
_MNAC = {"MNAC": ("NAC•", "--layer-type MNAC --nac-mul normal")}
_ADDING = {"NAC": ("NAC+", "--layer-type NAC"), "NAU": ("NAU", _NAU_FLAGS)}


def _models(operation: str, units: dict[str, tuple[str, str]], order: str) -> tuple[Model, ...]:
    setting = for_operation(operation)
    return tuple(
        NMU if key == "NMU" else setting.model(key, *units[key], name=f"{operation}/{key}")
        for key in order.split()
    )


MULTIPLYING = _models(
    "mul", {**_MNAC, **_NALUS, **_npus("1e-7", "1e-5")}, "MNAC NALU NMU NPU RealNPU iNALU G-NALU"
)
MULTIPLYING_FILES = "MNAC NMU NPU RealNPU NALU iNALU G-NALU"
ADDING = _models("add", {**_ADDING, **_NALUS}, "NAC NALU NAU iNALU G-NALU")

RUNS = Runs("interpolation.range", expected=INTERPOLATION_ORDER)
_WORDS = {"add": "addition", "sub": "subtraction", "mul": "multiplication", "div": "division"}
_CODES = {"nau": "reregualizedlinearnac", "nmu": "reregualizedlinearmnac", "g-nalu": "nalu-gr"}
"""File in lower case -> what its runs are called, where that is not the same."""


def panels(operation: str, runs: Runs = RUNS) -> Part:
    return Part(sweep_panels, "{key}_op-" + operation, runs=runs)


def on_every_range(operation: str, files: str, *more: Series) -> tuple[Drawing]:
    caption = (
        f"Results for {_WORDS[operation]} of single modules on every range, 25 seeds, with 95\\% "
        "confidence intervals. Bold: the best range of a module."
    )
    shown: Any = {"show_operation": False, "show_range": True, "within": ("operation", "model")}
    shown |= {"label": f"benchmark-sltr-{operation}", "caption": caption, "long": True}
    made = Part(table, "{key}_op-" + operation, runs=RUNS, **shown)
    series = tuple(
        Series((name, f"{operation}/{name}"), expects=(MODELS[_CODES.get(key, key)],))
        for name, key in zip(files.split(), files.lower().split(), strict=True)
    )
    folders = (f"benchmark/sltr-in2/{operation}", "benchmark/sltr-in2")
    return drawn(panels(operation), made, series=(*series, *more), folders=folders)


judged_by_benchmark = partial(Experiment, criterion="benchmark")
_LONGER = "--regualizer-scaling-start 50000 --regualizer-scaling-end 75000 --max-iterations 100000"


def _larger(size: int, subset: str) -> tuple[Model, ...]:
    """Return the NAU with more inputs, one for each of its operations."""
    flags = f"--input-size {size} --subset-ratio {subset} --overlap-ratio 0 {_LONGER}"
    found = []
    for name in ("add", "sub"):
        setting = replace(for_operation(name), prefix=f"benchmark/sltr-in{size}/")
        own = (f"NAU-in{size}-{name}", f"NAU ({name})", f"{_NAU_FLAGS} {flags}")
        found.append(setting.model(*own, name=f"{name}/NAU", minutes=120))
    return tuple(found)


_INALU_10 = f"{_NALUS['iNALU'][1]} --input-size 10 --subset-ratio 0.1 --overlap-ratio 0"
_ADDS, _ADDING_FILES = "NAC NALU NAU iNALU G-NALU", "NAC NAU NALU iNALU G-NALU"


def _mcfc(operation: str, layer: str, label: str, number: int, text: str = "") -> Model:
    flags = f"--layer-type {layer} {WINDOW} {text} --id {number}"
    name = f"{operation}/{layer}"
    return for_operation(operation).model(layer, label, flags, name=name, minutes=240)


# fmt: off
_SINGLE_MODULES = (
    ("add", 14, ADDING, _ADDING_FILES),
    ("sub", 15, _models("sub", {**_ADDING, **_NALUS}, _ADDS), _ADDING_FILES),
    ("mul", 16, MULTIPLYING, MULTIPLYING_FILES),
    ("div", 17, _models("div", {**_MNAC, **_NALUS, **_npus("1e-9", "1e-7")},
                        "MNAC NALU NPU RealNPU iNALU G-NALU"),
     "MNAC NPU RealNPU NALU iNALU G-NALU"),
)
"""Operation, its figure, models, and files in the order of the figure."""

EXPERIMENTS = (
    *(judged_by_benchmark(
        f"benchmark_sltr_{operation}", f"{_WORDS[operation].capitalize()}, single modules",
        MISTRY_2022_PRIMER, (f"Figure {number}",), models, on_every_range(operation, files),
    ) for operation, number, models, files in _SINGLE_MODULES),
    judged_by_benchmark(
        "inalu-in10", "iNALU, addition with ten inputs", MISTRY_2022_PRIMER, ("Figure 18",),
        (replace(for_operation("add"), prefix="benchmark/sltr-in10/").model(
            "iNALU-in10", "iNALU", _INALU_10, name="add/iNALU"),),
        drawn(panels("add"), series=(Series(("sltr-in10/add/iNALU",), expects=("iNALU",)),),
              folders=("benchmark",))),
    judged_by_benchmark(
        "nau-failure", "NAU with ten inputs",
        MISTRY_2022_PRIMER, ("Figure 19",), _larger(10, "0.1"),
        drawn(panels("sub-add"), folders=("benchmark/sltr-in10", "sltr-in10"),
              series=(Series(("add/NAU",), "NAU (add)"), Series(("sub/NAU",), "NAU (sub)"))),
        note="The published scripts hold subtraction only; the figure shows both."),
    judged_by_benchmark(
        "nau-in100", "NAU with a hundred inputs",
        MISTRY_2022_PRIMER, ("Figure 20",), _larger(100, "0.01"),
        drawn(panels("sub"), series=(Series(("sltr-in100/sub/NAU",), expects=("NAU",)),),
              folders=("benchmark",)),
        note="The published scripts hold addition, the published figure is of subtraction.",
        rate=20_000,  # A hundred inputs to draw.
    ),
    judged_by_benchmark(
        "benchmark_sltr_mul_mcfc", "MC-FC layers: multiplication",
        MCFC_2023, ("multiplication",),
        (NMU, _mcfc("mul", "MulMCFC", "MulMCFC", 32),
         _mcfc("mul", "MulMCFCSignINALU", "MulMCFC (sign: iNALU)", 34),
         _mcfc("mul", "MulMCFCSignRealNPU", "MulMCFC (sign: Real NPU)", 35,
                "--reg-scale-type madsen --regualizer-gate 1")),
        on_every_range("mul", "NMU MulMCFC MulMCFCSignINALU MulMCFCSignRealNPU")),
    judged_by_benchmark(
        "benchmark_sltr_add_mcfc", "MC-FC layers: addition", MCFC_2023, ("addition",),
        (ADDING[2], _mcfc("add", "MCFC", "MCFC", 33)), on_every_range("add", "NAU MCFC")),
)
