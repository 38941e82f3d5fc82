"""The two scripts that accumulate sequences of digit images: MNIST and SVHN."""

from __future__ import annotations

from . import checks
from . import name_fields as nf
from .flag import Flag, FlagGroup
from .flags_images import DATA_DIR, DATASET_WORKERS, MAX_EPOCHS, data_source, epoch_files
from .flags_model import LAYER_TYPE, NALU, NETWORK, OWN_LAYERS, WEIGHTS
from .flags_task import CRITERION, SEED
from .flags_training import ID, PENALTIES
from .kinds import cell_names, choice, digits, each_word, integer, lengths
from .script_spec import ScriptSpec

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
        LAYER_TYPE.but(help="Unit of the recurrent cell, by its key.", choices=cell_names),
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
