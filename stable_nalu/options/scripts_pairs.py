"""The two scripts on pairs of digits: side by side, and scattered over the channels of an image."""

from __future__ import annotations

from stable_nalu.errors import OptionError

from . import checks
from . import name_fields as nf
from .flag import Config, FlagGroup
from .flags_images import DATA_DIR, DATASET_WORKERS, MAX_EPOCHS, data_source, epoch_files
from .flags_model import OWN_LAYERS, WEIGHTS
from .flags_pairs import (
    DIGIT_NETWORK,
    DIGIT_OPTIMIZER,
    DIGIT_PENALTIES,
    EVALUATION,
    PAIRS,
    own_units,
)
from .flags_task import OPTIMIZER, TASK
from .flags_training import ID, LOGGING
from .kinds import BATCH_NOISE
from .script_spec import ScriptSpec

_NOISE = WEIGHTS.only("--nmu-noise", "--nau-noise", "--noise-range", "--beta-nau")
_OPTIMIZER = OPTIMIZER.without("--momentum", "--clip-grad-value")
_FILES = epoch_files("two_digit_mnist")
_LOG_INTERVAL = LOGGING.only("--log-interval").but(
    log_interval={
        "default": 1,
        "help": "Epochs between two evaluations, and updates between two looks at the last layer.",
    }
)
_SHARED = (
    FlagGroup(
        "Images and length",
        data_source("mnist"),
        DATA_DIR,
        DATASET_WORKERS.but(default=0),
        *TASK.only("--batch-size"),
        MAX_EPOCHS.but(default=100),
    ),
    FlagGroup(_FILES.title, ID, *_FILES, *_LOG_INTERVAL),
    EVALUATION,
)

_REFUSED = {
    "--rgb": "no network takes three channels a digit",
    "--mb-log-interval": "it had no effect in the published code either, leave it out",
    "--dummy-writer": "use --dry-run to see what would be trained",
}
_FIXED = {
    "regualizer_scaling": "linear",
    "reg_scale_type": "madsen",
    **{
        flag.dest: flag.default
        for group in (PAIRS, DIGIT_NETWORK, DIGIT_PENALTIES, DIGIT_OPTIMIZER, OPTIMIZER)
        for flag in group
    },
    "no_scheduler": True,
}


_PAIRS = 100


def _check_pairs(c: Config) -> None:
    if not 2 <= c.num_folds <= _PAIRS:
        raise OptionError(
            "--num-folds",
            f"{_PAIRS} pairs cannot be cut into {c.num_folds} folds",
            f"use 2 to {_PAIRS}",
        )
    if c.seed >= c.num_folds:
        raise OptionError(
            "--seed",
            f"{c.seed} is no fold, there are {c.num_folds}",
            f"the seed is the fold: 0 to {c.num_folds - 1}",
        )
    if c.use_nalm and not c.learn_labels2out:
        raise OptionError("--use-nalm", "a unit has parameters to learn", "add --learn-labels2out")
    if c.nalm_name in own_units() and not c.use_nalm:
        raise OptionError(
            "--nalm-name", f"{c.nalm_name} would not be used", "add --use-nalm --learn-labels2out"
        )
    for flag, unit in (("--nmu-noise", "mul"), ("--nau-noise", "add")):
        noisy = getattr(c, flag.removeprefix("--").replace("-", "_"))
        divides = c.nalm_name == "nmru-sign" and flag == "--nmu-noise"
        if noisy and not (c.use_nalm and (c.operation == unit or divides)):
            raise OptionError(flag, "the last layer is no unit that has this noise", "leave it out")


def _check_isolated(c: Config) -> None:
    if c.num_folds != 10:
        raise OptionError("--num-folds", f"{c.num_folds} is not possible here", "use 10")
    own = c.nalm_name in own_units()
    if not own and (c.operation == "div" and c.use_nalm) != bool(c.nalm_name):
        raise OptionError(
            "--nalm-name",
            "names the unit that divides, no more and no less",
            "give it with --operation div --use-nalm, and only then",
        )
    if c.only_nalm_cgn and not (c.use_nalm and c.clip_grad_norm):
        raise OptionError(
            "--only-nalm-cgn",
            "there is nothing to clip",
            "add --use-nalm --learn-labels2out --clip-grad-norm 1",
        )
    if c.nalm_name == "nmru-sign" and c.noise_range == BATCH_NOISE:
        raise OptionError(
            "--noise-range",
            "nmru-sign reads it as plain bounds and cannot draw from [1,0]",
            "write the low end first; only the NMU knows [1,0]",
        )


