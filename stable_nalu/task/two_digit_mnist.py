"""Two digits side by side, whose sum, product or quotient is to be found: `two_digit_mnist`.

One head reads both halves of a picture. See `pairs` for all else.
"""

import torch

from stable_nalu.base.errors import OptionError
from stable_nalu.dataset import digit_pairs
from stable_nalu.network import two_digits
from stable_nalu.options import Config, ScriptSpec
from stable_nalu.options import run_names as nf
from stable_nalu.options.flag import BATCH_NOISE
from stable_nalu.options.flags import OWN_LAYERS

from . import pairs


class TwoDigitTask(pairs.PairTask):
    """Digits side by side."""

    scattered, loss_tag, rounded = False, "mse", False

    def reader(self) -> torch.nn.Module:
        return two_digits.HalvesReader(len(digit_pairs.digits_of(self.config.operation)))


def _check_isolated(c: Config) -> None:
    if c.num_folds != 10:
        raise OptionError("--num-folds", f"{c.num_folds} is not possible here", "use 10")
    own = c.nalm_name in pairs.own_units()
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


SCRIPT = ScriptSpec(
    name="two_digit_mnist",
    summary="Train a network that reads two digits side by side and computes their sum, product "
    "or quotient, from the answer alone.",
    example="--operation mul --use-nalm --learn-labels2out --seed 0-9",
    groups=(
        pairs.PAIRS.without("--val-split", "--image-concat-dim"),
        pairs.SHARED[0],
        pairs.DIGIT_NETWORK.without("--img2label-model", "--tps-unbounded-stn", "--identity-start"),
        *(OWN_LAYERS, pairs.NOISE, pairs.DIGIT_PENALTIES),
        pairs.OPTIMIZER.without("--optimizer"),
        pairs.DIGIT_OPTIMIZER.only("--only-nalm-cgn", "--weight-decay"),
        *pairs.SHARED[1:],
    ),
    name_fields=(
        *pairs.NAME,
        nf.NameField(
            lambda c: f"mod-{c.nalm_name}" if c.operation == "div" or c.nalm_name else None,
            ("nalm_name",),
        ),
        pairs.SOURCE,
    ),
    checks=(*pairs.CHECKS, _check_isolated),
    refused=pairs.REFUSED,
    fixed=pairs.FIXED,
)
TASK = TwoDigitTask
