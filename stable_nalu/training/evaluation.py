"""Errors on the fixed rows of every run: those of models, and of untrained networks beside them."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.base.tags import (
    ABSOLUTE_SUFFIX,
    METRIC_TEST,
    METRIC_VALID,
    RANDOM_TEST,
    RANDOM_VALID,
    ROOT_SUFFIX,
)

if TYPE_CHECKING:
    from .engine_stack import EngineStack

EVALUATION_ROWS = 10_000
SEED = 1
"""Seed of untrained networks."""

RunSamples = Sequence[tuple[torch.Tensor, torch.Tensor]]
"""Inputs and targets of every run; runs may share tensors."""


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

    def errors(self, engine: "EngineStack", *, roots: bool) -> torch.Tensor:
        """Return the mean squared error of each run and, if `roots`, the mean absolute one."""
        arrays = (self._x.numpy(), self._t.numpy())
        return engine.errors(*arrays, self._x_of_run, self._t_of_run, roots=roots)

    def inputs(self, rows: int) -> torch.Tensor:
        """Return the first inputs of every run, again where there are fewer: `(runs, rows, in)`."""
        places = torch.arange(rows) % self._x.shape[1]
        return self._x[:, places][self._x_of_run]

    def rows_of_runs(self) -> RunSamples:
        """Return inputs `(rows, in)` and targets `(rows, 1)` of every run."""
        places = zip(self._x_of_run.tolist(), self._t_of_run.tolist(), strict=True)
        return [(self._x[x], self._t[t]) for x, t in places]


def evaluate(
    model: ExtendedTorchModule,
    sets: Sequence[EvaluationSet],
    *,
    eval_mode: bool,
    measure: Callable[[torch.Tensor], torch.Tensor] | None = None,
) -> list[torch.Tensor]:
    """Return the errors of a single run on all sets, without gradients and sampling.

    The model is in training mode afterwards.

    measure: makes errors of the squares of all rows; by default their mean.
    """
    measure = measure or (lambda squares: squares.mean((-2, -1)))
    if eval_mode:
        model.eval()
    with torch.no_grad(), model.no_random():
        errors = [measure(s.squares(model)) for s in sets]
    model.train()
    return errors


class RandomModels:
    """Mean errors of untrained networks, and the absolute ones of the model beside them.

    build: makes an untrained network, initialised by torch. sets: validation and test.
    """

    def __init__(
        self, build: Callable[[], torch.nn.Module], count: int, sets: Sequence[RunSamples]
    ):
        device = sets[0][0][0].device
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(SEED)
            models = [build().to(device) for _ in range(count)]
        self._means = [
            torch.stack([_errors(model, rows) for model in models]).mean(0) for rows in sets
        ]

    @staticmethod
    def measure(squares: torch.Tensor) -> torch.Tensor:
        """Return mean squared and mean absolute error, `(2, *runs)`, of the squares of all rows."""
        return torch.stack([squares.mean((-2, -1)), squares.sqrt().mean((-2, -1))])

    def logged(
        self, errors: Sequence[torch.Tensor], run: int | None = None
    ) -> Iterator[tuple[str, torch.Tensor]]:
        """Yield, by tags, the `measure` of the model on both sets, squared ones first.

        Of the untrained networks that is also the mean of the roots of their squared errors.

        run: whose errors these are; None: all runs'.
        """
        for suffix, of_sets in zip(("", ABSOLUTE_SUFFIX), zip(*errors, strict=True), strict=True):
            for tag, error in zip((METRIC_VALID, METRIC_TEST), of_sets, strict=True):
                yield tag + suffix, error
        suffixes = "", ROOT_SUFFIX, ABSOLUTE_SUFFIX
        for tag, means in zip((RANDOM_VALID, RANDOM_TEST), self._means, strict=True):
            for suffix, error in zip(suffixes, means, strict=True):
                own = error if run is None else error[run]
                yield tag + suffix, own.reshape(errors[0].shape[1:])


@torch.no_grad()
def _errors(model: torch.nn.Module, rows: RunSamples) -> torch.Tensor:
    """Return mean squared error, its root and mean absolute error of one network: `(3, runs)`."""
    outputs: dict[int, torch.Tensor] = {}
    means: dict[tuple[int, int], torch.Tensor] = {}
    for x, t in rows:
        if (x.data_ptr(), t.data_ptr()) in means:
            continue
        if x.data_ptr() not in outputs:
            outputs[x.data_ptr()] = model(x)
        square, absolute = RandomModels.measure((outputs[x.data_ptr()] - t) ** 2)
        means[x.data_ptr(), t.data_ptr()] = torch.stack([square, square.sqrt(), absolute])
    return torch.stack([means[x.data_ptr(), t.data_ptr()] for x, t in rows], dim=-1)
