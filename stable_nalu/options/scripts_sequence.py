"""The two recurrent scripts: sums over time, and numbers written in words."""

from __future__ import annotations

from . import checks
from . import name_fields as nf
from .flag import Flag, FlagGroup
from .flags_model import LAYER_TYPE, NALU, OWN_LAYERS, WEIGHTS
from .flags_task import MAX_ITERATIONS, OPERATION, SEED, SIMPLE, STATIC_OPERATIONS
from .flags_training import REGUALIZER_SHAPE, files_and_devices
from .kinds import cell_names, integer
from .script_spec import ScriptSpec

_CELL = LAYER_TYPE.but(help="Unit of the recurrent cell, by its key.", choices=cell_names)

# The published scripts passed no layer options: their defaults are those of the layers.
LAYER_OPTIONS = (
    OWN_LAYERS,
    FlagGroup(
        WEIGHTS.title,
        *WEIGHTS.only(
            "--oob-mode",
            "--mnac-epsilon",
            "--nmu-noise",
            "--nau-noise",
            "--noise-range",
            "--beta-nau",
        ).but(oob_mode={"default": "regualized"}),
        REGUALIZER_SHAPE.but(default="squared"),
    ),
    NALU.without("--nac-weight"),
)

# 1 - exp(-1e-5 i); the ends belong to the linear ramp of other scripts.
PENALTY_RAMP = {
    "regualizer_scaling": "exp",
    "regualizer_scaling_start": 0,
    "regualizer_scaling_end": 1,
}


def lower(flag: str) -> nf.NameField:
    """Return the field of a word in lower case."""
    return nf.NameField(lambda c: getattr(c, flag).lower(), (flag,))


SIMPLE_FUNCTION_RECURRENT = ScriptSpec(
    name="simple_function_recurrent",
    training="stable_nalu.training.recurrent.sums",
    summary="Train a recurrent cell on sums over time and slices, joined by an operation.",
    example="--operation add --layer-type NAC --seed 0-9",
    groups=(
        FlagGroup(
            "Task", _CELL, OPERATION.but(choices=STATIC_OPERATIONS), SEED, MAX_ITERATIONS, SIMPLE
        ),
        *LAYER_OPTIONS,
        files_and_devices("simple_function_recurrent", "Iterations"),
    ),
    name_fields=(
        lower("layer_type"),
        lower("operation"),
        nf.template("{seed}"),
        *nf.LAYER_OPTIONS_TRAILING,
    ),
    checks=(checks.check_nalu, checks.check_device, checks.check_files),
    fixed=PENALTY_RAMP,
)

NUMBER_TRANSLATION = ScriptSpec(
    name="number_translation",
    training="stable_nalu.training.recurrent.translation",
    summary="Train a network that reads a number in words and accumulates its value.",
    example="--layer-type NAC --max-epochs 1000",
    groups=(
        FlagGroup(
            "Task",
            _CELL.but(help="Unit of the output accumulator's cell, by its key."),
            SEED,
            Flag(
                "--max-epochs", integer(0), 10000, "Number of passes over the training sentences."
            ),
        ),
        *LAYER_OPTIONS,
        files_and_devices("number_translation", "Epochs"),
    ),
    name_fields=(lower("layer_type"), nf.template("{seed}"), *nf.LAYER_OPTIONS_TRAILING),
    checks=(checks.check_nalu, checks.check_device, checks.check_files),
    fixed=PENALTY_RAMP,
)
