"""The one loop of all experiments but the arithmetic ones: a task says what is trained."""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from itertools import count
from typing import Any

import numpy as np
import torch

from stable_nalu.options import Config, ScriptSpec
from stable_nalu.tags import RESULT_TEST, RESULT_VALID

from .checkpoint import LOGGED
from .console import Console, LogPoint
from .loss import Penalties, SummedPenalties
from .optimizer import Gradients
from .random_state import put_back, saved_state, seed_generators
from .recorder import StepResult, TaggedValue, scalar
from .stack import Setup, StackTraining, Trainer, numbers
from .step import TrainingStep
from .task import Batch, Task

PROGRESS = {
    "task": dict,
    "random": list,
    "errors": dict,
    "updates": int,
    "batch": (int, type(None)),
    "order": (torch.Tensor, type(None)),
    **LOGGED,
}
"""What is kept of the progress of a run."""

Item = tuple[str, torch.Tensor | str]


class TaskStep(TrainingStep):
    """A step that asks a task for its loss, and what is done with gradients."""

    def __init__(self, task: Task, model):
        kind = SummedPenalties if task.penalties_are_summed else Penalties
        super().__init__([task.config], model, stacked=False, penalties=kind)
        self.task = task

    def loss(self, x: Any, t: Any, criterion, weights):
        error = self.task.loss(self.model, x, t, criterion)
        penalty = self.penalties.total(weights)
        return error, penalty, error if penalty is None else error + penalty

    def clipped(self, gradients: Gradients) -> Gradients:
        return self.task.clipped(gradients, self.parameters, super().clipped)

    def observe(self, verbose: bool) -> list[TaggedValue]:
        return self.task.observe(self.model, verbose)

    def observe_gradients(self, gradients: Sequence[torch.Tensor | None]) -> list[TaggedValue]:
        by_parameter = dict(zip(map(id, self.parameters), gradients, strict=False))
        return self.task.observe_gradients(self.model, by_parameter)


