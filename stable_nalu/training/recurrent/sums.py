"""Training of a recurrent cell on sums over sequences: `simple_function_recurrent`.

The published script cannot start, so this is what it meant to do.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
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

from ..arithmetic.data import TEST_SEED, VALIDATION_SEED, evaluate
from ..checkpoint import LOGGED
from ..random_models import RandomModels
from ..recorder import TaggedValue, scalar
from ..stack import Kind, Setup, Unit
from .training import Batch, RecurrentTraining

EVALUATION_ROWS = 2048
SCORED_ROWS = 2048, 512
"""Fixed sequences of validation and test, where errors are held against untrained networks."""
EVALUATION_BLOCK = 256
"""Rows drawn at once: a block of long sequences in float64 is 20 MiB."""
LOG_INTERVAL = 1000
COST = 30


def build_dataset(config: Config) -> SimpleFunctionRecurrentDataset:
    """Return the data set of a configuration."""
    return SimpleFunctionRecurrentDataset(
        config.operation,
        config.input_size,
        subset_ratio=config.subset_ratio,
        overlap_ratio=config.overlap_ratio,
        simple=config.simple,
        seed=config.seed,
    )


def build_network(config: Config, layer_options: dict[str, Any]) -> ExtendedTorchModule:
    """Build the network of a configuration."""
    return SimpleFunctionRecurrentNetwork(
        config.layer_type, config.inputs, hidden_size=config.hidden_size, **layer_options
    )


def lengths_of(config: Config) -> tuple[int, int, int]:
    """Return the steps of sequences of training, validation and test."""
    length = config.interpolation_length
    return length, length, config.extrapolation_length


class UntrainedLSTM(torch.nn.Module):
    """An LSTM and a read-out of its last state, as torch initialises them."""

    def __init__(self, input_size: int, hidden_size: int):
        super().__init__()
        self.lstm = torch.nn.LSTM(input_size, hidden_size, batch_first=True)
        self.output = torch.nn.Linear(hidden_size, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map x `(batch, time, in)` to `(batch, 1)`."""
        states, _ = self.lstm(x)
        return self.output(states[:, -1])


class FixedSequences:
    """Sequences that errors are measured on."""

    def __init__(self, stream: SampleStream, rows: int):
        self.rows = _drawn(stream, rows)

    def squares(self, model: ExtendedTorchModule) -> torch.Tensor:
        """Return the squared error of every sequence, `(rows, 1)`."""
        x, t = (values.to(next(model.parameters())) for values in self.rows)
        return (model(x) - t) ** 2


def _drawn(stream: SampleStream, rows: int) -> Batch:
    x, t = stream.draw(max(1, rows // EVALUATION_BLOCK), min(rows, EVALUATION_BLOCK))
    return x.flatten(0, 1), t.flatten(0, 1)


class SumsTraining(RecurrentTraining):
    """Trains iterations 0 to `--max-iterations`; both evaluation streams go on at each use.

    With untrained networks to compare with, errors are measured on fixed sequences instead, and
    log points alone are logged.
    """

    reported = (
        "seed", "operation", "layer_type", "simple", "cuda", "verbose", "max_iterations",
    )  # fmt: skip
    errors = {RESULT_VALID: "loss_valid_inter", RESULT_TEST: "loss_valid_extra"}

    def __init__(self, setup: Setup):
        super().__init__(setup, build_network)
        self.length = self.config.max_iterations + 1
        self._dataset = dataset = build_dataset(self.config)
        lengths, own = lengths_of(self.config), self.config.input_range
        self._streams = [dataset.fork(length, own) for length in lengths]
        self._fixed: list[FixedSequences] = []
        if self.config.random_models:
            seeds = VALIDATION_SEED, TEST_SEED
            for length, seed, rows in zip(lengths[1:], seeds, SCORED_ROWS, strict=True):
                self._fixed.append(FixedSequences(dataset.fork(length, own, seed), rows))
            self._random_models = RandomModels(
                lambda: UntrainedLSTM(self.config.inputs, self.config.hidden_size),
                self.config.random_models,
                [[fixed.rows] for fixed in self._fixed],
                stacked=False,
            )

    def introduce(self) -> None:
        self.view.line(f"  - dataset: {self._dataset.print_operation()}")

    def train(self) -> Generator[int, None, None]:
        while self.at < self.length and not self.all_diverged:
            yield self.at
            at_log_point = self.at % LOG_INTERVAL == 0
            if not self.begin(self.at, at_log_point=at_log_point):
                return
            if at_log_point:
                self.recorder.write(self._evaluate())
            batch = self._streams[0][0 : self.config.batch_size]
            if at_log_point or not self._fixed:
                verbose = at_log_point and self.config.verbose
                result = self.train_batch(batch, modules=verbose, gradients=verbose)
                if at_log_point:
                    self.show(result)
            else:
                self.train_silently(batch)
            self.at += 1
            self.view.advance(1)

    def _evaluate(self) -> list[TaggedValue]:
        """Return what is logged of the errors of the model, the squared ones first."""
        if self._fixed:
            measure = self._random_models.measure
            found = evaluate(self.model, self._fixed, eval_mode=True, measure=measure)
            return self._random_models.logged(found)
        _, interpolation, extrapolation = self._streams
        return [
            scalar(LOSS_VALID_INTERPOLATION, self._stream_error(interpolation)),
            scalar(LOSS_VALID_EXTRAPOLATION, self._stream_error(extrapolation)),
        ]

    def _stream_error(self, stream: SampleStream) -> torch.Tensor:
        """Return the mean squared error on the next 2048 sequences."""
        return self.error(*_drawn(stream, EVALUATION_ROWS))

    def final_losses(self) -> dict[str, torch.Tensor]:
        found = self._evaluate()
        if self.clock % LOG_INTERVAL:
            self.last_row = found
        interpolation, extrapolation, *_ = (item.value for item in found)
        undefined = torch.tensor(torch.nan)
        return {
            "loss_train": undefined if self.last_total is None else self.last_total,
            "loss_valid_inter": interpolation,
            "loss_valid_extra": extrapolation,
        }

    def progress(self, run: int) -> dict[str, Any]:
        return {"streams": [stream.get_state() for stream in self._streams]}

    def set_progress(self, run: int, progress: Mapping[str, Any]) -> None:
        for stream, state in zip(self._streams, progress["streams"], strict=True):
            stream.set_state(state)


KINDS = {
    "simple_function_recurrent": Kind(
        SumsTraining,
        Unit("iteration", "--max-iterations", "it"),
        {"streams": list, **LOGGED},
        cost=COST,
        shown=SumsTraining.shown,
    )
}
