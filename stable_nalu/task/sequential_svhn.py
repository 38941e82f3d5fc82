"""Sequences of house number digits, added or multiplied: `sequential_svhn`.

The image network is a residual network of torchvision. See `sequences` for all else.
"""

from dataclasses import replace

import torch

from stable_nalu.base.errors import OptionError
from stable_nalu.dataset import images
from stable_nalu.options import Config, FlagGroup, ScriptSpec
from stable_nalu.options import run_names as nf
from stable_nalu.options.flag import choice
from stable_nalu.options.flags import ID, NALU, OWN_LAYERS

from . import sequences
from .description import epoch_files


class SequentialSvhnTask(sequences.SequentialTask):
    """Sequences of SVHN."""

    family = "svhn"
    smallest = 2
    kind = replace(sequences.SequentialTask.kind, all_cores=True)

    def image_network(self, outputs: int) -> torch.nn.Module:
        return getattr(images.torchvision().models, self.config.resnet)(num_classes=outputs)


def _check_batch(c: Config) -> None:
    if c.batch_size < SequentialSvhnTask.smallest:
        raise OptionError(
            "--batch-size", "the image network needs two images of a step", "use 2 or more"
        )


RESNETS = ("resnet18", "resnet34", "resnet50", "resnet101", "resnet152")
_FILES = epoch_files("sequence_svhn")

SCRIPT = ScriptSpec(
    name="sequential_svhn",
    nac_mul_acts=True,
    summary="Train a residual network and a cell that adds or multiplies house number digits.",
    example="--operation cumprod --layer-type ReRegualizedLinearNAC --nac-mul mnac "
    "--svhn-digits 123456789 --interpolation-length 2 --extrapolation-lengths [1,2,5] "
    "--data-source digits",
    groups=(
        sequences.task_flags("svhn"),
        sequences.network_flags(
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
        sequences.weight_flags(),
        NALU.without("--nac-weight"),
        sequences.PENALTIES,
        FlagGroup(_FILES.title, ID, *_FILES),
    ),
    name_fields=(*sequences.name_fields("svhn"), nf.ID, sequences.SOURCE),
    checks=(*sequences.CHECKS, _check_batch),
    refused=sequences.REFUSED,
)
TASK = SequentialSvhnTask
