"""Training of a recurrent cell on sums over sequences: `simple_function_recurrent`.

The published script cannot start, so this is what it meant to do.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import Any

import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.dataset import SampleStream, SimpleFunctionRecurrentDataset
from stable_nalu.network import SimpleFunctionRecurrentNetwork
from stable_nalu.options import Config
from stable_nalu.tags import (
    LOSS_VALID_EXTRAPOLATION,
    LOSS_VALID_INTERPOLATION,
    RESULT_TEST,
    RESULT_VALID,
)

from ..saved.checkpoint import LOGGED
from ..stack import Kind, Setup, Unit
from .training import RecurrentTraining

BATCH_SIZE = 128
TRAIN_LENGTH = 10
EXTRAPOLATION_LENGTH = 1000
EVALUATION_ROWS = 2048
EVALUATION_BLOCK = 256
"""Rows drawn at once: a block of long sequences in float64 is 20 MiB."""
LOG_INTERVAL = 1000
WIDTH = 500
"""Keeps stacks at eight runs: the long sequences of a run take 80 MiB of memory."""
COST = 30


def build_dataset(config: Config) -> SimpleFunctionRecurrentDataset:
    """Return the data set of a configuration."""
    return SimpleFunctionRecurrentDataset(config.operation, simple=config.simple, seed=config.seed)


def build_network(config: Config, layer_options: dict[str, Any]) -> ExtendedTorchModule:
    """Build the network of a configuration."""
    input_size = build_dataset(config).get_input_size()
    return SimpleFunctionRecurrentNetwork(config.layer_type, input_size, **layer_options)


class SumsTraining(RecurrentTraining):
    """Trains iterations 0 to `--max-iterations`; both evaluation streams go on at each use."""

    reported = (
        "seed", "operation", "layer_type", "simple", "cuda", "verbose", "max_iterations",
    )  # fmt: skip
    errors = {RESULT_VALID: "loss_valid_inter", RESULT_TEST: "loss_valid_extra"}

    def __init__(self, setup: Setup):
        super().__init__(setup, build_network)
        self.length = self.config.max_iterations + 1
        self._datasets = [build_dataset(config) for config in setup.configs]
        lengths = (TRAIN_LENGTH, TRAIN_LENGTH, EXTRAPOLATION_LENGTH)
        self._streams = [[d.fork(length) for length in lengths] for d in self._datasets]

    def introduce(self) -> None:
        self.view.line(f"  - dataset: {self._datasets[0].print_operation()}")

    def train(self) -> Generator[int, None, None]:
        while self.at < self.length and not self.all_diverged:
            yield self.at
            at_log_point = self.at % LOG_INTERVAL == 0
            if not self.begin(self.at, at_log_point=at_log_point):
                return
            training, interpolation, extrapolation = zip(*self._streams, strict=True)
            if at_log_point:
                self.write(LOSS_VALID_INTERPOLATION, self._stream_error(interpolation))
                self.write(LOSS_VALID_EXTRAPOLATION, self._stream_error(extrapolation))
            verbose = at_log_point and self.config.verbose
            batches = [stream[0:BATCH_SIZE] for stream in training]
            result = self.train_batch(batches, modules=verbose, gradients=verbose)
            if at_log_point:
                self.show(result)
            self.at += 1
            self.view.advance(1)

    def _stream_error(self, streams: Sequence[SampleStream]) -> torch.Tensor:
        """Return the mean squared error on the next 2048 sequences of each stream."""
        drawn = [s.draw(EVALUATION_ROWS // EVALUATION_BLOCK, EVALUATION_BLOCK) for s in streams]
        return self.error(*self.joined([(x.flatten(0, 1), t.flatten(0, 1)) for x, t in drawn]))

    def final_losses(self) -> dict[str, torch.Tensor]:
        _, interpolation, extrapolation = zip(*self._streams, strict=True)
        undefined = torch.full((self.runs,), torch.nan)
        return {
            "loss_train": undefined if self.last_total is None else self.last_total,
            "loss_valid_inter": self._stream_error(interpolation),
            "loss_valid_extra": self._stream_error(extrapolation),
        }

    def progress(self, run: int) -> dict[str, Any]:
        return {"streams": [stream.get_state() for stream in self._streams[run]]}

    def set_progress(self, run: int, progress: Mapping[str, Any]) -> None:
        for stream, state in zip(self._streams[run], progress["streams"], strict=True):
            stream.set_state(state)


KINDS = {
    "simple_function_recurrent": Kind(
        SumsTraining,
        Unit("iteration", "--max-iterations", "it"),
        {"streams": list, **LOGGED},
        width=WIDTH,
        cost=COST,
        shown=SumsTraining.shown,
    )
}