class TaskTraining(StackTraining):
    """One run, from its first unit or where a saved state was taken, to the last one."""

    def __init__(self, setup: Setup, task: type[Task]):
        config = setup.configs[0]
        torch.backends.cudnn.deterministic = True
        self.task = task(config, setup.device)
        seed_generators(config.seed)
        model = self.task.network(setup.layer_options[0])
        if task.draws_twice:
            model.reset_parameters()
        model.to(setup.device)
        super().__init__(setup, model, TaskStep(self.task, model))
        self.last = task.unit.last(config)
        self.length = (self.task.updates or 1) * (self.last + 1)
        self.clock_name = "update" if self.task.updates else task.unit.name
        self.updates = 0
        self.errors: dict[str, float] = {}
        self.measured: dict[str, Any] = {}
        self._batch: int | None = None
        """Batches of the unit that are trained; None as long as it has not begun."""

    @property
    def done(self) -> int:
        return self.at if self.task.updates is None else self.updates

    @property
    def loss(self) -> float:
        """Return the total loss of the last update."""
        return math.nan if self.last_total is None else self.last_total.item()

    def introduce(self) -> None:
        if introduction := self.task.introduction():
            self.view.line(f"  - {introduction}")
        if self.task.shows_model:
            self.view.line(f"{self.model}\n\n{self.setup.names[0]}\n")

    def train(self) -> Generator[int | None, None, None]:
        while self.at <= self.last and not self.all_diverged:
            yield self.at if self._batch is None else None
            yield from self._train_unit()
        self.at, self._batch = self.last + 1, None

    def _is_log_point(self) -> bool:
        is_last = self.at == self.last and not self.task.logs_updates
        return self.at % self.task.log_interval == 0 or is_last

    def _train_unit(self) -> Iterator[None]:
        task, logged = self.task, self._is_log_point()
        task.at = self.at
        if self._batch is None:
            task.begin()
            self._batch = 0
        first, results = self._batch, list[StepResult]()
        batches = task.batches(first)
        for number in count(first):
            if task.updates is not None and number == task.updates:
                break
            if task.updates is not None and number > first:
                yield None
            due = logged and number == 0
            undo = self.snapshot() if due and task.updates is not None else None
            batch = next(batches, None)
            if batch is None:
                break
            self.clock = task.clock(self.updates)
            self._write(task.beside().items())
            if due:
                self.freeze_diverged()
                if self.all_diverged:
                    return
                try:
                    yield from self._log_measures()
                except GeneratorExit:
                    if undo is not None:
                        undo()
                    raise
            result = self._update(batch, at_log_point=due)
            if logged and not task.logs_updates:
                results.append(result)
            self.updates, self._batch = self.updates + 1, number + 1
            if task.updates is not None:
                self.view.advance(1)
        task.end()
        if results:
            self._log_means(results)
        self.at, self._batch = self.at + 1, None
        if task.updates is None:
            self.view.advance(1)

    def _log_measures(self) -> Iterator[None]:
        if self.at % self.task.log_interval:
            self.recorder.begin_end()
        at = self.task.schedule(self.clock)
        # What is measured depends on the update before, which a resumed run has not prepared.
        self.step.set_clock(at if self.task.measures_ahead else max(at - 1, 0))
        yield from self._measure()
        self._write(self.measured.items())
        if self.task.measures_apart:
            self.recorder.commit(self.clock)

    @torch.no_grad()
    def _measure(self) -> Generator[None, None, None]:
        """Measure the model as it is; yield wherever this may be left for good."""
        measured: dict[str, Any] = {}
        for item in self.task.evaluate(self.model):
            if item is None:
                yield None
            else:
                measured[item[0]] = item[1]
        self.measured = measured
        tags = {RESULT_VALID: self.task.valid, RESULT_TEST: self.task.test}
        self.errors |= {
            result: float(numbers(measured[tag])[0])
            for result, tag in tags.items()
            if tag in measured
        }

    def _write(self, items: Any) -> None:
        """Log numbers and texts of this step."""
        for tag, value in items:
            if isinstance(value, str):
                if self.recorder.live[0]:
                    self.recorder.text(0, tag, value, rooted=False)
            else:
                self.recorder.write([scalar(tag, value)])

    def _update(self, batch: Batch, *, at_log_point: bool) -> StepResult:
        task, (x, t) = self.task, batch
        schedule = self.step.prepare(task.schedule(self.clock))
        if task.rate is not None:
            self.step.optimizer.learning_rate = task.rate
        observed = task.observed(self.clock, at_log_point=at_log_point)
        if observed is None:
            result = self.step.run_prepared(schedule, x, t)
        else:
            result = self.step.run_logged(
                x,
                t,
                schedule,
                self.recorder,
                observed,
                partial(task.told, x=x, t=t, at_log_point=at_log_point),
            )
        self.last_total = result.total.detach()
        if observed is not None and task.logs_updates:
            self.recorder.commit(self.clock)
            if at_log_point:
                self._show(result.criterion)
        return result

    def _log_means(self, results: Sequence[StepResult]) -> None:
        of_tags = zip(*(result.losses() for result in results), strict=True)
        means = [
            scalar(same[0].tag, torch.stack([each.value.detach() for each in same]).mean(0))
            for same in of_tags
        ]
        self.recorder.write(means)
        with torch.no_grad(), self.model.no_random():
            further = self.task.losses(means[0].value, self.model)
        self._write(further.items())
        self.recorder.commit(self.clock)
        self._show(means[0].value)

    def _show(self, criterion: torch.Tensor) -> None:
        """Let the console see a log point, which is complete."""
        self.recorder.flush_now_and_then()
        values = numbers(criterion)
        summary = self.task.summary(self.errors, self.measured, float(values[0]))
        self.view.log_point(LogPoint(self.at, values, f"train {self.at}: {summary}"))

    def finish(self) -> bool:
        task = self.task
        undo = self.snapshot()
        task.ended = True
        due = task.logs_updates and task.row_is_due(self.last)
        if task.measures_trained or (due and not self.all_diverged):
            for _ in self._measure():
                pass
        errors = self.errors
        # A longer run that resumes from here has drawn nothing for this.
        undo()
        self.errors = errors
        self.clock = task.end_clock(self.clock)
        if task.tells_divergence:
            self.freeze_diverged()
        if due:
            self.recorder.begin_end()
            self._write(self.measured.items())
            self.recorder.commit(self.clock)
        self.results = task.results(self.errors, self.measured, self.loss)
        task.finished(self.results)
        finite = all(math.isfinite(self.results[name]) for name in task.finite)
        return bool(self.diverged_at) or not finite

    def final_errors(self) -> Mapping[str, np.ndarray]:
        return {tag: np.array([error]) for tag, error in self.errors.items()}

    def report(self) -> None:
        if isinstance(self.view, Console):
            self.view.line("finished:")
            for name, value in self.results.items():
                self.view.line(f"  - {name}: {value}")
            for text in self.task.report(self.model):
                self.view.line(text)

    def progress(self, run: int) -> dict[str, Any]:
        progress = {
            "task": self.task.get_state(),
            "random": [saved_state(one) for one in self.task.generators()],
            "errors": dict(self.errors),
            "updates": self.updates,
            "batch": self._batch,
            "order": self.task.order,
        }
        if self.device.type == "cuda":
            progress["cuda"] = torch.cuda.get_rng_state(self.device)
        return progress

    def set_progress(self, run: int, progress: Mapping[str, Any]) -> None:
        self.task.set_state(progress["task"])
        for one, state in zip(self.task.generators(), progress["random"], strict=True):
            put_back(one, state)
        self.errors = dict(progress["errors"])
        self.updates, self._batch = progress["updates"], progress["batch"]
        self.task.order = progress["order"]
        if "cuda" in progress and self.device.type == "cuda":
            torch.cuda.set_rng_state(progress["cuda"], self.device)


class TaskTrainer(Trainer):
    """How the runs of a task train: each alone."""

    progress = PROGRESS

    def __init__(self, task: type[Task]):
        self.task = task
        self.unit, self.cost, self.all_cores = task.unit, task.cost, task.all_cores

    def build(self, setup: Setup) -> TaskTraining:
        return TaskTraining(setup, self.task)

    def shown(self, config: Config) -> dict[str, Any]:
        return self.task.shown(config)

    def look(self, spec: ScriptSpec, config: Config) -> int | None:
        if self.task.look is None or config.evaluate is None:
            return None
        return import_module(self.task.look).report(self.task, spec, config)
