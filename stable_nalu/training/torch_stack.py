"""Many runs trained at once by torch, for networks that the engine cannot record.

A stack of models computes with a leading dimension of runs, so that each operation serves all runs.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any

import torch

from .recorder import LogRecord, StepLosses
from .step import TrainingStep
from .task import EngineTask

SECONDS_OF_A_CHUNK = 0.2
"""Iterations of one call: signals are heeded in between."""


class TorchStack:
    """What `EngineStack` is to a training, by torch; each stack draws its samples alone.

    The loss of the task returns a number for each run.
    """

    def __init__(self, task: EngineTask, step: TrainingStep, build: Callable[..., Any]):
        self.task, self.step, self.build = task, step, build
        self.sampling, self.pace = self, 1
        self.trained: dict[TorchStack, int] = {}
        self._last: StepLosses | None = None

    def join(self, stacks: Sequence["TorchStack"]) -> None:
        """Draw samples alone, also with others."""

    def store(self, *, model_alone: bool = False) -> None:
        """Leave the state of the step, which is always up to date."""

    def forget(self) -> None:
        """Read the state of the step again, as always."""

    def iterate(self, _: Sequence["TorchStack"], first: int, count: int) -> None:
        began = time.perf_counter()
        for at in range(first, first + count):
            self._advance(at)
        took = time.perf_counter() - began
        self.trained = {self: count}
        self.pace = max(1, int(count * SECONDS_OF_A_CHUNK / took))

    def logged(self, iteration: int) -> tuple[StepLosses, list[LogRecord]]:
        self._advance(iteration)
        return self.result("log")

    def result(self, name: str) -> tuple[StepLosses, list[LogRecord]]:
        assert self._last is not None, "an iteration comes first"
        return self._last, []

    def _advance(self, at: int) -> None:
        step, optimizer = self.step, self.step.optimizer
        optimizer.learning_rate = optimizer.base_rate * self.task.rate_factor(at)
        criterion, weights = step.prepare(at)
        x, t = (torch.from_numpy(part[0]) for part in self.task.samples()[1](self.runs, 1))
        weighted = [(key, torch.as_tensor(weight)) for key, weight in weights]
        error, penalty, total = step.loss(x, t, criterion, weighted)
        gradients = step.gradients(total.sum())
        detached = (None if v is None else v.detach() for v in (error, penalty, total))
        self._last = StepLosses(*detached, gradients)
        optimizer.step(gradients)
        step.finish(error)

    @property
    def runs(self) -> range:
        return range(len(self.task.configs))
