"""The arithmetic data set of Neural Arithmetic Units and Measuring Arithmetic Extrapolation."""

from __future__ import annotations

from dataclasses import replace

from .experiment import Experiment, Model, Resources, Setting, Shown
from .papers import MEASURING, UNITS
from .sweeps import (
    INPUT_SIZES,
    MULTIPLICATION_PAIRS,
    crossed,
    operations,
    values,
    variants,
)

UNIT_FLAGS = {
    "linear": ("Linear", "--layer-type linear"),
    "relu": ("ReLU", "--layer-type ReLU"),
    "relu6": ("ReLU6", "--layer-type ReLU6"),
    "nac-add": ("NAC+", "--layer-type NAC"),
    "nac-mul": ("NAC•", "--layer-type NAC --nac-mul normal"),
    "nac-sigma": ("NAC•,σ", "--layer-type PosNAC --nac-mul normal --first-layer NAC"),
    "nac-nmu": (
        "NAC•,NMU",
        "--layer-type ReRegualizedLinearPosNAC --nac-mul normal --first-layer ReRegualizedLinearNAC",
    ),
    "nalu": ("NALU", "--layer-type NALU"),
    "nau": (
        "NAU",
        "--layer-type ReRegualizedLinearNAC --regualizer 0.01 --regualizer-scaling-start 5000 "
        "--regualizer-scaling-end 50000",
    ),
    "nmu": ("NMU", "--layer-type ReRegualizedLinearNAC --nac-mul mnac"),
    "gated": (
        "Gated NAU/NMU",
        "--layer-type ReRegualizedLinearNALU --nalu-two-nac --nalu-mul mnac",
    ),
}
"""Model key -> name in the papers and flags of the two-layer script."""

_MULTIPLYING = ("nac-mul", "nac-sigma", "nac-nmu", "nalu", "nmu", "gated")
_DEFAULT = Setting("simple_function_static", "--max-iterations 5000000", range(100), Resources(720))
_MUL = replace(_DEFAULT, flags="--operation mul --max-iterations 5000000", seeds=range(50))


def _models(
    setting: Setting, name: str, keys: tuple[str, ...], minutes: dict[str, int] | None = None
) -> tuple[Model, ...]:
    return tuple(
        setting.model(key, *UNIT_FLAGS[key], name=name, minutes=(minutes or {}).get(key))
        for key in keys
    )


def _pick(models: tuple[Model, ...], *keys: str) -> tuple[Model, ...]:
    found = {model.key: model for model in models}
    return tuple(found[key] for key in keys)


def _by_operation(models: tuple[Model, ...], wanted: dict[str, str]) -> tuple[Model, ...]:
    """Model key -> operations; in the order of the keys."""
    found = {model.key: model for model in models}
    return tuple(found[key].only_variants(*names.split()) for key, names in wanted.items())


_ALL = _models(
    replace(_DEFAULT, variants=operations("add sub mul div squared root")),
    "function_task_static",
    tuple(UNIT_FLAGS),
)
_HIDDEN = _models(
    replace(_MUL, variants=variants("--hidden-size", "2 3 4 5 6 7 8 9 10")),
    "function_task_static_mul_hidden_size",
    _MULTIPLYING,
    dict.fromkeys(("nac-mul", "nac-sigma", "nalu", "nmu"), 1440),
)
_INPUT = _models(
    replace(_MUL, variants=INPUT_SIZES), "function_task_static_mul_input_size", _MULTIPLYING
)
_LONGER = dict.fromkeys(("nac-mul", "nac-sigma", "nalu", "nmu"), 840)
_OVERLAP = _models(
    replace(_MUL, variants=variants("--overlap-ratio", "0.0 0.1 0.25 0.5 0.75 1.0")),
    "function_task_static_mul_overlap",
    _MULTIPLYING,
    _LONGER,
)
_SUBSET = _models(
    replace(_MUL, variants=variants("--subset-ratio", "0.05 0.10 0.25 0.50")),
    "function_task_static_mul_subset",
    _MULTIPLYING,
    _LONGER,
)
_RANGE = _models(
    replace(_MUL, points=MULTIPLICATION_PAIRS),
    "function_task_static_mul_range",
    _MULTIPLYING,
    _LONGER,
)

_SIMPLE = _models(
    replace(
        _DEFAULT,
        flags="--operation mul --simple --max-iterations 200000",
        resources=Resources(20, cores=2),
    ),
    "simple_mul",
    ("nac-mul", "nac-sigma", "nalu", "nmu", "gated"),
)

