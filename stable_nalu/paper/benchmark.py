"""The single-module benchmark of the primer, and the MC-FC layers measured on it."""

from __future__ import annotations

from dataclasses import replace

from stable_nalu.papers import MCFC_2023, MISTRY_2022_PRIMER

from .experiment import Experiment, Model, Resources, Setting, Shown, judged_by
from .sweeps import SINGLE_MODULE_RANGES

SINGLE = Setting(
    "single_layer_benchmark",
    "--max-iterations 50000 --log-interval 1000 --no-cuda",
    range(25),
    Resources(60),
    points=SINGLE_MODULE_RANGES,
    prefix="benchmark/sltr-in2/",
)
WINDOW = "--regualizer-scaling-start 20000 --regualizer-scaling-end 35000"
NMU_FLAGS = f"--layer-type ReRegualizedLinearMNAC --nac-mul mnac {WINDOW}"
_NAU_FLAGS = f"--layer-type ReRegualizedLinearNAC {WINDOW} --regualizer 0.01"
_GOLDEN = "--nalu-gate golden-ratio --nalu-mul golden-ratio --nac-weight golden-ratio"


def _npu(layer: str, betas: str) -> str:
    start, end = betas.split()
    return (
        f"{layer} --learning-rate 5e-3 --regualizer-beta-start {start} "
        f"--regualizer-beta-end {end} --regualizer-l1 --regualizer-shape none --regualizer 0"
    )


_NPU, _REAL_NPU = "--layer-type NPU --nac-mul npu", "--layer-type RealNPU --nac-mul real-npu"
_ANY_OPERATION = {
    "NALU": ("NALU", "--layer-type NALU"),
    "iNALU": ("iNALU", "--layer-type iNALU --clip-grad-value 0.1 --reinit"),
    "G-NALU": ("G-NALU", f"--layer-type NALU {_GOLDEN}"),
}
_MNAC = {"MNAC": ("NAC•", "--layer-type MNAC --nac-mul normal")}
_ADDING = {"NAC": ("NAC+", "--layer-type NAC"), "NAU": ("NAU", _NAU_FLAGS)}


def for_operation(operation: str) -> Setting:
    """Return the two-input benchmark for one operation."""
    return replace(SINGLE, flags=f"--operation {operation} {SINGLE.flags}")


def _models(operation: str, units: dict[str, tuple[str, str]]) -> tuple[Model, ...]:
    setting = for_operation(operation)
    return tuple(
        setting.model(key, label, text, name=f"{operation}/{key}")
        for key, (label, text) in units.items()
    )


def _npus(betas: str) -> dict[str, tuple[str, str]]:
    return {"NPU": ("NPU", _npu(_NPU, betas)), "RealNPU": ("Real NPU", _npu(_REAL_NPU, betas))}


NMU = for_operation("mul").model(
    "NMU", "NMU", NMU_FLAGS, name="NMU", csv="benchmark/sltr-in2/mul/NMU"
)
_mul = _models("mul", {**_MNAC, **_ANY_OPERATION, **_npus("1e-7 1e-5")})
MULTIPLYING = (*_mul[:2], NMU, *_mul[4:], *_mul[2:4])
"""NAC•, NALU, NMU, NPU, Real NPU, iNALU, G-NALU."""

_div = _models("div", {**_MNAC, **_ANY_OPERATION, **_npus("1e-9 1e-7")})
_add, _sub = (_models(operation, {**_ADDING, **_ANY_OPERATION}) for operation in ("add", "sub"))


def _like_figure(models: tuple[Model, ...], order: str) -> tuple[Model, ...]:
    found = {model.key: model for model in models}
    return tuple(found[key] for key in order.split())


_ADDING_ORDER = "NAC NALU NAU iNALU G-NALU"

_IN10 = "--input-size 10 --subset-ratio 0.1 --overlap-ratio 0"
_IN100 = "--input-size 100 --subset-ratio 0.01 --overlap-ratio 0"
_LONGER = "--regualizer-scaling-start 50000 --regualizer-scaling-end 75000 --max-iterations 100000"


def _larger(size: int, sizes: str, operation: str) -> Model:
    setting = replace(for_operation(operation), prefix=f"benchmark/sltr-in{size}/")
    return setting.model(
        f"NAU-in{size}-{operation}",
        f"NAU ({operation})",
        f"{_NAU_FLAGS} {sizes} {_LONGER}",
        name=f"{operation}/NAU",
        minutes=120,
    )


_inalu_in10 = replace(for_operation("add"), prefix="benchmark/sltr-in10/").model(
    "iNALU-in10", "iNALU", f"{_ANY_OPERATION['iNALU'][1]} {_IN10}", name="add/iNALU"
)


def _mcfc(operation: str, layer: str, label: str, number: int, text: str = "") -> Model:
    return for_operation(operation).model(
        layer,
        label,
        f"--layer-type {layer} {WINDOW} {text} --id {number}",
        name=f"{operation}/{layer}",
        minutes=240,
    )


_REPORT = (Shown(MCFC_2023, "multiplication"),)


def _shown(number: int) -> tuple[Shown, ...]:
    return (Shown(MISTRY_2022_PRIMER, f"Figure {number}"),)


EXPERIMENTS = judged_by(
    "benchmark",
    Experiment(
        "benchmark_sltr_add",
        "Addition, single modules",
        _shown(14),
        _like_figure(_add, _ADDING_ORDER),
    ),
    Experiment(
        "benchmark_sltr_sub",
        "Subtraction, single modules",
        _shown(15),
        _like_figure(_sub, _ADDING_ORDER),
    ),
    Experiment(
        "benchmark_sltr_mul",
        "Multiplication, single modules",
        _shown(16),
        MULTIPLYING,
    ),
    Experiment(
        "benchmark_sltr_div",
        "Division, single modules",
        _shown(17),
        _like_figure(_div, "MNAC NALU NPU RealNPU iNALU G-NALU"),
    ),
    Experiment(
        "inalu-in10",
        "iNALU, addition with ten inputs",
        _shown(18),
        (_inalu_in10,),
    ),
    Experiment(
        "nau-failure",
        "NAU with ten inputs",
        _shown(19),
        (_larger(10, _IN10, "add"), _larger(10, _IN10, "sub")),
        note="The published scripts hold subtraction only; the figure shows both.",
    ),
    Experiment(
        "nau-in100",
        "NAU with a hundred inputs",
        _shown(20),
        (_larger(100, _IN100, "add"), _larger(100, _IN100, "sub")),
        rate=20_000,  # A hundred inputs to draw.
        note="The published scripts hold addition, the published figure is of subtraction.",
    ),
    Experiment(
        "benchmark_sltr_mul_mcfc",
        "MC-FC layers: multiplication",
        _REPORT,
        (
            NMU,
            _mcfc("mul", "MulMCFC", "MulMCFC", 32),
            _mcfc("mul", "MulMCFCSignINALU", "MulMCFC (sign: iNALU)", 34),
            _mcfc(
                "mul",
                "MulMCFCSignRealNPU",
                "MulMCFC (sign: Real NPU)",
                35,
                "--reg-scale-type madsen --regualizer-gate 1",
            ),
        ),
    ),
    Experiment(
        "benchmark_sltr_add_mcfc",
        "MC-FC layers: addition",
        (Shown(MCFC_2023, "addition"),),
        (_like_figure(_add, "NAU")[0], _mcfc("add", "MCFC", "MCFC", 33)),
    ),
)
