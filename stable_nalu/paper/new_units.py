"""Papers of one new unit and one experiment each: DMU, NSR, EML trees, EQL-division."""

from dataclasses import replace

from stable_nalu.base.papers import CURRY_2025, FABER_2023, ODRZYWOLEK_2026, SAHOO_2018
from stable_nalu.figure.runs import Only, Part, Series, drawn
from stable_nalu.statistics.setups import DMU

from .experiment import Experiment, Measure, Model, Recipe, Resources, Variant, flags, variants
from .nalu import extrapolations, layers, measured
from .primer import RUNS, for_operation, panels

_PAIRS = {"add": "add", "mul": "add", "sub": "sub", "div": "sub"}
"""Operation -> the operands that are given for it."""


def _dmu(name: str, kind: str, operands: str) -> Model:
    """Return the unit on one operation. All operations share a table."""
    setting = replace(for_operation(name), prefix="dmu/")
    text = f"--layer-type DMU --layer-option operands={operands} --learning-rate 0.1"
    return setting.model(
        f"{kind}-{name}", f"operands {kind} ({name})", text, name=kind, csv=f"dmu/{kind}_operands"
    )


_MODELS = (
    *(_dmu(name, "given", operands) for name, operands in _PAIRS.items()),
    *(_dmu(name, "learned", "learned") for name in _PAIRS),
)


_PANELS = drawn(
    *(panels(name, replace(RUNS, only=(Only("operation", (name,)),))) for name in _PAIRS),
    series=tuple(
        Series((f"dmu/{kind}_operands", kind), f"operands {kind}") for kind in ("given", "learned")
    ),
)
"""The three panels over ranges of each operation."""

_NINE = (CURRY_2025, ("nine ranges, four operations",), _MODELS, _PANELS)
_DMU = (
    Experiment(
        "dmu",
        "The DMU by the thresholds of the other single modules",
        *_NINE,
        criterion="benchmark",
        note="Rate 0.1 and temperature 0.1, as those of the paper are not known. Given operands "
        "leave one bit to learn: which of two operations.",
    ),
    Experiment(
        "dmu_thresholds",
        "The DMU by the thresholds of its repository",
        *_NINE,
        criterion=DMU,
        note="The runs of the key dmu. A threshold is the error of exact operands whose gate is "
        "1e-4 from 0 or 1; there it has to be met once, here at the step that runs are judged at. "
        "The numbers of the repository are of an earlier state of the unit, whose operands and "
        "gate depend on the inputs, with 3,000 iterations, and of its rule then: training error "
        "below 1e-7 in 100 iterations in a row, with a gate that evaluation rounds.",
    ),
)

_DOUBLE = "--max-iterations 50000 --pytorch-precision 64"
_RELATIONS = variants("--relation", "gt lt ge le eq ne")
_COMPARISON = Recipe("comparison", _DOUBLE, range(10), Resources(60), variants=_RELATIONS)

_NSR = measured(
    "nsr/comparison",
    "Comparisons learned on digits: the error by the number of digits",
    FABER_2023,
    "comparisons over magnitudes",
    _COMPARISON,
    layers("NSR") | {"mlp": ("MLP", "--layer-type ReLU")} | layers("NALU"),
    Part(extrapolations, experiment="nsr/comparison", top=1.0, x_label="Digits behind the first"),
    parameter="relation",
    measures=(
        Measure("abs.error.*", "error next to 10^*", typical="mean"),
        Measure("metric.test.acc", "% right, 2 to 19 digits", typical="mean", lower=False),
        Measure("metric.valid.interpolation", "training error", typical="mean"),
    ),
    rate=1500,
    note="No table of the paper could be read; its abstract says that units trained on digits "
    "are right up to 14 orders of magnitude beyond, and MLPs and NALUs are not. Beyond 2^53, "
    "about 10^16, numbers that differ by 1 are one float: no unit can tell them apart. The "
    "published script labels other numbers than it trains on; the paper's task is here. MLP "
    "and NALU have two layers of 10 units and a sigmoid.",
)

_LENGTHS = {"2": 8000, "3": 8000, "4": 8000, "5": 12_000}
_DEPTHS = tuple(
    Variant(depth, flags(f"--depth {depth} --max-iterations {length}"))
    for depth, length in _LENGTHS.items()
)
_CHAIN = "--target chain --pytorch-precision 64 --log-interval 2000"
_RECOVERY = Recipe("eml_recovery", _CHAIN, range(16), Resources(60), variants=_DEPTHS)
_STARTS = {"bottom": "random_hot", "biased": "biased", "uniform": "uniform", "xy": "xy_biased"}
_UNITS = {
    **{
        key: (f"{start} start", f"--layer-option tree=bottom init={start}")
        for key, start in _STARTS.items()
    },
    "slots": ("variables everywhere", "--layer-option tree=slots init=random_hot"),
    "warm": ("true tree plus noise", "--layer-option tree=bottom --warm-start 12"),
}

_EML = measured(
    "eml/recovery",
    "Trees of exp(a) - ln(b), found again by their depth",
    ODRZYWOLEK_2026,
    "recovery by depth",
    _RECOVERY,
    _UNITS,
    parameter="depth",
    measures=(
        Measure("metric.valid.interpolation", "error of the snapped tree", below=1e-6),
        Measure("metric.test.extrapolation", "its error beyond the grid", below=1e-6),
    ),
    rate=1500,
    note="The README of the published code tells, of four starts, 32 of 32 trees found at "
    "depth 2, 17 of 64 at depth 3, 15 of 64 at depth 4, 2 of 128 at depth 5, none of 128 at "
    "depth 6; from the true tree plus noise, 8 of 8 at depths 5 and 6. Its targets are known "
    "at depths 3 and 4, e^e / (e^y - ln x) and ln(e^x - ln y); here those of other depths are "
    "of the same chain. The search has one length, no early end, no restart and one optimiser. "
    "Warm starts are no discovery: they share no table with blind ones.",
)

_LONG = "--batch-size 20 --max-iterations 200000 --log-interval 20000 --adam-epsilon 1e-4"
_EQUATIONS = variants("--equation", "div F-1 F-2 F-3 F-4")
_LEARNED = Recipe("equations", _LONG, range(10), Resources(240), variants=_EQUATIONS)
_NETWORKS = {
    "eqldiv": ("EQLDiv", "--layer-type EQLDiv --layer-option iterations=200000"),
    "eql": ("EQL", "--layer-type EQL --layer-option iterations=200000"),
    "mlp": ("MLP", "--layer-type Tanh --hidden-size 50"),
}

_EQL = measured(
    "eql/equations",
    "Equations learned in a cube: the error around it",
    SAHOO_2018,
    "figure 5 and table 1",
    _LEARNED,
    _NETWORKS,
    parameter="equation",
    measures=(
        Measure("metric.test.extrapolation", "RMS outside the cube"),
        Measure("metric.valid.interpolation", "RMS of noisy targets inside"),
    ),
    rate=600,
    note="200,000 iterations, 444 epochs, where the paper trains 10,000 epochs for each layer "
    "but one; batches are drawn with replacement. It chooses lambda among 26 values and the "
    "number of layers by validation and sparsity; here lambda is 1e-4, and an EQL has the "
    "fewest layers that hold the equation. There are no penalties on inputs of the test. The "
    "MLP has two layers of 50 tanh units. Published numbers are medians of ten runs; whether "
    "their targets outside have noise, which alone is 0.01, is not known: here they have none.",
)

EXPERIMENTS = (*_DMU, _NSR, _EML, _EQL)
