"""The NALU paper's digit tasks: counting the digits of a sequence, and adding them up."""

from __future__ import annotations

from stable_nalu.errors import OptionError

from . import name_fields as nf
from .flag import Config, Flag
from .flags_images import DATA_DIR, data_source
from .flags_model import LAYER_TYPE
from .kinds import cell_names, choice, integer, lengths, number
from .scripts_tasks import TESTING, task_script

OUTPUTS = {"count": 10, "sum": 1}
"""Task -> outputs of the cell, and those of the image network by default."""

CNNS = ("small", "large", "mlp8")


def _check_images(c: Config) -> None:
    """Require images of the size that the image network reads."""
    if c.cnn == "mlp8" and c.digit_source != "digits":
        problem = f"mlp8 reads images of 8 x 8, those of --digit-source {c.digit_source} are larger"
        raise OptionError("--cnn", problem, "use --cnn small, or --digit-source digits")
    if c.cnn != "small" and c.cnn_dropout:
        problem = f"--cnn {c.cnn} has no dropout"
        raise OptionError("--cnn-dropout", problem, "leave it out, or use --cnn small")
    if c.cnn_dropout == 1:
        raise OptionError("--cnn-dropout", "1 leaves everything out", "give less than 1")


MNIST_COUNTING = task_script(
    "mnist_counting",
    summary="Train an image network and a cell that count the digits of a sequence, or add them "
    "up, and measure the error of longer sequences.",
    example="--task count --layer-type NAC --seed 0-2",
    training="counting",
    task=(
        choice(
            "--task",
            "count",
            "Count how often each digit was seen, or add the digits up.",
            tuple(OUTPUTS),
        ),
        LAYER_TYPE.but(
            default="NAC",
            help="Recurrent cell, by its key or name; an output layer follows LSTM, GRU and RNNs.",
            choices=cell_names,
        ),
        choice(
            "--cnn",
            "small",
            "Image network: PyTorch's example of 2017, with filters of 10 and 20 and a hidden "
            "layer of 50 (small); that of 2018, with 20, 50 and 500 (large); or a hidden layer of "
            "64 on digits of 8 x 8 (mlp8).",
            CNNS,
        ),
        Flag(
            "--cnn-outputs",
            integer(1),
            None,
            "Outputs of the image network, the inputs of the cell; by default 10 for count and 1 "
            "for sum.",
        ),
        Flag(
            "--cnn-dropout",
            number(0, maximum=1),
            0.0,
            "Part of the small image network that each update leaves out: whole channels of its "
            "second convolution, and hidden units. PyTorch's example has 0.5.",
        ),
        choice(
            "--sequence-loss",
            "last",
            "Train on what is told after the last digit alone, or on what is true at every step.",
            ("last", "all"),
        ),
        Flag(
            "--interpolation-length",
            integer(1),
            10,
            "Length of the sequences of training and validation.",
        ),
        Flag(
            "--extrapolation-lengths",
            lengths(),
            [1, 100, 1000],
            "Lengths of further test sequences, besides those of training.",
        ),
        data_source("mnist").but(
            name="--digit-source", default="digits", aliases=("--data-source",)
        ),
        DATA_DIR,
        Flag(
            "--test-repeats",
            integer(1, 10**6),
            10,
            "How often all test images are tested, each time in a new order.",
            unnamed=TESTING,
        ),
        Flag(
            "--max-epochs",
            integer(0),
            100,
            "Index of the last epoch; counting starts at 0, and an epoch is logged as those before "
            "it have left the model.",
            unnamed="a run that is resumed with more epochs keeps its name",
        ),
    ),
    fragments=(
        nf.template("t-{task}"),
        nf.template("c-{cnn}"),
        nf.template("l-{sequence_loss}"),
        nf.template("d-{digit_source}"),
        nf.template("i-{interpolation_length}"),
        nf.NameField(
            lambda c: "-".join(["e", *map(str, c.extrapolation_lengths)]),
            ("extrapolation_lengths",),
        ),
        nf.template("h-{cnn_outputs}"),
        nf.template("do-{cnn_dropout}"),
    ),
    checks=(_check_images,),
    batch_size=64,
    learning_rate=1e-3,
    clip_grad_norm=1,
    log_interval=1,
    unit="Epochs",
)
