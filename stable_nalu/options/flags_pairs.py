"""Flags of the tasks on pairs of digits: the pairs, the images, the network."""

from __future__ import annotations

from .flag import Flag, FlagGroup, switch
from .flags_task import OPERATION, SEED
from .flags_training import NPU_PENALTIES, PENALTIES
from .kinds import choice, integer, number, text, truth

PAIRS = FlagGroup(
    "Pairs of digits",
    OPERATION.but(
        choices=("add", "mul", "div"),
        help="What the network computes of two digits; div has no digit 0.",
    ),
    SEED.but(
        help="Seed of the data and of the start weights, and the fold that is held out; 0-9 "
        "or 0,3,9 plan one run per seed."
    ),
    Flag(
        "--num-folds",
        integer(1),
        10,
        "Number of folds that the pairs of digits are cut into; one is the test set.",
    ),
    Flag("--samples-per-permutation", integer(1), 1000, "Number of images of each pair."),
    Flag(
        "--val-split",
        number(above=0, maximum=1),
        0.15,
        "Share of the training images that is kept for validation.",
    ),
    choice(
        "--image-concat-dim",
        "colour",
        "How an image holds its two digits: in channels, or side by side.",
        ("colour", "width"),
    ),
)


def _readers() -> tuple[str, ...]:
    from stable_nalu.network.digit_reader import READERS

    return READERS


def _dividers() -> tuple[str, ...]:
    from stable_nalu.network.digit_answer import DIVIDERS

    return ("", *DIVIDERS, *own_units())


def own_units() -> tuple[str, ...]:
    """Return the keys of layers of the user's."""
    from stable_nalu.layer import entries

    return tuple(key for key, entry in entries().items() if entry.origin is not None)


DIGIT_NETWORK = FlagGroup(
    "Network of two digits",
    switch(
        "--use-nalm",
        "Make the last layer an arithmetic unit: NAU for add, NMU for mul, --nalm-name for "
        "div; needs --learn-labels2out.",
    ),
    switch(
        "--learn-labels2out",
        "Give the last layer parameters; without it, it is the operation itself.",
    ),
    choice(
        "--nalm-name",
        "",
        "Unit that divides: modified Real NPU, NRU or NMRU. A layer of --layer-file may be named "
        "for any operation.",
        _dividers,
    ),
    switch(
        "--use-tau",
        "Let the temperature of the softmax over digits fall from 1 to 0.001 over all epochs.",
    ),
    switch("--use-argmax", "In evaluation, read the likeliest digit instead of the expected one."),
    choice(
        "--img2label-model",
        "concat",
        "Network that reads the digits; all but TPS-no-concat-conv have affine transformers.",
        _readers,
    ),
    switch("--tps-unbounded-stn", "Let the control points of thin-plate splines leave the image."),
    switch(
        "--identity-start", "Start spatial transformers at the identity; published runs do not."
    ),
)

DIGIT_PENALTIES = FlagGroup(
    PENALTIES.title,
    *PENALTIES.only("--regualizer", "--regualizer-scaling-start", "--regualizer-scaling-end").but(
        regualizer_scaling_start={
            "default": 50,
            "help": "Epoch at which the linear ramp of the penalties leaves 0.",
        },
        regualizer_scaling_end={
            "default": 75,
            "help": "Epoch at which the linear ramp of the penalties reaches 1.",
        },
    ),
    *NPU_PENALTIES.only("--regualizer-npu-w", "--regualizer-gate"),
)

DIGIT_OPTIMIZER = FlagGroup(
    "Optimizer of two digits",
    switch("--only-nalm-cgn", "Apply --clip-grad-norm to the gradients of the last layer alone."),
    Flag(
        "--weight-decay",
        number(0),
        0,
        "Share of a weight that is added to its gradient, in the last layer.",
    ),
    Flag(
        "--scheduler-step-size",
        integer(1),
        30,
        "Epochs after which the learning rate is divided by 10, again and again.",
    ),
    switch("--no-scheduler", "Keep the learning rate as it is."),
)

_LOOKS_AT_A_MODEL = "it looks at a trained model, nothing is trained"
EVALUATION = FlagGroup(
    "Looking at a trained model",
    Flag(
        "--evaluate",
        text("CHECKPOINT"),
        None,
        "Train nothing: write the confusion matrix, the accuracy of each digit and the path "
        "of the last layer's weights of this saved model. Its own flags are used, and its "
        "log is only read.",
        unnamed=_LOOKS_AT_A_MODEL,
        result=False,
    ),
    Flag(
        "--evaluation-dir",
        text("PATH"),
        None,
        "Where --evaluate writes; by default two_digit_mnist_plots in SAVE_DIR.",
        unnamed=_LOOKS_AT_A_MODEL,
        result=False,
    ),
    Flag(
        "--rounded",
        truth(),
        None,
        "Count the nearest digit (true) or cut off the decimals (false) in --evaluate; by "
        "default as published. The other choice shows in the file names.",
        unnamed=_LOOKS_AT_A_MODEL,
        result=False,
    ),
)
