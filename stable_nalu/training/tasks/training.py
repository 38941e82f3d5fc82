"""The one loop of experiments with data of their own: a task says what is trained and measured."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, cast

import numpy as np
import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.functional import mse
from stable_nalu.options import Config
from stable_nalu.tags import METRIC_TEST, METRIC_VALID, RESULT_TEST, RESULT_VALID

from ..checkpoint import LOGGED
from ..console import LogPoint
from ..loss import SummedPenalties
from ..recorder import scalar
from ..stack import Kind, Setup, StackTraining, Unit, numbers, seeded_models
from ..step import Observed, StepResult, TrainingStep

Batch = tuple[Any, Any]
"""Inputs and targets: whatever the network and the loss of a task take."""

ITERATIONS = Unit("iteration", "--max-iterations", "it")
EPOCHS = Unit("epoch", "--max-epochs", "epoch")


class Task:
    """What an experiment trains on and measures, for all runs of a stack.

    Tensors lead with a dimension of runs if the runs are stacked; `joined` makes such a tensor of
    those of single runs. A subclass overrides, as needed:

    `network`       the model of one run
    `rows`          the one batch of a task that trains on all its rows in every update
    `batches`       the batches of a unit, one update each
    `loss`          what an update makes smaller
    `losses`        the loss by further tags, and what an update has made of the model
    `measures`      numbers at a log point, by their tags
    `texts`         texts at a log point, by their tags, one for each run
    `get_state`     plain values without which a run does not resume, and `set_state`
    `introduction`  what the console says of the data
    """

    unit = 0
    """The unit that is trained, or measured before it is trained."""

    valid: ClassVar[str | None] = METRIC_VALID
    test: ClassVar[str | None] = METRIC_TEST
    """Tags of the measures that TensorBoard's HParams plugin shows of a finished run."""
    rows: Batch | None = None

    def __init__(self, configs: Sequence[Config], device: torch.device, *, stacked: bool):
        self.configs = configs
        self.config = configs[0]
        self.device = device
        self.stacked = stacked

    @staticmethod
    def network(config: Config, layer_options: dict[str, Any]) -> ExtendedTorchModule:
        """Return the model of one run."""
        raise NotImplementedError

    def batches(self, unit: int) -> Iterator[Batch]:
        """Yield the batches of a unit of training; the rows, where there are such."""
        assert self.rows is not None, "a task has rows or makes batches"
        yield self.rows

    def loss(self, model: ExtendedTorchModule, x: Any, t: Any) -> torch.Tensor:
        """Return what training makes smaller, of shape `runs`; the mean squared error."""
        return mse(model(x), t)

    def losses(self, loss: torch.Tensor, model: ExtendedTorchModule) -> Mapping[str, torch.Tensor]:
        """Return what is logged of a loss besides itself, and of the model after it, by tags."""
        return {}

    def measures(self, model: ExtendedTorchModule) -> Mapping[str, torch.Tensor]:
        """Return numbers of shape `runs` by their tags."""
        raise NotImplementedError

    def texts(
        self, model: ExtendedTorchModule, *, first: bool, last: bool
    ) -> Mapping[str, Sequence[str]]:
        """Return texts of all runs by their tags; `first` and `last` tell log points apart."""
        return {}

    def get_state(self, run: int) -> dict[str, Any]:
        """Return what a resumed run needs besides its model and optimiser."""
        return {}

    def set_state(self, run: int, state: Mapping[str, Any]) -> None:
        """Put the state of a run back."""

    def introduction(self) -> str:
        """Return a line about the data of a single run, or nothing."""
        return ""

    def joined(self, parts: Sequence[torch.Tensor]) -> torch.Tensor:
        """Return one tensor of those of all runs, in the numbers that models compute in."""
        joined = torch.stack(list(parts)) if self.stacked else parts[0]
        return joined.to(self.device, torch.get_default_dtype())


class TaskStep(TrainingStep):
    """A step whose loss is that of a task."""

    task: Task

    def loss(self, x: Any, t: Any, criterion, weights):
        error = self.task.loss(self.model, x, t)
        penalty = self.penalties.total(weights)
        return error, penalty, error if penalty is None else error + penalty


