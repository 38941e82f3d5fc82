"""Training of a recurrent cell on sums over sequences: `simple_function_recurrent`.

The published script cannot start, so this is what it meant to do.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping, Sequence
from typing import Any

import torch

from stable_nalu import native
from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.dataset import SampleStream, SimpleFunctionRecurrentDataset
from stable_nalu.dataset.joint_streams import JointStreams, NativeStreams, by_compiled_code
from stable_nalu.network import SimpleFunctionRecurrentNetwork
from stable_nalu.options import Config
from stable_nalu.tags import (
    LOSS_VALID_EXTRAPOLATION,
    LOSS_VALID_INTERPOLATION,
    RESULT_TEST,
    RESULT_VALID,
)

from ..arithmetic.data import TEST_SEED, VALIDATION_SEED, evaluate
from ..compiled import policy
from ..logging.console import View
from ..logging.recorder import Recorder, TaggedValue, scalar
from ..random_models import RandomModels
from ..saved.checkpoint import LOGGED
from ..stack import Kind, Setup, Unit
from .training import Batch, RecurrentTraining

EVALUATION_ROWS = 2048
SCORED_ROWS = 2048, 512
"""Fixed sequences of validation and test, where errors are held against untrained networks."""
EVALUATION_BLOCK = 256
"""Rows drawn at once: a block of long sequences in float64 is 20 MiB."""
BLOCK_BYTES = 8 << 20
"""Batches drawn at once: so few that they are used from a near cache."""
LOG_INTERVAL = 1000
WIDTH = 500
"""Keeps stacks at eight runs: the long sequences of a run take 80 MiB of memory."""
SCORED_WIDTH = 100
"""Allows stacks of forty: runs share fixed sequences."""
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
    """Sequences that all runs of a stack share, and the targets of each run."""

    def __init__(self, streams: Sequence[SampleStream], rows: int, *, stacked: bool):
        drawn = [_drawn(stream, rows) for stream in streams]
        self._x = drawn[0][0]
        self._t = [t for _, t in drawn]
        self._stacked = stacked

    def rows_of_runs(self) -> list[Batch]:
        """Return inputs and targets of every run."""
        return [(self._x, t) for t in self._t]

    def squares(self, model: ExtendedTorchModule, compiled: object = None) -> torch.Tensor:
        """Return the squared error of every sequence, `(*runs, rows, 1)`; nothing is compiled."""
        like = next(model.parameters())
        x = self._x.to(like)
        if not self._stacked:
            return (model(x) - self._t[0].to(like)) ** 2
        return (model(x.expand(len(self._t), *x.shape)) - torch.stack(self._t).to(like)) ** 2


def _drawn(stream: SampleStream, rows: int) -> Batch:
    x, t = stream.draw(max(1, rows // EVALUATION_BLOCK), min(rows, EVALUATION_BLOCK))
    return x.flatten(0, 1), t.flatten(0, 1)


class BatchFeed:
    """Training batches, drawn in blocks: those of successive single draws.

    Streams stand where the batches that were handed out end once `rewind` was called.
    """

    def __init__(self, streams: Sequence[SampleStream], batch_size: int, *, stacked: bool):
        self._streams = streams
        self._stacked = stacked
        self._batch_size = batch_size
        self._starts = [stream.get_state() for stream in streams]
        self._sources: Sequence[JointStreams | NativeStreams] = ()
        self._ready: list[Batch] = []
        self._used = 0

    def next(self, remaining: int) -> Batch:
        """Return the next batch, x `(*runs, batch, time, in)` and t `(*runs, batch, 1)`.

        remaining: how many are still wanted, this one included.
        """
        if not self._ready:
            self._draw(remaining)
        self._used += 1
        return self._ready.pop()

    def _draw(self, remaining: int) -> None:
        sample = self._streams[0].sampler.sample_shape
        rows = len(self._streams), self._batch_size
        batch = torch.empty(0).itemsize * math.prod((*rows, *sample))
        count = max(1, min(remaining, BLOCK_BYTES // batch))
        x, t = torch.empty(count, *rows, *sample), torch.empty(count, *rows, 1)
        if not self._sources:
            # Not joined: each run continues from a generator of its own.
            alone = [JointStreams([stream], [run]) for run, stream in enumerate(self._streams)]
            self._sources = by_compiled_code(alone, x.numpy(), t.numpy())
        self._starts = [stream.get_state() for stream in self._streams]
        for source in self._sources:
            source.draw_into(x.numpy(), t.numpy())
        if not self._stacked:
            x, t = x[:, 0], t[:, 0]
        self._ready = list(zip(x, t, strict=True))[::-1]
        self._used = 0

    def rewind(self) -> None:
        """Put the streams back to the end of what was handed out."""
        if self._ready:
            for stream, start in zip(self._streams, self._starts, strict=True):
                stream.set_state(start)
                stream.skip(self._used, self._batch_size)
            self._ready = []


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
        self._datasets = [build_dataset(config) for config in setup.configs]
        lengths, own = lengths_of(self.config), self.config.input_range
        self._streams = [[d.fork(length, own) for length in lengths] for d in self._datasets]
        training = [own[0] for own in self._streams]
        self._feed = BatchFeed(training, self.config.batch_size, stacked=setup.stacked)
        self._fixed: list[FixedSequences] = []
        if self.config.random_models:
            seeds = VALIDATION_SEED, TEST_SEED
            for length, seed, rows in zip(lengths[1:], seeds, SCORED_ROWS, strict=True):
                streams = [d.fork(length, own, seed) for d in self._datasets]
                self._fixed.append(FixedSequences(streams, rows, stacked=setup.stacked))
            self._random_models = RandomModels(
                lambda: UntrainedLSTM(self.config.inputs, self.config.hidden_size),
                self.config.random_models,
                [fixed.rows_of_runs() for fixed in self._fixed],
                stacked=setup.stacked,
            )

    def open(self, recorder: Recorder, view: View) -> None:
        super().open(recorder, view)
        config = self.config
        sequences = self.runs * (self.length - self.at) * config.batch_size
        drawn = sequences * config.interpolation_length * config.inputs
        if policy.draws_worth_compiling(config, drawn):
            native.load()

    def introduce(self) -> None:
        self.view.line(f"  - dataset: {self._datasets[0].print_operation()}")

    def train(self) -> Generator[int, None, None]:
        while self.at < self.length and not self.all_diverged:
            yield self.at
            at_log_point = self.at % LOG_INTERVAL == 0
            if not self.begin(self.at, at_log_point=at_log_point):
                return
            if at_log_point:
                self.recorder.write(self._evaluate())
            batch = self._feed.next(self.length - self.at)
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
        _, interpolation, extrapolation = zip(*self._streams, strict=True)
        return [
            scalar(LOSS_VALID_INTERPOLATION, self._stream_error(interpolation)),
            scalar(LOSS_VALID_EXTRAPOLATION, self._stream_error(extrapolation)),
        ]

    def _stream_error(self, streams: Sequence[SampleStream]) -> torch.Tensor:
        """Return the mean squared error on the next 2048 sequences of each stream."""
        return self.error(*self.joined([_drawn(stream, EVALUATION_ROWS) for stream in streams]))

    def final_losses(self) -> dict[str, torch.Tensor]:
        found = self._evaluate()
        if self.clock % LOG_INTERVAL:
            self.last_row = found
        interpolation, extrapolation, *_ = (item.value for item in found)
        undefined = torch.full((self.runs,), torch.nan)
        return {
            "loss_train": undefined if self.last_total is None else self.last_total,
            "loss_valid_inter": interpolation,
            "loss_valid_extra": extrapolation,
        }

    def progress(self, run: int) -> dict[str, Any]:
        self._feed.rewind()
        return {"streams": [stream.get_state() for stream in self._streams[run]]}

    def set_progress(self, run: int, progress: Mapping[str, Any]) -> None:
        for stream, state in zip(self._streams[run], progress["streams"], strict=True):
            stream.set_state(state)


KINDS = {
    "simple_function_recurrent": Kind(
        SumsTraining,
        Unit("iteration", "--max-iterations", "it"),
        {"streams": list, **LOGGED},
        width=lambda config: SCORED_WIDTH if config.random_models else WIDTH,
        cost=COST,
        shown=SumsTraining.shown,
    )
}
