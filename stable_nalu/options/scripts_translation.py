"""The script of numbers written in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stable_nalu.errors import OptionError

from . import checks
from . import name_fields as nf
from .flag import Config, Flag, FlagGroup
from .flags_model import LAYER_TYPE
from .flags_task import SEED
from .flags_training import files_and_devices
from .kinds import buildable_layers, cell_names, choice, integer
from .script_spec import ScriptSpec
from .scripts_sequence import LAYER_OPTIONS, PENALTY_RAMP, YOUNG_OPTIMIZER, lower
from .scripts_tasks import and_layers


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
    *YOUNG_OPTIMIZER,
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
                help="Unit of the output's cell, or of the head, by its key.",
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
