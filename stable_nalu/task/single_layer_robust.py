"""One module alone, without validation, whose weights' path is logged: the robustness study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.options import Config
from stable_nalu.options import flags as common
from stable_nalu.options import name_fields as nf
from stable_nalu.training import console, recorder

from . import arithmetic

LINE_INTERVAL = 1000
"""Iterations between two lines of the console."""


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
        arithmetic.SINGLE_NETWORK.without("--mlp-bias", "--mlp-depth"),
        common.OWN_LAYERS,
        common.WEIGHTS.without("--trash-cell", "--W-set-count"),
        common.NALU.without("--nac-weight"),
        common.NPU,
        common.PENALTIES,
        common.NPU_PENALTIES.without("--lp-norm"),
        common.CRITERION,
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

    eval_mode = None

    @classmethod
    def network(cls, config: Config, layer_options: dict[str, Any]) -> ExtendedTorchModule:
        model = super().network(config, layer_options)
        for module in model.extended_modules():
            module.robustness_logging = True
        return model

    def logs_beta(self) -> bool:
        return self.config.verbose

    def changes(self, at: int) -> Sequence[int]:
        return [*super().changes(at), at + (-at) % LINE_INTERVAL + 1]

    def shows(self, at: int, *, at_log_point: bool) -> bool:
        return at_log_point or at % LINE_INTERVAL == 0

    def log_point(
        self,
        at: int,
        result: recorder.StepResult,
        errors: Mapping[str, np.ndarray],
        measured: Mapping[str, Any],
    ) -> console.LogPoint:
        loss, penalty, total = result.of_first()
        text = f"train {at}: {loss:.5f}, reg loss: {penalty:.5f}, total: {total:.5f}"
        errors_shown = recorder.numbers(result.criterion)
        return console.LogPoint(at, errors_shown, "" if at % LINE_INTERVAL else text)


TASK = RobustSingleLayer