def _check_reader(c: Config) -> None:
    if c.val_split == 1:
        raise OptionError("--val-split", "1 leaves nothing to train on", "use less")
    wanted = "width" if c.img2label_model.startswith("width") else "colour"
    if c.image_concat_dim != wanted:
        raise OptionError(
            "--image-concat-dim",
            f"{c.img2label_model} cannot read images joined by {c.image_concat_dim}",
            f"use {wanted}",
        )
    if c.tps_unbounded_stn and not c.img2label_model.startswith("TPS"):
        raise OptionError(
            "--tps-unbounded-stn",
            f"{c.img2label_model} has no thin-plate splines",
            "use --img2label-model TPS-no-concat-conv",
        )


_CHECKS = (_check_pairs, checks.check_schedule, checks.check_files)

_NAME = (
    nf.template("{id}"),
    nf.template("f{seed}"),
    nf.template("op-{operation}"),
    nf.either("use_nalm", "nalmT", "nalmF"),
    nf.either("learn_labels2out", "learnLT", "learnLF"),
    nf.template("s{seed}"),
)
_SOURCE = nf.trailing(nf.template("{data_source}"))

TWO_DIGIT_MNIST = ScriptSpec(
    name="two_digit_mnist",
    training="stable_nalu.inspection.pair_report",
    summary="Train a network that reads two digits side by side and computes their sum, product "
    "or quotient, from the answer alone.",
    example="--operation mul --use-nalm --learn-labels2out --seed 0-9",
    groups=(
        PAIRS.without("--val-split", "--image-concat-dim"),
        _SHARED[0],
        DIGIT_NETWORK.without("--img2label-model", "--tps-unbounded-stn", "--identity-start"),
        OWN_LAYERS,
        _NOISE,
        DIGIT_PENALTIES,
        _OPTIMIZER.without("--optimizer"),
        DIGIT_OPTIMIZER.only("--only-nalm-cgn", "--weight-decay"),
        *_SHARED[1:],
    ),
    name_fields=(
        *_NAME,
        nf.NameField(
            lambda c: f"mod-{c.nalm_name}" if c.operation == "div" or c.nalm_name else None,
            ("nalm_name",),
        ),
        _SOURCE,
        nf.LAYER_OPTION,
    ),
    checks=(*_CHECKS, _check_isolated),
    refused=_REFUSED,
    fixed=_FIXED,
)

ST_MNIST_LABELS = ScriptSpec(
    name="ST_mnist_labels",
    training="stable_nalu.inspection.pair_report",
    summary="Train a network that finds two digits in the channels of an image and computes their "
    "sum or product, from the answer alone.",
    example="--operation mul --img2label-model TPS-no-concat-conv --num-folds 3 --seed 0-2",
    groups=(
        PAIRS.but(operation={"choices": ("add", "mul"), "help": "What is computed of two digits."}),
        _SHARED[0],
        DIGIT_NETWORK.without("--use-tau", "--use-argmax").but(
            nalm_name={
                "help": "Unit of the last layer, of --layer-file; empty for NAU or NMU.",
                "choices": lambda: ("", *own_units()),
            }
        ),
        OWN_LAYERS,
        _NOISE,
        DIGIT_PENALTIES.without("--regualizer-npu-w", "--regualizer-gate").but(
            regualizer={"default": 100},
            regualizer_scaling_start={"default": 30},
            regualizer_scaling_end={"default": 40},
        ),
        _OPTIMIZER.but(optimizer={"default": "sgd"}),
        DIGIT_OPTIMIZER.only("--scheduler-step-size", "--no-scheduler"),
        *_SHARED[1:],
    ),
    name_fields=(
        *_NAME,
        _SOURCE,
        nf.trailing(nf.template("mod-{nalm_name}")),
        nf.LAYER_OPTION,
    ),
    checks=(*_CHECKS, _check_reader),
    refused=_REFUSED,
    fixed=_FIXED,
)
