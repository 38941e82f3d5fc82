"""The scripts that read several digits: sequences that are accumulated, and even ones counted."""

from __future__ import annotations

from stable_nalu.errors import OptionError

from . import checks
from . import name_fields as nf
from .flag import Config, Flag, FlagGroup, switch
from .flags_images import DATA_DIR, DATASET_WORKERS, MAX_EPOCHS, data_source, epoch_files
from .flags_model import LAYER_TYPE, NALU, NETWORK, OWN_LAYERS, WEIGHTS
from .flags_task import CRITERION, MAX_ITERATIONS, SEED
from .flags_training import ID, PENALTIES
from .kinds import (
    buildable_layers,
    cell_names,
    choice,
    digits,
    each_word,
    integer,
    lengths,
)
from .script_spec import ScriptSpec
from .scripts_tasks import TESTING, task_script

RESNETS = ("resnet18", "resnet34", "resnet50", "resnet101", "resnet152")

_REFUSED = {"--softmax-transform": "the published code stops with it for any number of outputs"}
_NO_DIVISION = {
    "div": "it is a product in the published code",
    "cumdiv": "it multiplies whole-number reciprocals in the published code, which are 0 above 1",
}


def _read_operation(word: str) -> str:
    if word in _NO_DIVISION:
        raise ValueError(f"{word} divides nothing, {_NO_DIVISION[word]}; choose cumsum or cumprod")
    return word


def _task(data: str) -> FlagGroup:
    return FlagGroup(
        "Task and data",
        Flag(
            "--operation",
            each_word("NAME", _read_operation),
            "cumsum",
            "Running sum or product of the labels, the target at every step; sum and prod are "
            "other names of cumsum and cumprod.",
            choices=("cumsum", "sum", "cumprod", "prod"),
        ),
        Flag(
            f"--{data}-digits",
            digits(),
            list(range(10)),
            "Labels of the images that are used, such as 123456789.",
        ),
        Flag(
            "--interpolation-length",
            integer(1),
            10,
            "Length of the sequences of training and validation.",
            sweep=True,
        ),
        Flag(
            "--extrapolation-lengths",
            lengths(),
            [100, 1000],
            "Lengths of the test sequences.",
            sweep=True,
        ),
        data_source(data),
        DATA_DIR,
        DATASET_WORKERS,
        Flag("--batch-size", integer(1), 64, "Number of sequences in a training batch."),
        SEED,
        MAX_EPOCHS,
    )


def _network(data: str, *more: Flag) -> FlagGroup:
    (nac_mul,) = NETWORK.only("--nac-mul")
    return FlagGroup(
        "Network",
        LAYER_TYPE.but(help="Unit of the recurrent cell, by its key or name.", choices=cell_names),
        nac_mul.but(
            help="How the cell multiplies: in log space (normal), or as the multiplicative "
            "form of the unit (mnac).",
            choices=("none", "normal", "mnac"),
        ),
        Flag(
            f"--{data}-outputs",
            integer(1),
            1,
            "Number of outputs of the image network, the inputs of the cell.",
            sweep=True,
        ),
        choice(
            "--model-simplification",
            "none",
            "A reference in place of the cell: exact sums or products of the outputs "
            "(solved-accumulator), or the outputs themselves (pass-through).",
            ("none", "solved-accumulator", "pass-through"),
        ),
        *more,
    )


