"""One module alone on ranges that grow: each begins when the loss on the one before is small."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import torch

from stable_nalu.base.errors import OptionError
from stable_nalu.dataset import simple_function
from stable_nalu.options import Config
from stable_nalu.options import flags as common
from stable_nalu.options import run_names as nf
from stable_nalu.training import step
from stable_nalu.training.loop import Training

from . import arithmetic

RANGES = ((1.1, 1.125), (1.1, 1.15), (1.1, 1.175), (1.1, 1.2))
THRESHOLD = 1e-2
"""Total loss that opens the second range, and a tenth of it each later one."""


def _check_growing_beta(c: Config) -> None:
    """Require that beta ends above its start, where it only grows; elsewhere it may fall, too."""
    start, end = c.regualizer_beta_start, c.regualizer_beta_end
    if end < start and (c.regualizer_l1 or c.regualizer_npu_w or c.regualizer_gate):
        raise OptionError(
            "--regualizer-beta-end",
            f"{end} is less than --regualizer-beta-start {start}",
            "beta only grows in this script; give a larger one",
        )


SCRIPT = arithmetic.script(
    name="single_layer_curriculum",
    drawn_by=(),
    summary="Train one arithmetic unit on four ranges, from [1.1,1.125] to [1.1,1.2]; the next "
    "begins when the loss is low enough.",
    example="--operation add --layer-type NAC --learning-rate 0.01",
    groups=(
        common.TASK.without("--sample-distribution").but(
            operation={"choices": common.STATIC_OPERATIONS},
            interpolation_range={"note": "range of the validation inputs, training has its own"},
        ),
        arithmetic.SINGLE_NETWORK.without("--output-size", "--mlp-bias", "--mlp-depth"),
        *(common.OWN_LAYERS, common.WEIGHTS, common.NALU.without("--nac-weight"), common.NPU),
        common.PENALTIES,
        common.NPU_PENALTIES.without("--reg-scale-type", "--lp-norm").but(
            regualizer_npu_w={
                "kind": None,
                "default": False,
                "sweep": False,
                "help": "Add the penalty on undecided NPU weights.",
            }
        ),
        common.OPTIMIZER.without("--clip-grad-norm", "--clip-grad-value"),
        *(arithmetic.SINGLE_LOGGING, common.RUN_CONTROL),
    ),
    name_fields=(
        *(arithmetic.SINGLE_LAYER_MODEL, *nf.COMMON),
        *(nf.L1, nf.BETA, nf.NPU_WEIGHT_SWITCH, nf.GATE, nf.PRECISION),
        *nf.all_trailing(
            *(nf.NOISE_RANGE, nf.NMU_NOISE, nf.NAU_NOISE, nf.BETA_NAU, nf.NPU_CLIP, nf.NPU_INIT),
            *(nf.REALNPU_TYPE, nf.TRASH_CELL, nf.WEIGHT_SETS, nf.LOG_INTERVAL, nf.ID),
        ),
    ),
    checks=(*arithmetic.SINGLE_LAYER_CHECKS, _check_growing_beta),
)


class SingleLayerCurriculum(arithmetic.SingleLayerTask):
    """Batches are from the stream of each run's current range; streams keep their own positions.

    The published script measured errors in training mode.
    """

    kind = replace(arithmetic.SingleLayerTask.kind, penalties=step.GrowingPenalties)
    eval_mode = False
    in_python = True
    pause = 1

    def training_streams(self) -> list[simple_function.SampleStream]:
        self.stages = [[d.fork(list(stage)) for stage in RANGES] for d in self.datasets]
        self.stage = [0] * len(self.stages)
        self.thresholds = [THRESHOLD] * len(self.stages)
        return [first for first, *_ in self.stages]

    def end(self, training: Training, units: int) -> None:
        if training.last_total is not None:
            for run in self.advance(training.last_total):
                training.line(run, f"cl update to ds {self.stage[run]}")

    def advance(self, total: torch.Tensor) -> Iterator[int]:
        """Move runs whose total loss is below their threshold to the next range, and yield them."""
        for run, last in enumerate(total.reshape(-1).tolist()):
            if last < self.thresholds[run] and self.stage[run] < len(RANGES) - 1:
                self._move(run, self.stage[run] + 1)
                self.thresholds[run] *= 0.1
                yield run

    def _move(self, run: int, stage: int) -> None:
        self.stage[run] = stage
        self.feed.streams[run] = self.stages[run][stage]

    def get_state(self, run: int) -> dict[str, Any]:
        randoms = {f"random {k}": own.random for k, own in enumerate(self.stages[run])}
        return {"stage": self.stage[run], "threshold": self.thresholds[run], **randoms}

    def set_state(self, run: int, state: Mapping[str, Any]) -> None:
        self._move(run, state["stage"])
        self.thresholds[run] = state["threshold"]


TASK = SingleLayerCurriculum
