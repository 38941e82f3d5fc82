"""The identity by a scalar autoencoder: how networks fail beyond their training range.

Section 1.1 and figure 1 of the NALU paper. Its optimiser, rate and sampling are not published.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.dataset.identity import IdentityDataset, whole_numbers
from stable_nalu.network.identity import IdentityNetwork
from stable_nalu.options import Config
from stable_nalu.tags import ERROR_CURVE, METRIC_TEST, METRIC_VALID

from .training import Batch, Task, kind


class IdentityTask(Task):
    """Reconstruct a number; the test error is the mean absolute one outside the training range."""

    def __init__(self, configs: Sequence[Config], device: torch.device, *, stacked: bool):
        super().__init__(configs, device, stacked=stacked)
        low, high = self.config.train_range
        self.data = [
            IdentityDataset(c.train_sampling, low, high, c.batch_size, c.seed) for c in configs
        ]
        self._fixed = self.joined([data.batch() for data in self.data])
        self._within = self.joined([data.within() for data in self.data])
        self._x = whole_numbers(*self.config.test_range)
        self._outside = (self._x < low) | (self._x > high)
        self._over = self.joined([self._x.unsqueeze(-1)] * len(configs))

    @staticmethod
    def network(config: Config, layer_options: dict[str, Any]) -> ExtendedTorchModule:
        return IdentityNetwork(
            config.layer_type, config.hidden_size, config.hidden_layers, **layer_options
        )

    def batches(self, unit: int) -> Iterator[Batch]:
        x = self._fixed
        if self.config.train_sampling == "uniform":
            x = self.joined([data.batch() for data in self.data])
        yield x, x

    def measures(self, model: ExtendedTorchModule) -> Mapping[str, torch.Tensor]:
        inside = (model(self._within) - self._within).abs().squeeze(-1)
        outside = self._errors(model)[..., self._outside]
        return {METRIC_VALID: inside.mean(-1), METRIC_TEST: outside.mean(-1)}

    def _errors(self, model: ExtendedTorchModule) -> torch.Tensor:
        return (model(self._over) - self._over).abs().squeeze(-1)

    def texts(
        self, model: ExtendedTorchModule, *, first: bool, last: bool
    ) -> Mapping[str, Sequence[str]]:
        if not last:
            return {}
        errors = self._errors(model).reshape(len(self.configs), -1).tolist()
        return {ERROR_CURVE: [_table(self._x.tolist(), of_run) for of_run in errors]}

    def get_state(self, run: int) -> dict[str, Any]:
        return {"random": self.data[run].random.bit_generator.state}

    def set_state(self, run: int, state: Mapping[str, Any]) -> None:
        self.data[run].random.bit_generator.state = state["random"]

    def introduction(self) -> str:
        low, high = self.config.train_range
        return f"dataset: the identity on [{low}, {high}], {self.config.train_sampling}"


def _table(x: Sequence[float], errors: Sequence[float]) -> str:
    """Return a table that TensorBoard shows as one and that exporters read."""
    rows = [f"| {at:g} | {error!r} |" for at, error in zip(x, errors, strict=True)]
    return "\n".join(["| x | abs.error |", "|---|---|", *rows])


KINDS = {"identity_autoencoder": kind(IdentityTask, cost=3)}