(_OOB,) = WEIGHTS.only("--oob-mode").but(oob_mode={"name": "--nac-oob"})
_NOISE = ("--mnac-epsilon", "--nmu-noise", "--noise-range")
_MNIST_WEIGHTS = FlagGroup(WEIGHTS.title, _OOB, *WEIGHTS.only(*_NOISE, "--nau-noise", "--beta-nau"))
_SVHN_WEIGHTS = FlagGroup(WEIGHTS.title, _OOB, *WEIGHTS.only(*_NOISE))
_PENALTIES = PENALTIES.but(
    regualizer_scaling={
        "help": "How the sparsity penalty grows: a linear ramp, or 1 - exp(-1e-5 update)."
    },
    regualizer_scaling_start={
        "default": 10000,
        "help": "Update at which the linear ramp leaves 0.",
    },
    regualizer_scaling_end={
        "default": 100000,
        "help": "Update at which the linear ramp reaches 1.",
    },
    regualizer_shape={
        "choices": ("squared", "linear"),
        "help": "Shape of the sparsity and out-of-bounds penalties.",
    },
)
_MNIST_CRITERION = CRITERION.but(
    pcc2mse_iteration={
        "default": 7500,
        "help": "First update of the mse phase of criterion pcc-mse.",
    }
)


def _fields(data: str) -> tuple[nf.NameField, ...]:
    """Return the fields that the names of both scripts begin with."""
    resnet = nf.NameField(lambda c: f"net-{c.resnet.removeprefix('resnet')}", ("resnet",))
    heads = {"mnist": "l-", "svhn": ""}
    return (
        nf.RECURRENT_MODEL,
        nf.NameField(lambda c: "d-" + "".join(map(str, getattr(c, f"{data}_digits"))),
                     (f"{data}_digits",)),
        nf.template(f"h-{{{data}_outputs}}"),
        nf.template("op-{operation}"),
        *((resnet,) if data == "svhn" else ()),
        nf.NameField(lambda c: f"oob-{c.nac_oob[0]}", ("nac_oob",)),
        *nf.PENALTY_FIELDS,
        nf.NameField(
            lambda c: f"m-{heads[data]}{c.model_simplification[0]}", ("model_simplification",)
        ),
        nf.template("i-{interpolation_length}"),
        nf.NameField(
            lambda c: "-".join(["e", *map(str, c.extrapolation_lengths)]),
            ("extrapolation_lengths",),
        ),
        nf.template("b{batch_size}"),
        nf.template("s{seed}"),
    )  # fmt: skip


_FILES = epoch_files("sequence_svhn")
_CHECKS = (checks.check_cell, checks.check_nalu, checks.check_schedule, checks.check_files)
_SOURCE = nf.trailing(nf.template("{data_source}"))

SEQUENTIAL_MNIST = ScriptSpec(
    name="sequential_mnist",
    nac_mul_acts=True,
    training="stable_nalu.training.epochs.sequential_digits",
    summary="Train an image network and a cell that adds or multiplies the digits of a sequence.",
    example="--operation cumprod --layer-type ReRegualizedLinearNAC --nac-mul mnac "
    "--mnist-digits 123456789 --interpolation-length 2 --extrapolation-lengths [1,2,5] "
    "--data-source digits",
    groups=(
        _task("mnist"),
        _network("mnist"),
        OWN_LAYERS,
        _MNIST_WEIGHTS,
        NALU.without("--nac-weight"),
        _PENALTIES,
        _MNIST_CRITERION,
        epoch_files("sequence_mnist"),
    ),
    name_fields=(
        *_fields("mnist"),
        nf.NMU_NOISE,
        nf.either("beta_nau", "bAT", "bAF"),
        nf.CRITERION,
        _SOURCE,
        nf.LAYER_OPTION,
        *nf.NALU_TRAILING,
    ),
    checks=_CHECKS,
    refused=_REFUSED,
)

SEQUENTIAL_SVHN = ScriptSpec(
    name="sequential_svhn",
    nac_mul_acts=True,
    training="stable_nalu.training.epochs.sequential_digits",
    summary="Train a residual network and a cell that adds or multiplies house number digits.",
    example="--operation cumprod --layer-type ReRegualizedLinearNAC --nac-mul mnac "
    "--svhn-digits 123456789 --interpolation-length 2 --extrapolation-lengths [1,2,5] "
    "--data-source digits",
    groups=(
        _task("svhn"),
        _network(
            "svhn",
            choice(
                "--resnet",
                "resnet18",
                "Image network, untrained at the start.",
                RESNETS,
                sweep=True,
            ),
        ),
        OWN_LAYERS,
        _SVHN_WEIGHTS,
        NALU.without("--nac-weight"),
        _PENALTIES,
        FlagGroup(_FILES.title, ID, *_FILES),
    ),
    name_fields=(*_fields("svhn"), nf.ID, _SOURCE, nf.LAYER_OPTION, *nf.NALU_TRAILING),
    checks=_CHECKS,
    refused=_REFUSED,
)


