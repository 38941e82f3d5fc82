"""The two scripts on pairs of digits: train, or look at a model that is trained."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stable_nalu.options import Config, ScriptSpec
from stable_nalu.training.command import run_command
from stable_nalu.training.epoch_script import EpochScript
from stable_nalu.training.pairs import ISOLATED as ISOLATED_TASK
from stable_nalu.training.pairs import SCATTERED as SCATTERED_TASK
from stable_nalu.training.pairs import PairTask

from .pair_report import report


@dataclass(frozen=True)
class PairScript:
    """A script by name, and its task."""

    name: str
    task: PairTask

    def run(self, argv: Sequence[str] | None = None) -> int:
        """The whole script."""
        return run_command(self.name, argv, self._obey)

    def _obey(self, spec: ScriptSpec, configs: Sequence[Config]) -> int:
        if configs[0].evaluate is not None:
            return report(spec, self.task, configs[0])
        return EpochScript(self.name, self.task.run).train_plan(spec, configs)


ISOLATED = PairScript("two_digit_mnist", ISOLATED_TASK)
SCATTERED = PairScript("ST_mnist_labels", SCATTERED_TASK)
