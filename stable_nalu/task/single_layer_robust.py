"""One module alone, without validation, whose weights' path is logged: the robustness study."""

from dataclasses import replace
from typing import Any

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.options import Config
from stable_nalu.options import flags as common
from stable_nalu.options import run_names as nf

from . import arithmetic


def _distribution(c: Config) -> str:
    family, *numbers = c.sample_distribution
    return "-".join(["D", arithmetic.FAMILY_CODES[family], *map(str, numbers[:2])])


SCRIPT = arithmetic.script(
    name="single_layer_robust",
    summary="Train one arithmetic unit without validation and log its weights' path.",
    example="--operation mul --layer-type ReRegualizedLinearMNAC --nmu-noise --verbose",
    groups=(
        common.TASK.but(
            extrapolation_range={"note": "part of the run name only, nothing is evaluated"}
        ),
        *(arithmetic.SINGLE_NETWORK.without("--mlp-bias", "--mlp-depth"), common.OWN_LAYERS),
        common.WEIGHTS.without("--trash-cell", "--W-set-count"),
        *(common.NALU.without("--nac-weight"), common.NPU, common.PENALTIES),
        *(common.NPU_PENALTIES.without("--lp-norm"), common.CRITERION),
        common.OPTIMIZER.without("--clip-grad-value"),
        arithmetic.SINGLE_LOGGING.but(
            id={"note": "recorded only, the run name lacks it", "result": False}
        ),
        common.RUN_CONTROL,
    ),
    name_fields=(
        arithmetic.SINGLE_LAYER_MODEL,
        *nf.COMMON,
        nf.distribution(
            _distribution, "the test mean and deviation of truncated-normal are not printed"
        ),
        *(nf.NOISE_RANGE, *nf.SINGLE_PENALTIES, nf.NMU_NOISE, nf.GRAD_NORM, nf.LOG_INTERVAL),
        nf.CRITERION,
    ),
    checks=arithmetic.SINGLE_LAYER_CHECKS,
)


class RobustSingleLayer(arithmetic.SingleLayerTask):
    """Nothing is evaluated; what weights do is logged."""

    eval_mode = None
    logging = replace(
        arithmetic.SingleLayerTask.logging,
        quiet_betas=True,
        lines=1000,
        line="{loss:.5f}, reg loss: {penalty:.5f}, total: {total:.5f}",
    )

    @classmethod
    def network(cls, config: Config, layer_options: dict[str, Any]) -> ExtendedTorchModule:
        model = super().network(config, layer_options)
        for module in model.extended_modules():
            module.robustness_logging = True
        return model


TASK = RobustSingleLayer
