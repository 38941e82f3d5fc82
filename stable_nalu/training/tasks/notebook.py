"""The notebook's addition: two NALUs learn the sum of ten numbers from all rows at once.

Section "Experiments" of the notes with the notebook. Its last evaluation trains on the test rows;
here these are only measured, unless `--train-on-test` says otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.dataset.notebook import INPUTS, NotebookDataset
from stable_nalu.errors import UsageError
from stable_nalu.network.notebook import NotebookNetwork
from stable_nalu.options import Config
from stable_nalu.tags import AFTER_SUFFIX, LOSS_HALF_SUM, LOSS_MSE, METRIC_TEST_HALF_SUM, MSE_TEST

from .training import Batch, Task, kind


class NotebookTask(Task):
    """Add up each row; the loss is half the sum, over all rows, of squared errors."""

    valid = None
    test = METRIC_TEST_HALF_SUM

    def __init__(self, configs: Sequence[Config], device: torch.device, *, stacked: bool):
        super().__init__(configs, device, stacked=stacked)
        data = [NotebookDataset(c.train_size, c.seed) for c in configs]
        self.rows = self._joined([d.train for d in data])
        self._test = self._joined([d.test for d in data])

    def _joined(self, of_runs: Sequence[tuple[torch.Tensor, torch.Tensor]]):
        x, t = zip(*of_runs, strict=True)
        return self.joined(x), self.joined(t)

    @staticmethod
    def network(config: Config, layer_options: dict[str, Any]) -> ExtendedTorchModule:
        return NotebookNetwork(config.layer_type, INPUTS, **layer_options)

    @property
    def _trains_on_test(self) -> bool:
        """Whether the update of this unit is the notebook's slip."""
        return self.config.train_on_test and self.unit == self.config.max_iterations

    def batches(self, unit: int) -> Iterator[Batch]:
        return iter([self._test]) if self._trains_on_test else super().batches(unit)

    def loss(self, model: ExtendedTorchModule, x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
        return ((model(x) - t) ** 2).sum((-2, -1)) / 2

    def losses(self, loss: torch.Tensor, model: ExtendedTorchModule) -> Mapping[str, torch.Tensor]:
        found = {LOSS_HALF_SUM: loss, LOSS_MSE: self._mean(loss)}
        if self._trains_on_test:
            after = self.measures(model).items()
            found |= {f"{tag}{AFTER_SUFFIX}": value for tag, value in after}
        return found

    def measures(self, model: ExtendedTorchModule) -> Mapping[str, torch.Tensor]:
        half_sum = self.loss(model, *self._test)
        return {METRIC_TEST_HALF_SUM: half_sum, MSE_TEST: self._mean(half_sum)}

    def _mean(self, half_sum: torch.Tensor) -> torch.Tensor:
        return half_sum * 2 / self.config.train_size

    def get_state(self, run: int) -> dict[str, Any]:
        return {"trained_on_test": self._trains_on_test}

    def set_state(self, run: int, state: Mapping[str, Any]) -> None:
        if state.get("trained_on_test") and self.unit < self.config.max_iterations:
            raise UsageError(
                "argument --train-on-test: the last update of this run was on its test rows, so it "
                "cannot go on; start anew with --remove-existing-data"
            )

    def introduction(self) -> str:
        return f"dataset: {self.config.train_size} rows of {INPUTS} numbers and their sum"


KINDS = {"notebook_addition": kind(NotebookTask, cost=100)}
