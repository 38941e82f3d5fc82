"""Experiments of the NALU paper and of the articles about it: each a task of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from stable_nalu.errors import OptionError
from stable_nalu.script import unknown_choice

from . import name_fields as nf
from .checks import check_files, check_nalu
from .flag import Config, Flag, FlagGroup, Kind, switch
from .flags_model import LAYER_TYPE, NALU
from .flags_pairs import EVALUATION
from .flags_task import MAX_ITERATIONS, OPTIMIZER, SEED
from .flags_training import LOGGING, PLAIN_RUN_CONTROL
from .kinds import (
    and_layers,
    choice,
    each_word,
    integer,
    interval,
)
from .script_spec import ScriptSpec
from .scripts_sequence import LAYER_OPTIONS, PENALTY_RAMP, lower

_LEARNING_RATE = nf.template(
    "lr-{optimizer}-{learning_rate:.5f}", learning_rate="printed with five decimals"
)

_OPTIMIZER = OPTIMIZER.without("--momentum", "--clip-grad-value").but(
    optimizer={"choices": ("adam", "rmsprop", "sgd")}
)


def task_script(
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
    clip_grad_norm: float | None = None,
    log_interval: int = 1000,
    unit: str = "Iterations",
    nalu_init: str = "default",
    compiles: bool = False,
    look: FlagGroup | None = None,
) -> ScriptSpec:
    """Return the description of a task's script.

    training: the module of its task, or where there is `look`, of what looks at its models, too.
    fragments: fields of its run names that vanish at their defaults. batch_size: None for a task
    that says itself what a batch is. unit: what the task counts its training in. nalu_init: default
    of --nalu-init, for units that have it. compiles: whether its updates may be compiled. look:
    flags that look at a trained model.
    """
    batch = () if batch_size is None else (_BATCH_SIZE.but(default=batch_size),)
    return ScriptSpec(
        name=name,
        summary=summary,
        example=example,
        training=f"stable_nalu.{'inspection' if look else 'training.tasks'}.{training}",
        groups=(
            FlagGroup("Task", *task, *batch, SEED),
            *_layer_options(nalu_init),
            _OPTIMIZER.but(
                learning_rate={"default": learning_rate}, clip_grad_norm={"default": clip_grad_norm}
            ),
            *_files(name, log_interval, unit, compiles),
            *((look,) if look else ()),
        ),
        name_fields=_name_fields((nf.template("b{batch_size}"),) if batch else (), fragments),
        checks=(partial(check_nalu, init=nalu_init), check_files, *checks),
        fixed=PENALTY_RAMP,
    )


def _name_fields(
    batch: tuple[nf.NameField, ...], fragments: tuple[nf.NameField, ...]
) -> tuple[nf.NameField, ...]:
    return (
        lower("layer_type"),
        *map(nf.trailing, fragments),
        *batch,
        nf.template("s{seed}"),
        _LEARNING_RATE,
        nf.trailing(nf.GRAD_NORM),
        *nf.LAYER_OPTIONS_TRAILING,
        nf.trailing(nf.ID),
    )


def _layer_options(nalu_init: str) -> tuple[FlagGroup, ...]:
    start = {"nalu_init": {"default": nalu_init}}
    return tuple(g.but(**start) if g.title == NALU.title else g for g in LAYER_OPTIONS)


def _files(name: str, log_interval: int, unit: str, compiles: bool) -> tuple[FlagGroup, FlagGroup]:
    """Return flags of names, logs, files and devices, for a task that counts in `unit`."""
    control = PLAIN_RUN_CONTROL.without(*(() if compiles else ("--no-compile",)))
    if compiles:
        control = control.but(**_NOT_COMPILED)
    logged = f"{unit} between two points of the log."
    saved = f"{unit} between two saved states to resume from; 0 saves at the end only."
    return (
        LOGGING.without("--save-best-model").but(
            name_prefix={"default": name},
            log_interval={"default": log_interval, "unnamed": _DENSITY, "help": logged},
        ),
        control.but(checkpoint_interval={"help": saved}),
    )


_DENSITY = "it changes how densely a run is recorded, not what it computes"
TESTING = "it changes what is measured, not how a run is trained"
_BATCH_SIZE = Flag("--batch-size", integer(1), 64, "Number of examples in a training batch.")
_NOT_COMPILED = {"no_compile": {"help": "No effect: this script compiles nothing."}}


def range_field(flag: str, letter: str) -> nf.NameField:
    """Return the field of a range: a letter and both ends."""
    return nf.template(f"{letter}-{{{flag}[0]}}-{{{flag}[1]}}")


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


IDENTITY_AUTOENCODER = task_script(
    "identity_autoencoder",
    summary="Train a scalar autoencoder on the identity, and measure how it fails beyond the range "
    "that it was trained on.",
    example="--layer-type Tanh --seed 0-99",
    training="identity",
    task=(
        LAYER_TYPE.but(
            default="ReLU",
            help="Activation of the hidden layers, or the unit of all layers, by its key or name.",
            choices=and_layers(_activations),
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
        range_field("train_range", "i"),
        range_field("test_range", "e"),
        nf.template("h{hidden_size}x{hidden_layers}"),
    ),
    checks=(_check_test_range, _check_grid),
    batch_size=64,
    learning_rate=1e-2,
)

NOTEBOOK_ADDITION = task_script(
    "notebook_addition",
    summary="Train two layers on the sum of ten numbers, all rows at once, as a published notebook "
    "does.",
    example="--layer-type NALU --seed 0-99",
    training="notebook",
    task=(
        LAYER_TYPE.but(help="Unit of both layers, by its key or name.", choices=and_layers(dict)),
        Flag("--train-size", integer(1), 10000, "Number of training rows, and of test rows."),
        MAX_ITERATIONS.but(default=50000),
        switch(
            "--train-on-test",
            "Make the last update on the test rows, as the notebook's last evaluation does by "
            "mistake; the errors behind it are logged, too.",
            young=True,
        ),
    ),
    fragments=(nf.template("n{train_size}"), nf.either("train_on_test", "tt", "")),
    batch_size=None,
    learning_rate=0.1,
    nalu_init="truncated",
    compiles=True,
)


NALU_VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "article": {"nalu_two_nac": True, "nalu_gate": "linear", "nalu_init": "xavier-normal"},
    "two-nac": {"nalu_two_nac": True, "nalu_init": "xavier-normal"},
    "shared": {"nalu_init": "xavier-normal"},
    "custom": {},
}
"""NALUs that the mystery problem compares -> the options of the layer that they are short for."""


def _vanilla() -> Mapping[str, Any]:
    from stable_nalu.network.mystery import VANILLA

    return {VANILLA: None}


def _operations() -> Kind:
    """Return the kind of different operations, `add,sub,mul`, in the order of their table."""

    def read(word: str) -> str:
        # NumPy, which the table's module imports, may be missing when --help is asked for.
        from stable_nalu.dataset.mystery import OPERATIONS

        names = word.split(",")
        for place, name in enumerate(names):
            if name not in OPERATIONS:
                raise ValueError(unknown_choice(name, tuple(OPERATIONS)))
            if name in names[:place]:
                raise ValueError(f"{name} is given twice; give every operation once")
        return ",".join(name for name in OPERATIONS if name in names)

    return each_word("OPERATION[,...]", read)


def _check_operands(c: Config) -> None:
    """Require that an output can have two different operands."""
    if c.input_size < 2:
        problem = f"every output has two different operands, there is {c.input_size} input"
        raise OptionError("--input-size", problem, "give 2 or more")


def _check_variant(c: Config) -> None:
    """Require that a variant is one of a NALU, and that no other flag says what it says."""
    default = next(iter(NALU_VARIANTS))
    if c.layer_type != "NALU":
        if c.nalu_variant != default:
            problem = f"{c.nalu_variant} is a variant of the NALU, --layer-type is {c.layer_type}"
            raise OptionError("--nalu-variant", problem, "leave it out")
        return
    for option in NALU_VARIANTS[default]:
        if c.nalu_variant != "custom" and c.is_typed(option):
            problem = f"is what --nalu-variant {c.nalu_variant} says"
            raise OptionError(f"--{option.replace('_', '-')}", problem, "add --nalu-variant custom")


MYSTERY_ARITHMETIC = task_script(
    "mystery_arithmetic",
    summary="Train one layer on the mystery arithmetic problem: each of its outputs is a sum, a "
    "difference or a product of two of its inputs.",
    example="--layer-type NALU --nalu-variant article --seed 0-49",
    training="mystery_report",
    task=(
        LAYER_TYPE.but(
            help="The layer, by its key or name; vanilla: a dense layer with a ReLU on its output.",
            choices=and_layers(_vanilla),
        ),
        choice(
            "--nalu-variant",
            next(iter(NALU_VARIANTS)),
            "What --layer-type NALU is, each with a Xavier-normal start: two NACs and a gate that "
            "is not squashed (article), two NACs (two-nac), one for both paths as in the paper "
            "(shared); or what the other --nalu flags say (custom).",
            tuple(NALU_VARIANTS),
        ),
        Flag("--input-size", integer(1), 100, "Number of inputs."),
        Flag("--output-size", integer(1), 10, "Number of outputs."),
        Flag(
            "--operations",
            _operations(),
            "add,sub,mul",
            "Operations that the outputs are drawn from; div, whose results have no bound where a "
            "range contains zero, has to be named.",
        ),
        Flag("--train-range", interval(), [-10, 10], "Range of the training inputs."),
        Flag("--test-range", interval(), [-10, 10], "Range of the test inputs."),
        Flag("--train-size", integer(1), 1000, "Number of training rows."),
        Flag("--test-size", integer(1), 1000, "Number of test rows."),
        Flag(
            "--max-epochs",
            integer(0),
            250,
            "Index of the last epoch; counting starts at 0, and an epoch is logged as those before "
            "it have left the model.",
            unnamed="a run that is resumed with more epochs keeps its name",
        ),
        switch("--shuffle", "Draw the order of the training rows anew in every epoch."),
        Flag(
            "--problem-seed",
            integer(0),
            None,
            "Seed of the problem and of its rows, by default that of the run; start weights follow "
            "--seed.",
        ),
    ),
    fragments=(
        nf.template("v-{nalu_variant}"),
        nf.template("n{input_size}"),
        nf.template("m{output_size}"),
        nf.NameField(lambda c: f"op-{c.operations.replace(',', '-')}", ("operations",)),
        range_field("train_range", "i"),
        range_field("test_range", "e"),
        nf.template("t{train_size}-{test_size}"),
        nf.either("shuffle", "sh", ""),
        nf.template("p{problem_seed}"),
    ),
    checks=(_check_operands, _check_variant),
    batch_size=32,
    learning_rate=1e-3,
    log_interval=1,
    unit="Epochs",
    look=EVALUATION.only("--evaluate", "--evaluation-dir").but(
        evaluate={
            "help": "Train nothing: print the problem of this saved model and what its layer has "
            "learned of it, output by output, and draw both. Its own flags are used."
        },
        evaluation_dir={
            "help": "Where --evaluate writes; by default mystery_arithmetic_plots in SAVE_DIR."
        },
    ),
)
