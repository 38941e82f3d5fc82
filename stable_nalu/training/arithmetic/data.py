"""Training batches and fixed evaluation sets of all runs of a stack."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.dataset import SampleStream, SimpleFunctionStaticDataset
from stable_nalu.dataset.stream import join
from stable_nalu.engine.stack import EngineStack
from stable_nalu.options import Config

from ..random_state import put_back, saved_state

EVALUATION_ROWS = 10_000
VALIDATION_SEED = 43953907
TEST_SEED = 8689336


class Feed:
    """Batches `x (batch, in)`, `t (batch, 1)` of a run, or many batches of many runs."""

    def __init__(self, streams: Sequence[SampleStream], batch_size: int, input_size: int):
        self.streams = list(streams)
        self._shape = batch_size, input_size
        # A batch that does not fit into memory is found out here, before anything is written.
        self._buffers(1, len(streams))

    def _buffers(self, count: int, runs: int) -> tuple[np.ndarray, np.ndarray]:
        batch_size, input_size = self._shape
        dtype = np.dtype(str(torch.get_default_dtype()).removeprefix("torch."))
        x = np.empty((count, runs, batch_size, input_size), dtype)
        return x, np.empty((count, runs, batch_size, 1), dtype)

    def next(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the next batch of a single run."""
        x, t = self.draw([0], 1)
        return torch.from_numpy(x[0, 0]), torch.from_numpy(t[0, 0])

    def draw(self, runs: Sequence[int], count: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the next batches of some runs: x `(count, runs, batch, in)` and t."""
        x, t = self._buffers(count, len(runs))
        for joined in join([self.streams[run] for run in runs]):
            joined.draw_into(x, t)
            first, *others = joined.streams
            for stream in others:
                stream.random.state[:] = first.random.state
        return x, t

    def get_state(self, run: int) -> dict[str, Any]:
        """Return where the stream of a run stands, as tensors and plain values."""
        return saved_state(self.streams[run].random)

    def set_state(self, run: int, state: dict[str, Any]) -> None:
        """Go on where a stream stood."""
        put_back(self.streams[run].random, state)


class EvaluationSet:
    """Fixed rows of every run, for validation or test.

    Runs with the same inputs share them in memory.
    """

    def __init__(self, streams: Sequence, *, device: torch.device):
        xs: dict[object, torch.Tensor] = {}
        ts: dict[object, torch.Tensor] = {}
        keys = [(stream.inputs_key(), stream.targets_key()) for stream in streams]
        for stream, (x_key, t_key) in zip(streams, keys, strict=True):
            if x_key not in xs or t_key not in ts:
                x, t = stream[0:EVALUATION_ROWS]
                xs.setdefault(x_key, x)
                ts.setdefault(t_key, t)
        self._x, self._t = (torch.stack([*sets.values()]).to(device) for sets in (xs, ts))
        self._x_of_run, self._t_of_run = (
            np.array([[*sets].index(key) for key in own])
            for sets, own in zip((xs, ts), zip(*keys, strict=True), strict=True)
        )

    def squares(self, model: ExtendedTorchModule) -> torch.Tensor:
        """Return the squared error of every row of a single run: `(rows, 1)`."""
        return (model(self._x[0]) - self._t[0]) ** 2

    def errors(self, engine: EngineStack, *, roots: bool) -> torch.Tensor:
        """Return the mean squared error of each run and, if `roots`, the mean absolute one."""
        arrays = (self._x.numpy(), self._t.numpy())
        return engine.errors(*arrays, self._x_of_run, self._t_of_run, roots=roots)

    def inputs(self, rows: int) -> torch.Tensor:
        """Return the first inputs of every run: `(runs, rows, in)`."""
        return self._x[:, :rows][self._x_of_run]

    def rows_of_runs(self) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """Return inputs `(rows, in)` and targets `(rows, 1)` of every run."""
        places = zip(self._x_of_run.tolist(), self._t_of_run.tolist(), strict=True)
        return [(self._x[x], self._t[t]) for x, t in places]


@dataclass(frozen=True)
class Data:
    """Training feed, evaluation sets (validation, test; or none) and the data sets of all runs."""

    datasets: list[SimpleFunctionStaticDataset]
    feed: Feed
    evaluation: list[EvaluationSet]


def build_dataset(config: Config) -> SimpleFunctionStaticDataset:
    """Return the data set that a configuration describes."""
    return SimpleFunctionStaticDataset(
        config.operation,
        config.input_size,
        dist_params=getattr(config, "sample_distribution", ("uniform",)),
        subset_ratio=config.subset_ratio,
        overlap_ratio=config.overlap_ratio,
        num_subsets=config.num_subsets,
        simple=config.simple,
        seed=config.seed,
    )


class FixedSet(Protocol):
    """Rows or sequences that errors of all runs are measured on."""

    def squares(self, model: ExtendedTorchModule) -> torch.Tensor:
        """Return the squared errors `(*runs, rows, 1)`."""
        ...


def mean_of_rows(squares: torch.Tensor) -> torch.Tensor:
    """Return the mean squared error of each run, from the squares of its rows."""
    return squares.mean((-2, -1))


def evaluate(
    model: ExtendedTorchModule,
    sets: Sequence[FixedSet],
    *,
    eval_mode: bool,
    measure: Callable[[torch.Tensor], torch.Tensor] = mean_of_rows,
) -> list[torch.Tensor]:
    """Return the errors of all sets, without gradients, sampling or traces.

    The model is in training mode afterwards.

    measure: makes errors of the squares of all rows, `(*runs, rows, 1)`.
    """
    traces = [(module, module.trace) for module in model.extended_modules()]
    for module, _ in traces:
        module.trace = None
    if eval_mode:
        model.eval()
    with torch.no_grad(), model.no_random():
        errors = [measure(s.squares(model)) for s in sets]
    model.train()
    for module, trace in traces:
        module.trace = trace
    return errors