class TaskTraining(StackTraining):
    """Trains units 0 to the last one; each log point measures what the units before have made.

    The last unit is a log point, whatever the interval is. Logged losses are means over the
    updates of the unit.
    """

    step: TaskStep

    def __init__(self, setup: Setup, task: type[Task], unit: Unit):
        self.task = task(setup.configs, setup.device, stacked=setup.stacked)
        model, random = seeded_models(setup, task.network)
        step = TaskStep(setup.configs, model, stacked=setup.stacked, penalties=SummedPenalties)
        step.task = self.task
        super().__init__(setup, model, step, random)
        self.clock_name = unit.name
        self.length = unit.last(self.config) + 1
        self._errors: dict[str, np.ndarray] = {}

    def introduce(self) -> None:
        if introduction := self.task.introduction():
            self.view.line(f"  - {introduction}")
        self.view.line(f"{self.model}\n\n{self.setup.names[0]}\n")

    def train(self) -> Generator[int, None, None]:
        while self.at < self.length and not self.all_diverged:
            yield self.at
            self._train_unit(self.at)
            self.at += 1
            self.view.advance(1)

    def _train_unit(self, unit: int) -> None:
        self.clock = self.task.unit = unit
        logged = unit % self.config.log_interval == 0 or unit == self.length - 1
        if logged:
            self.freeze_diverged()
            if unit % self.config.log_interval:
                self.recorder.begin_end()
            # What is measured depends on the unit before, which a resumed run has not prepared.
            self.step.set_clock(max(unit - 1, 0))
            self._measure(unit)
        schedule = self.step.prepare(unit)
        results: list[StepResult] = []
        for x, t in self.task.batches(unit):
            if logged and not results:
                verbose = self.config.verbose
                observed = Observed(verbose, verbose, verbose, verbose)
                result = self.step.run_logged(
                    x, t, schedule, self.recorder, observed, lambda result: ()
                )
            else:
                result = self.step.run_prepared(schedule, x, t)
            self.last_total = result.total.detach()
            if logged:
                results.append(result)
        if logged:
            self._log_losses(unit, results)

    def _log_losses(self, unit: int, results: Sequence[StepResult]) -> None:
        of_tags = zip(*(result.losses() for result in results), strict=True)
        means = [
            scalar(same[0].tag, torch.stack([each.value.detach() for each in same]).mean(0))
            for same in of_tags
        ]
        self.recorder.write(means)
        with torch.no_grad(), self.model.no_random():
            further = self.task.losses(means[0].value, self.model)
        self.recorder.write(scalar(tag, value) for tag, value in further.items())
        self.recorder.commit(unit)
        self.recorder.flush_now_and_then()
        criterion = numbers(means[0].value)
        self.view.log_point(LogPoint(unit, criterion, f"train {unit}: {criterion[0]}"))

    @torch.no_grad()
    def _measure(self, unit: int) -> None:
        with self.model.no_random():
            measures = self.task.measures(self.model)
            texts = self.task.texts(self.model, first=unit == 0, last=unit == self.length - 1)
        self.recorder.write(scalar(tag, value) for tag, value in measures.items())
        for tag, of_runs in texts.items():
            for run, text in enumerate(of_runs):
                if self.recorder.live[run]:
                    self.recorder.text(run, tag, text, rooted=False)
        names = {RESULT_VALID: self.task.valid, RESULT_TEST: self.task.test}
        found = {result: tag for result, tag in names.items() if tag in measures}
        self._errors = {
            result: numbers(measures[cast("str", tag)]) for result, tag in found.items()
        }

    def finish(self) -> bool:
        self.freeze_diverged()
        return bool(self.diverged_at)

    def final_errors(self) -> Mapping[str, np.ndarray]:
        return self._errors

    def report(self) -> None:
        if not self.stacked:
            self.view.line("finished:")
            for tag, error in self._errors.items():
                self.view.line(f"  - {tag}: {error[0]}")

    def progress(self, run: int) -> dict[str, Any]:
        return {"task": self.task.get_state(run)}

    def set_progress(self, run: int, progress: Mapping[str, Any]) -> None:
        self.task.set_state(run, progress["task"])


def kind(task: type[Task], unit: Unit = ITERATIONS, *, cost: int = 1) -> Kind:
    """Return how the runs of a task train; see `Kind` for `cost`."""
    build = partial(TaskTraining, task=task, unit=unit)
    return Kind(build, unit, {"task": dict, **LOGGED}, cost=cost)
