"""The two recurrent scripts: sums over time, and numbers written in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stable_nalu.errors import OptionError

from . import checks
from . import name_fields as nf
from .flag import Config, Flag, FlagGroup
from .flags_model import LAYER_TYPE, NALU, NETWORK, OWN_LAYERS, WEIGHTS
from .flags_task import (
    MAX_ITERATIONS,
    OPERATION,
    OPTIMIZER,
    RANDOM_MODELS,
    SEED,
    SIMPLE,
    STATIC_OPERATIONS,
    TASK,
)
from .flags_training import REGUALIZER_SHAPE, files_and_devices
from .kinds import and_layers, buildable_layers, cell_names, choice, data_range, integer
from .script_spec import ScriptSpec

_CELL = LAYER_TYPE.but(help="Unit of the recurrent cell, by its key or name.", choices=cell_names)

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


def _length(name: str, default: int, help: str) -> Flag:
    return Flag(name, integer(1), default, help, young=True)


# These scripts had no flags of an optimiser.
_YOUNG_OPTIMIZER = OPTIMIZER.without("--clip-grad-value").but(
    optimizer={"young": True},
    learning_rate={"young": True},
    momentum={"young": True},
    clip_grad_norm={"young": True},
)
_SIZES = TASK.only("--input-size", "--subset-ratio", "--overlap-ratio", "--batch-size").but(
    input_size={"default": 10, "help": "Length of the vector of every step.", "young": True},
    subset_ratio={
        "default": None,
        "help": "Length of a slice divided by the length of the vector; without it, the lengths "
        "and the overlap of both slices are drawn.",
        "young": True,
    },
    overlap_ratio={
        "default": 0.5,
        "note": "of slices whose length --subset-ratio gives",
        "young": True,
    },
    batch_size={"help": "Number of sequences in a training batch.", "young": True},
)
_SEQUENCES = FlagGroup(
    "Sequences and training",
    _length("--interpolation-length", 10, "Steps of the sequences of training and validation."),
    _length("--extrapolation-length", 1000, "Steps of the test sequences."),
    Flag("--input-range", data_range(), [1, 2], "Range of all inputs.", young=True),
    *_SIZES,
    *NETWORK.only("--hidden-size").but(
        hidden_size={"help": "Width of the state of the cell.", "young": True}
    ),
    *_YOUNG_OPTIMIZER,
    RANDOM_MODELS.but(
        note="untrained LSTMs; errors are then measured on fixed sequences, and logged every "
        "thousandth iteration alone"
    ),
)

SIMPLE_FUNCTION_RECURRENT = ScriptSpec(
    name="simple_function_recurrent",
    training="stable_nalu.training.recurrent.sums",
    summary="Train a recurrent cell on sums over time and slices, joined by an operation.",
    example="--operation add --layer-type NAC --seed 0-9",
    groups=(
        FlagGroup(
            "Task", _CELL, OPERATION.but(choices=STATIC_OPERATIONS), SEED, MAX_ITERATIONS, SIMPLE
        ),
        _SEQUENCES,
        *LAYER_OPTIONS,
        files_and_devices("simple_function_recurrent", "Iterations"),
    ),
    name_fields=(
        lower("layer_type"),
        lower("operation"),
        nf.template("{seed}"),
        *nf.LAYER_OPTIONS_TRAILING,
        *nf.SEQUENCES_TRAILING,
    ),
    checks=(
        checks.check_nalu,
        checks.check_optimizer,
        checks.check_sequences,
        checks.check_device,
        checks.check_files,
    ),
    fixed=PENALTY_RAMP,
)


def _heads() -> Mapping[str, Any]:
    return dict.fromkeys(cell_names())


def _check_head(c: Config) -> None:
    """Require a unit that the head can be made of."""
    recurrent = c.head == "recurrent"
    if c.layer_type not in (cell_names() if recurrent else buildable_layers()):
        what, other = (
            ("has no recurrent cell", "final") if recurrent else ("is a cell alone", "recurrent")
        )
        raise OptionError("--layer-type", f"{c.layer_type} {what}", f"use --head {other}")


_READER = FlagGroup(
    "Numbers and network",
    choice(
        "--number-range",
        "reference",
        "Numbers and their split: 1 to 999 as in published code, or 0 to 999 as in the NALU paper, "
        "where errors on all three sets are logged by epochs.",
        ("reference", "paper"),
        young=True,
    ),
    choice(
        "--head",
        "recurrent",
        "What answers: a cell that accumulates over the LSTM's outputs, as in published code, or a "
        "layer that reads the last one, as in the NALU paper.",
        ("recurrent", "final"),
        young=True,
    ),
    Flag("--embedding-size", integer(1), 2, "Length of the vector of a word.", young=True),
    Flag("--hidden-size", integer(1), 2, "Width of the LSTM.", young=True),
    Flag("--batch-size", integer(1), 64, "Number of sentences in a training batch.", young=True),
    *_YOUNG_OPTIMIZER,
)

NUMBER_TRANSLATION = ScriptSpec(
    name="number_translation",
    training="stable_nalu.training.recurrent.translation",
    summary="Train a network that reads a number in words and accumulates its value.",
    example="--layer-type NAC --max-epochs 1000",
    groups=(
        FlagGroup(
            "Task",
            LAYER_TYPE.but(
                help="Unit of the output's cell, or of the head, by its key or name.",
                choices=and_layers(_heads),
            ),
            SEED,
            Flag(
                "--max-epochs", integer(0), 10000, "Number of passes over the training sentences."
            ),
        ),
        _READER,
        *LAYER_OPTIONS,
        files_and_devices("number_translation", "Epochs"),
    ),
    name_fields=(
        lower("layer_type"),
        nf.template("{seed}"),
        *nf.LAYER_OPTIONS_TRAILING,
        *nf.READER_TRAILING,
    ),
    checks=(
        _check_head,
        checks.check_nalu,
        checks.check_optimizer,
        checks.check_device,
        checks.check_files,
    ),
    counts_epochs=True,
    fixed=PENALTY_RAMP,
)
