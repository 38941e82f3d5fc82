"""Two digits in the channels of a picture, to be found and added or multiplied: `ST_mnist_labels`.

Spatial transformers find them, each digit anywhere, turned and scaled. See `pairs` for all else.
"""

import torch

from stable_nalu.base.errors import OptionError
from stable_nalu.network import two_digits
from stable_nalu.options import Config, ScriptSpec
from stable_nalu.options import run_names as nf
from stable_nalu.options.flags import OWN_LAYERS

from . import pairs


class ScatteredTask(pairs.PairTask):
    """Digits scattered over a canvas."""

    scattered, loss_tag, rounded = True, "loss", True

    def reader(self) -> torch.nn.Module:
        config = self.config
        return two_digits.build_reader(config.img2label_model, unbounded=config.tps_unbounded_stn)


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


SCRIPT = ScriptSpec(
    name="ST_mnist_labels",
    summary="Train a network that finds two digits in the channels of an image and computes their "
    "sum or product, from the answer alone.",
    example="--operation mul --img2label-model TPS-no-concat-conv --num-folds 3 --seed 0-2",
    groups=(
        pairs.PAIRS.but(
            operation={"choices": ("add", "mul"), "help": "What is computed of two digits."}
        ),
        pairs.SHARED[0],
        pairs.DIGIT_NETWORK.without("--use-tau", "--use-argmax").but(
            nalm_name={
                "help": "Unit of the last layer, of --layer-file; empty for NAU or NMU.",
                "choices": lambda: ("", *pairs.own_units()),
            }
        ),
        OWN_LAYERS,
        pairs.NOISE,
        pairs.DIGIT_PENALTIES.without("--regualizer-npu-w", "--regualizer-gate").but(
            regualizer={"default": 100},
            regualizer_scaling_start={"default": 30},
            regualizer_scaling_end={"default": 40},
        ),
        pairs.OPTIMIZER.but(optimizer={"default": "sgd"}),
        pairs.DIGIT_OPTIMIZER.only("--scheduler-step-size", "--no-scheduler"),
        *pairs.SHARED[1:],
    ),
    name_fields=(*pairs.NAME, pairs.SOURCE, nf.trailing(nf.template("mod-{nalm_name}"))),
    checks=(*pairs.CHECKS, _check_reader),
    refused=pairs.REFUSED,
    fixed=pairs.FIXED,
)
TASK = ScatteredTask
