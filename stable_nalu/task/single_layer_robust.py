"""One module alone, without validation, whose weights' path is logged: the robustness study."""

from __future__ import annotations

from stable_nalu.options import Config
from stable_nalu.options import name_fields as nf
from stable_nalu.options.flags_model import NALU, NPU, OWN_LAYERS, WEIGHTS
from stable_nalu.options.flags_task import CRITERION, OPTIMIZER, TASK
from stable_nalu.options.flags_training import NPU_PENALTIES, PENALTIES, RUN_CONTROL

from . import arithmetic


def _distribution(c: Config) -> str:
    family, *numbers = c.sample_distribution
    return "-".join(["D", arithmetic.FAMILY_CODES[family], *map(str, numbers[:2])])


SCRIPT = arithmetic.script(
    name="single_layer_robust",
    short="R",
    summary="Train one arithmetic unit without validation and log its weights' path.",
    example="--operation mul --layer-type ReRegualizedLinearMNAC --nmu-noise --verbose",
    groups=(
        TASK.but(extrapolation_range={"note": "part of the run name only, nothing is evaluated"}),
        arithmetic.SINGLE_NETWORK.without("--mlp-bias", "--mlp-depth"),
        OWN_LAYERS,
        WEIGHTS.without("--trash-cell", "--W-set-count"),
        NALU.without("--nac-weight"),
        NPU,
        PENALTIES,
        NPU_PENALTIES.without("--lp-norm"),
        CRITERION,
        OPTIMIZER.without("--clip-grad-value"),
        arithmetic.SINGLE_LOGGING.but(
            id={"note": "recorded only, the run name lacks it", "result": False}
        ),
        RUN_CONTROL,
    ),
    name_fields=(
        arithmetic.SINGLE_LAYER_MODEL,
        *nf.COMMON,
        nf.distribution(
            _distribution, "the test mean and deviation of truncated-normal are not printed"
        ),
        nf.NOISE_RANGE,
        *nf.SINGLE_PENALTIES,
        nf.NMU_NOISE,
        nf.GRAD_NORM,
        nf.LOG_INTERVAL,
        nf.CRITERION,
    ),
    checks=arithmetic.SINGLE_LAYER_CHECKS,
)


class RobustSingleLayer(arithmetic.SingleLayerTask):
    """Nothing is evaluated; what weights do is logged."""

    evaluates = False
    robustness_logging = True
    beta_tag_verbose_only = True
    console_interval = 1000


TASK = RobustSingleLayer()