_ABLATION_SETTING = replace(
    _MUL,
    flags=f"{_MUL.flags} {UNIT_FLAGS['nmu'][1]}",
    variants=variants("--hidden-size", "2 3 4 5 6 7 8 9 10"),
)
_ABLATION = tuple(
    _ABLATION_SETTING.model(
        key,
        label,
        text,
        name="function_task_static_mul_hidden_size_ablation",
        minutes=1440 if key == "nmu" else None,
        memory_gb=8 if key == "nmu" else None,
    )
    for key, label, text in (
        ("nmu", "NMU", ""),
        ("no-sparse", "NMU, no R_sparse", "--regualizer 0"),
        ("no-clamp", "NMU, no W-clamp", "--oob-mode regualized --regualizer-oob 0"),
        (
            "neither",
            "NMU, no R_sparse, no W-clamp",
            "--oob-mode regualized --regualizer-oob 0 --regualizer 0",
        ),
    )
)

_RATES = replace(
    _DEFAULT,
    seeds=range(25),
    points=values("--learning-rate", "1e-5 1e-4 1e-3 1e-2 1e-1"),
    variants=operations("add sub mul div"),
)
_LEARNING = tuple(
    _RATES.model(
        f"{key}-{suffix}",
        f"{UNIT_FLAGS[key][0]} ({label})",
        f"{UNIT_FLAGS[key][1]} {text}",
        name="function_task_static_learning",
    )
    for key in ("nac-add", "nac-mul", "nalu")
    for suffix, label, text in (
        ("adam", "Adam", "--optimizer adam"),
        ("sgd", "SGD", "--optimizer sgd"),
        ("sgd-momentum", "SGD-Nesterov", "--optimizer sgd --momentum 0.9"),
    )
)

_GATE = replace(_DEFAULT, variants=operations("add mul"))
_NALU_STUDY = tuple(
    _GATE.model(key, label, text, name="function_task_static_nalu")
    for key, label, text in (
        ("nalu-shared", "NALU (shared)", "--layer-type NALU --first-layer NAC"),
        ("nalu-separate", "NALU (separate)", "--layer-type NALU --first-layer NAC --nalu-two-nac"),
        (
            "gated",
            "Gated NAU/NMU",
            "--layer-type ReRegualizedLinearNALU --first-layer ReRegualizedLinearNAC "
            "--nalu-two-nac --nalu-mul mnac",
        ),
    )
)

_STRENGTHS = replace(
    _DEFAULT, seeds=range(50), points=values("--regualizer", "0 0.01 0.1 1 10 100")
)
_REGUALIZATION = (
    replace(_STRENGTHS, variants=operations("add sub")).model(
        "nau",
        "NAU",
        "--layer-type ReRegualizedLinearNAC --regualizer-scaling-start 5000 "
        "--regualizer-scaling-end 50000",
        name="function_task_static_regualization",
    ),
    replace(_STRENGTHS, variants=operations("mul")).model(
        "nmu", *UNIT_FLAGS["nmu"], name="function_task_static_regualization"
    ),
)

_SUBSET_PAIRS = tuple(
    replace(both, name=f"{both.flags['--hidden-size'][0]}-{both.flags['--num-subsets'][0]}")
    for hidden, subsets in ((2, 2), (3, 3), (4, 4), (5, 5), (4, 2), (6, 3), (8, 4), (10, 5))
    for both in crossed(
        variants("--hidden-size", str(hidden)), variants("--num-subsets", str(subsets))
    )
)
_NUM_SUBSETS = _models(
    replace(_MUL, seeds=range(25), variants=_SUBSET_PAIRS),
    "function_task_static_mul_num_subsets",
    ("nac-mul", "nac-sigma", "nalu", "nmu", "nac-nmu"),
    dict.fromkeys(("nac-mul", "nac-sigma", "nalu", "nmu"), 1440),
)
_PARAMETER_STUDY = tuple(
    replace(model, key=f"{model.key}-{study}")
    for study, models in (
        ("hidden-size", _HIDDEN),
        ("input-size", _INPUT),
        ("overlap", _OVERLAP),
        ("subset", _SUBSET),
    )
    for model in _pick(models, "nac-mul", "nalu")
)
_POSITIVE = tuple(p for p in MULTIPLICATION_PAIRS if "-" not in p["--interpolation-range"][0])