_HEADS = ("linear", "sigmoid", "tanh")


def _heads() -> tuple[str, ...]:
    """List the last layers by name.

    Units whose run names were those of others are left out: activations behind a dense layer.
    """
    return (*_HEADS, *(name for name in buildable_layers() if name.lower() not in _HEADS))


def _read_head(word: str) -> str:
    return word.upper() if word in ("nac", "nalu") else word


def _check_head_bias(c: Config) -> None:
    """Require that the bias is either there or not."""
    if c.head_bias and c.no_head_bias:
        raise OptionError("--head-bias", "contradicts --no-head-bias", "leave one of them out")


def _check_room(c: Config) -> None:
    """Require that the digits find room in a picture."""
    # NumPy, which the module imports, may be missing when --help is asked for.
    from stable_nalu.dataset.images.even_digits import DIGIT, Placement

    if c.image_size <= DIGIT:
        problem = f"{c.image_size} is no larger than a digit, which has {DIGIT} rows"
        raise OptionError("--image-size", problem, "give a larger one")
    if not Placement(c.image_size, c.max_digits, c.min_distance).fits():
        raise OptionError(
            "--min-distance",
            f"{c.max_digits} digits {c.min_distance} pixels apart find no room in pictures of "
            f"{c.image_size} x {c.image_size}",
            "give a smaller distance, fewer digits or larger pictures",
        )


EVEN_DIGIT_COUNT = task_script(
    "even_digit_count",
    summary="Train a network to count the even digits of a picture, with different last layers.",
    example="--layer-type NAC --no-head-bias --seed 0-2",
    training="even_digits",
    task=(
        Flag(
            "--layer-type",
            each_word("NAME", _read_head),
            "linear",
            "Last layer: dense, with weights as they are (linear) or squashed by a sigmoid or a "
            "tanh, or a unit, by its key or name.",
            _heads,
            aliases=("--head-weight",),
        ),
        switch(
            "--head-bias",
            "Give the last layer a bias, as is done by default.",
            unnamed="it says what is done anyway",
            result=False,
        ),
        switch("--no-head-bias", "Give the last layer no bias."),
        data_source("mnist").but(
            name="--digit-source", default="digits", aliases=("--data-source",)
        ),
        DATA_DIR,
        Flag("--image-size", integer(1), 100, "Rows and columns of a picture."),
        Flag("--max-digits", integer(1), 5, "Most digits of a picture; it has none to so many."),
        Flag("--min-distance", integer(0), 28, "Least pixels between the centres of two digits."),
        Flag(
            "--train-images",
            integer(0),
            0,
            "Number of training pictures; 0: every batch is drawn anew.",
        ),
        MAX_ITERATIONS.but(default=10000),
        Flag(
            "--valid-images",
            integer(1),
            1000,
            "Pictures of a validation, which log points make.",
            unnamed=TESTING,
        ),
        Flag(
            "--test-images",
            integer(1),
            10000,
            "Pictures of the test, which the last update makes.",
            unnamed=TESTING,
        ),
    ),
    fragments=(
        nf.either("no_head_bias", "b-0", "b-1"),
        nf.template("n{max_digits}"),
        nf.template("d{min_distance}"),
        nf.template("i{image_size}"),
        nf.template("t{train_images}"),
        nf.template("{digit_source}"),
    ),
    checks=(_check_head_bias, _check_room),
    batch_size=32,
    learning_rate=1e-3,
    log_interval=500,
)
