"""Models on the arithmetic data set of Neural Arithmetic Units; `arithmetic_units` shows them."""

from __future__ import annotations

from dataclasses import replace

from stable_nalu.options.paper_names import MODELS

from .experiment import Model, Resources, Setting
from .sweeps import (
    INPUT_SIZES,
    MULTIPLICATION_PAIRS,
    crossed,
    operations,
    values,
    variants,
)

_IN_PAPERS = {
    "linear": "Linear",
    "relu": "ReLU",
    "relu6": "ReLU6",
    "nac-add": "NAC+",
    "nac-mul": "NAC•",
    "nac-sigma": "NAC•,σ",
    "nac-nmu": "NAC•,NMU",
    "nalu": "NALU",
    "nau": "NAU",
    "nmu": "NMU",
    "gated": "Gated NAU/NMU",
}
UNIT_FLAGS = {
    key: (name, MODELS.get(name, f"--layer-type {name}")) for key, name in _IN_PAPERS.items()
}
UNIT_FLAGS["nau"] = (
    "NAU",
    f"{MODELS['NAU']} --regualizer 0.01 --regualizer-scaling-start 5000 "
    "--regualizer-scaling-end 50000",
)
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


def _limits(minutes: int) -> dict[str, int]:
    """Return time limits of the units whose jobs were given more than the rest."""
    return {key: minutes for key in ("nac-mul", "nac-sigma", "nalu", "nmu")}


def pick(models: tuple[Model, ...], *keys: str) -> tuple[Model, ...]:
    """Return the models of these keys."""
    found = {model.key: model for model in models}
    return tuple(found[key] for key in keys)


def by_operation(models: tuple[Model, ...], wanted: dict[str, str]) -> tuple[Model, ...]:
    """Return models for some operations each, given by model key, in the order of the keys."""
    found = {model.key: model for model in models}
    return tuple(found[key].only_variants(*names.split()) for key, names in wanted.items())


ALL = _models(
    replace(_DEFAULT, variants=operations("add sub mul div squared root")),
    "function_task_static",
    tuple(UNIT_FLAGS),
)
HIDDEN = _models(
    replace(_MUL, variants=variants("--hidden-size", "2 3 4 5 6 7 8 9 10")),
    "function_task_static_mul_hidden_size",
    _MULTIPLYING,
    _limits(1440),
)
INPUT = _models(
    replace(_MUL, variants=INPUT_SIZES), "function_task_static_mul_input_size", _MULTIPLYING
)
_LONGER = _limits(840)
OVERLAP = _models(
    replace(_MUL, variants=variants("--overlap-ratio", "0.0 0.1 0.25 0.5 0.75 1.0")),
    "function_task_static_mul_overlap",
    _MULTIPLYING,
    _LONGER,
)
SUBSET = _models(
    replace(_MUL, variants=variants("--subset-ratio", "0.05 0.10 0.25 0.50")),
    "function_task_static_mul_subset",
    _MULTIPLYING,
    _LONGER,
)
RANGE = _models(
    replace(_MUL, points=MULTIPLICATION_PAIRS),
    "function_task_static_mul_range",
    _MULTIPLYING,
    _LONGER,
)

SIMPLE = _models(
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
ABLATION = tuple(
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
LEARNING = tuple(
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
NALU_STUDY = tuple(
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
REGUALIZATION = (
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
NUM_SUBSETS = _models(
    replace(_MUL, seeds=range(25), variants=_SUBSET_PAIRS),
    "function_task_static_mul_num_subsets",
    ("nac-mul", "nac-sigma", "nalu", "nmu", "nac-nmu"),
    _limits(1440),
)
PARAMETER_STUDY = tuple(
    replace(model, key=f"{model.key}-{study}")
    for study, models in (
        ("hidden-size", HIDDEN),
        ("input-size", INPUT),
        ("overlap", OVERLAP),
        ("subset", SUBSET),
    )
    for model in pick(models, "nac-mul", "nalu")
)
_POSITIVE = tuple(p for p in MULTIPLICATION_PAIRS if "-" not in p["--interpolation-range"][0])
RANGE_STUDY = tuple(replace(m, points=_POSITIVE) for m in pick(RANGE, "nac-mul", "nalu"))