EXPERIMENTS = (
    Experiment(
        "simple_mul",
        "The four-input function (x1+x2)(x1+x2+x3+x4)",
        (Shown(UNITS, "Table 1"),),
        _SIMPLE,
        parameter="operation",
        criterion="arithmetic",
        note="The table prints NAC•, NALU and NMU.",
    ),
    Experiment(
        "function_task_static",
        "The arithmetic data set, default parameters",
        (Shown(UNITS, "Table 2"),),
        _by_operation(
            _ALL,
            {
                "nac-mul": "mul",
                "nmu": "mul",
                "linear": "add sub",
                "nac-add": "add sub",
                "nalu": "add sub mul",
                "nau": "add sub",
            },
        ),
        parameter="operation",
        criterion="arithmetic",
    ),
    Experiment(
        "function_task_static_all",
        "The arithmetic data set, every unit and operation",
        (Shown(UNITS, "Table 6"),),
        _ALL,
        parameter="operation",
        criterion="arithmetic",
        figure="function_task_static",
        note="The paper says that the first layer of NAC•,NMU is NAC+; the scripts give it the NAU.",
    ),
    Experiment(
        "function_task_static_reproduce",
        "Reproduction of the NALU on the arithmetic data set",
        (Shown(MEASURING, "table of default parameters"),),
        _by_operation(
            _ALL,
            {
                "linear": "add sub",
                "nac-add": "add sub",
                "nac-mul": "mul div",
                "nalu": "add sub mul div",
            },
        ),
        parameter="operation",
        criterion="arithmetic",
        figure="function_task_static",
    ),
    Experiment(
        "function_task_static_mul_hidden_size",
        "Multiplication against the hidden size",
        (Shown(UNITS, "Figure 3 (top)"),),
        _HIDDEN,
        parameter="hidden.size",
        criterion="arithmetic",
        note="The published figure was drawn from 26 to 38 of the 50 seeds.",
    ),
    Experiment(
        "function_task_static_mul_range",
        "Multiplication against the training range",
        (Shown(UNITS, "Figure 3 (bottom)"),),
        _RANGE,
        criterion="arithmetic",
    ),
    Experiment(
        "function_task_static_mul_hidden_size_ablation",
        "Ablation of the NMU against the hidden size",
        (Shown(UNITS, "Figure 7"),),
        _ABLATION,
        parameter="hidden.size",
        criterion="arithmetic",
    ),
    Experiment(
        "function_task_static_mul_input_size",
        "Multiplication against the input size",
        (Shown(UNITS, "Figure 8 (input size)"),),
        _INPUT,
        parameter="input.size",
        criterion="arithmetic",
    ),
    Experiment(
        "function_task_static_mul_overlap",
        "Multiplication against the overlap of subsets",
        (Shown(UNITS, "Figure 8 (overlap)"),),
        _OVERLAP,
        parameter="overlap.ratio",
        criterion="arithmetic",
    ),
    Experiment(
        "function_task_static_mul_subset",
        "Multiplication against the size of subsets",
        (Shown(UNITS, "Figure 8 (subset)"),),
        _SUBSET,
        parameter="subset.ratio",
        criterion="arithmetic",
    ),
    Experiment(
        "function_task_static_nalu",
        "The gate of the NALU behind an adding layer",
        (Shown(UNITS, "Figure 9"), Shown(UNITS, "Table 5")),
        _NALU_STUDY,
        parameter="operation",
        criterion="arithmetic",
    ),
    Experiment(
        "function_task_static_regualization",
        "Strength of the sparsity penalty",
        tuple(Shown(UNITS, f"Figure {number}") for number in (10, 11, 12)),
        _REGUALIZATION,
        parameter="regualizer",
        criterion="arithmetic",
        note="The published script stores seeds 25-49 only; the figure has about 50 seeds.",
    ),
    Experiment(
        "function_task_static_mul_paramaters",
        "Multiplication by NAC• and NALU against data set parameters",
        (Shown(MEASURING, "figure of data set parameters"),),
        _PARAMETER_STUDY,
        parameter="hidden.size",
        criterion="arithmetic",
    ),
    Experiment(
        "function_task_static_mul_range_reproduce",
        "Multiplication by NAC• and NALU against the training range",
        (Shown(MEASURING, "figure of training ranges"),),
        tuple(replace(m, points=_POSITIVE) for m in _pick(_RANGE, "nac-mul", "nalu")),
        criterion="arithmetic",
        figure="function_task_static_mul_range",
    ),
    Experiment(
        "function_task_static_learning",
        "Learning rates and optimizers",
        (Shown(UNITS, "learning-rate figures (not in the final text)"),),
        _LEARNING,
        parameter="learning.rate",
        criterion="arithmetic",
    ),
    Experiment(
        "function_task_static_mul_num_subsets",
        "Products of more than two sums",
        (),
        _NUM_SUBSETS,
        parameter="hidden.size",
        criterion="arithmetic",
        note="The published script left the hidden size of NAC•,NMU at 2; here it varies, too.",
    ),
)
