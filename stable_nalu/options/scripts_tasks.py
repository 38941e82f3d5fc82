"""Experiments of the NALU paper and of the articles about it: each a task of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from stable_nalu.errors import OptionError

from . import name_fields as nf
from .checks import check_files, check_nalu
from .flag import Config, Flag, FlagGroup
from .flags_model import LAYER_TYPE, NALU
from .flags_task import MAX_ITERATIONS, OPTIMIZER, SEED
from .flags_training import LOGGING, RUN_CONTROL
from .kinds import buildable_layers, choice, integer, interval, layers_of_pairs
from .script_spec import ScriptSpec
from .scripts_sequence import LAYER_OPTIONS, PENALTY_RAMP, lower

_LEARNING_RATE = nf.template(
    "lr-{optimizer}-{learning_rate:.5f}", learning_rate="printed with five decimals"
)


def _script(
    name: str,
    *,
    summary: str,
    example: str,
    training: str,
    task: tuple[Flag, ...],
    fragments: tuple[nf.NameField, ...],
    checks: tuple[Callable[[Config], None], ...] = (),
    batch_size: int | None,
    learning_rate: float,
    log_interval: int = 1000,
    nalu_init: str = "default",
    compiles: bool = False,
) -> ScriptSpec:
    """Return the description of a task's script.

    fragments: fields of its run names that vanish at their defaults. batch_size: None for a task
    that says itself what a batch is. nalu_init: default of --nalu-init, for units that have it.
    compiles: whether its iterations may be compiled.
    """
    batch = () if batch_size is None else (_BATCH_SIZE.but(default=batch_size),)
    return ScriptSpec(
        name=name,
        summary=summary,
        example=example,
        training=f"stable_nalu.training.tasks.{training}",
        groups=(
            FlagGroup("Task", *task, *batch, SEED),
            *(
                group.but(nalu_init={"default": nalu_init}) if group.title == NALU.title else group
                for group in LAYER_OPTIONS
            ),
            OPTIMIZER.without("--momentum", "--clip-grad-value").but(
                optimizer={"choices": ("adam", "rmsprop", "sgd")},
                learning_rate={"default": learning_rate},
            ),
            LOGGING.without("--save-best-model").but(
                name_prefix={"default": name},
                log_interval={"default": log_interval, "unnamed": _DENSITY},
            ),
            RUN_CONTROL.but(**_COMPILE_STEPS) if compiles else RUN_CONTROL.without("--no-compile"),
        ),
        name_fields=(
            lower("layer_type"),
            *map(nf.trailing, fragments),
            *((nf.template("b{batch_size}"),) if batch else ()),
            nf.template("s{seed}"),
            _LEARNING_RATE,
            nf.trailing(nf.GRAD_NORM),
            *nf.LAYER_OPTIONS_TRAILING,
            nf.trailing(nf.ID),
        ),
        checks=(partial(check_nalu, init=nalu_init), check_files, *checks),
        fixed=PENALTY_RAMP,
    )


_DENSITY = "it changes how densely a run is recorded, not what it computes"
_BATCH_SIZE = Flag("--batch-size", integer(1), 64, "Number of examples in a training batch.")
_COMPILE_STEPS = {"no_compile": {"help": "Do not compile the training step."}}


def _range(flag: str, letter: str) -> nf.NameField:
    return nf.template(f"{letter}-{{{flag}[0]}}-{{{flag}[1]}}")


def _layers(own: Callable[[], Mapping[str, Any]]) -> Callable[[], tuple[str, ...]]:
    """Return a function that lists a task's own networks, and all layers that map a vector."""

    def names() -> tuple[str, ...]:
        units = [name for name in buildable_layers() if name not in layers_of_pairs()]
        return tuple(dict.fromkeys((*own(), *units)))

    return names


def _activations() -> Mapping[str, Any]:
    from stable_nalu.network.dense import ACTIVATIONS

    return ACTIVATIONS


def _check_test_range(c: Config) -> None:
    """Require a test range that reaches beyond the range of training."""
    (low, high), (first, last) = c.train_range, c.test_range
    if first >= low and last <= high:
        raise OptionError(
            "--test-range",
            f"[{first},{last}] lies within --train-range [{low},{high}]",
            "nothing is extrapolated; give a wider one",
        )


def _check_grid(c: Config) -> None:
    """Require a range that holds whole numbers, where these are trained on."""
    low, high = c.train_range
    if c.train_sampling == "grid" and high - low < 1:
        raise OptionError(
            "--train-range",
            f"[{low},{high}] is too narrow for --train-sampling grid, its whole numbers",
            "give a wider one, or --train-sampling uniform",
        )


IDENTITY_AUTOENCODER = _script(
    "identity_autoencoder",
    summary="Train a scalar autoencoder on the identity, and measure how it fails beyond the range "
    "that it was trained on.",
    example="--layer-type Tanh --seed 0-99",
    training="identity",
    task=(
        LAYER_TYPE.but(
            default="ReLU",
            help="Activation of the hidden layers, or the unit of all layers, by its key.",
            choices=_layers(_activations),
        ),
        choice(
            "--train-sampling",
            "grid",
            "Train on all whole numbers of the range at once, or on a fresh uniform batch of "
            "--batch-size numbers.",
            ("grid", "uniform"),
        ),
        Flag("--train-range", interval(), [-5, 5], "Range of the training inputs."),
        Flag("--test-range", interval(), [-20, 20], "Range over which the error is measured."),
        Flag("--hidden-size", integer(1), 8, "Width of the hidden layers."),
        Flag("--hidden-layers", integer(1), 3, "Number of hidden layers."),
        MAX_ITERATIONS.but(default=10000),
    ),
    fragments=(
        nf.template("t-{train_sampling}"),
        _range("train_range", "i"),
        _range("test_range", "e"),
        nf.template("h{hidden_size}x{hidden_layers}"),
    ),
    checks=(_check_test_range, _check_grid),
    batch_size=64,
    learning_rate=1e-2,
)

NOTEBOOK_ADDITION = _script(
    "notebook_addition",
    summary="Train two layers on the sum of ten numbers, all rows at once, as a published notebook "
    "does.",
    example="--layer-type NALU --seed 0-99",
    training="notebook",
    task=(
        LAYER_TYPE.but(help="Unit of both layers, by its key.", choices=_layers(dict)),
        Flag("--train-size", integer(1), 10000, "Number of training rows, and of test rows."),
        MAX_ITERATIONS.but(default=50000),
    ),
    fragments=(nf.template("n{train_size}"),),
    batch_size=None,
    learning_rate=0.1,
    nalu_init="truncated",
    compiles=True,
)
