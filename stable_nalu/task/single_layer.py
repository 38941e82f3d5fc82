"""One module alone on an operation of two or more inputs: the single-module task."""

from typing import Any

from stable_nalu.dataset import simple_function
from stable_nalu.options import Config
from stable_nalu.options import flags as common
from stable_nalu.options import run_names as nf

from . import arithmetic


def _distribution(c: Config) -> str:
    family, *numbers = c.sample_distribution
    if family == "truncated-normal":
        numbers = [int(number) for number in numbers]
    return "-".join(["D", arithmetic.FAMILY_CODES[family], *map(str, numbers)])


SCRIPT = arithmetic.script(
    name="single_layer",
    summary="Train one arithmetic unit alone on two or more inputs.",
    example="--operation div --layer-type RealNPU --learning-rate 5e-3 --seed 0-24",
    groups=(
        *(common.TASK, arithmetic.SINGLE_NETWORK.without("--mlp-bias", "--mlp-depth")),
        *(common.OWN_LAYERS, common.WEIGHTS.without("--W-set-count")),
        *(common.NALU.without("--nac-weight"), common.NPU, common.PENALTIES),
        *(common.NPU_PENALTIES, common.CRITERION, common.OPTIMIZER.without("--clip-grad-value")),
        *(arithmetic.SINGLE_LOGGING, common.RUN_CONTROL),
    ),
    name_fields=(
        arithmetic.SINGLE_LAYER_MODEL,
        *nf.COMMON,
        nf.distribution(_distribution, "the numbers of truncated-normal are cut to whole ones"),
        *(nf.NOISE_RANGE, *nf.SINGLE_PENALTIES, nf.NMU_NOISE, nf.GRAD_NORM, nf.CRITERION_TRASH),
        nf.ID,
    ),
    checks=arithmetic.SINGLE_LAYER_CHECKS,
)


class SingleLayer(arithmetic.SingleLayerTask):
    """The test inputs are of the distribution that is meant for extrapolation."""

    def test_stream(self, dataset: Any, config: Config) -> simple_function.SampleStream:
        seed = arithmetic.TEST_SEED
        return dataset.fork(config.extrapolation_range, seed=seed, use_extrapolation=True)


TASK = SingleLayer
