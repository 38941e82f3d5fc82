"""Sequences of handwritten digits, added or multiplied: `sequential_mnist`.

The image network is two convolutions and two linear layers. See `sequences` for all else.
"""

import torch

from stable_nalu.network import digits as digit_networks
from stable_nalu.options import ScriptSpec
from stable_nalu.options import run_names as nf
from stable_nalu.options.flags import CRITERION, NALU, OWN_LAYERS

from . import sequences
from .description import epoch_files


class SequentialMnistTask(sequences.SequentialTask):
    """Sequences of MNIST."""

    family = "mnist"

    def image_network(self, outputs: int) -> torch.nn.Module:
        return digit_networks.RegressionMnistNetwork(outputs)


_MNIST_CRITERION = CRITERION.but(
    pcc2mse_iteration={
        "default": 7500,
        "help": "First update of the mse phase of criterion pcc-mse.",
    }
)

SCRIPT = ScriptSpec(
    name="sequential_mnist",
    nac_mul_acts=True,
    summary="Train an image network and a cell that adds or multiplies the digits of a sequence.",
    example="--operation cumprod --layer-type ReRegualizedLinearNAC --nac-mul mnac "
    "--mnist-digits 123456789 --interpolation-length 2 --extrapolation-lengths [1,2,5] "
    "--data-source digits",
    groups=(
        sequences.task_flags("mnist"),
        sequences.network_flags("mnist"),
        OWN_LAYERS,
        sequences.weight_flags("--nau-noise", "--beta-nau"),
        NALU.without("--nac-weight"),
        sequences.PENALTIES,
        _MNIST_CRITERION,
        epoch_files("sequence_mnist"),
    ),
    name_fields=(
        *sequences.name_fields("mnist"),
        nf.NMU_NOISE,
        nf.template("bA{beta_nau:bool}"),
        nf.CRITERION,
        sequences.SOURCE,
    ),
    checks=sequences.CHECKS,
    refused=sequences.REFUSED,
)
TASK = SequentialMnistTask
