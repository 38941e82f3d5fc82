"""The loop behind every arithmetic script, for one run or many stacked ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np
import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.tags import (
    DIVERGED,
    L1_BETA,
    L1_LOSS,
    LOSS_CRITERION,
    LOSS_REGULARIZER,
    LOSS_TOTAL,
    METRIC_TEST,
    METRIC_VALID,
    REINIT,
)

from ..compiled.errors import CompiledErrors
from ..compiled.step import CompiledStep
from ..logging.recorder import (
    Recorder,
    TaggedValue,
    observe_gradients,
    observe_modules,
    observe_regualizers,
    scalar,
    start_trace,
    stop_trace,
)
from ..step.step import StepResult, TrainingStep
from .curriculum import CurriculumFeed
from .data import Data
from .evaluation import evaluate
from .feed import Feed
from .reinit import RestartRule
from .task import Task

SUCCESS_THRESHOLD = 1e-7


@dataclass
class Errors:
    """Last validation and test error of each run; infinite before the first evaluation."""

    interpolation: np.ndarray
    extrapolation: np.ndarray


@dataclass
class LogPoint:
    """What the console gets to see of a log point; arrays hold one number a run."""

    iteration: int
    criterion: np.ndarray
    penalty: np.ndarray
    total: np.ndarray
    errors: Errors


@dataclass
class Outcome:
    """How training ended; arrays hold one number a run."""

    total: np.ndarray
    criterion: np.ndarray
    errors: Errors
    diverged_at: dict[int, int] = field(default_factory=dict)

    @property
    def succeeded(self) -> np.ndarray:
        """Whether each run's test error is at most 1e-7."""
        return self.errors.extrapolation <= SUCCESS_THRESHOLD


class Trainer:
    """Trains iterations `start` to `--max-iterations`, inclusive.

    `on_log(point)` runs at log points before the update; `on_progress(iterations)` after each
    stretch of iterations; `reset_run(run)` initialises one run again.
    """

    def __init__(
        self,
        task: Task,
        configs: Sequence[SimpleNamespace],
        model: ExtendedTorchModule,
        step: TrainingStep,
        data: Data,
        recorder: Recorder,
        *,
        stacked: bool,
        compiled: CompiledStep | None = None,
        compiled_errors: CompiledErrors | None = None,
        reset_run: Callable[[int], None],
        on_log: Callable[[LogPoint], None],
        on_message: Callable[[str], None],
    ):
        self.task = task
        self.config = configs[0]
        self.runs = len(configs)
        self.model = model
        self.step = step
        self.data = data
        self.recorder = recorder
        self.stacked = stacked
        self.compiled = compiled
        self._compiled_errors = compiled_errors
        if compiled is not None and isinstance(data.feed, Feed):
            data.feed.batch_last = True
        self.log_interval = getattr(self.config, "log_interval", 1000)
        self.verbose = self.config.verbose
        infinite = np.full(self.runs, np.inf)
        self.errors = Errors(infinite, infinite.copy())
        self.diverged_at: dict[int, int] = {}
        self.restarts = self._build_restarts()
        self._reset_run = reset_run
        self._on_log = on_log
        self._on_message = on_message
        self._last: StepResult | None = None
        self._iteration = 0

    def _build_restarts(self) -> RestartRule | None:
        if not getattr(self.config, "reinit", False):
            return None
        return RestartRule(
            self.runs,
            self.config.reinit_epoch_interval,
            self.config.reinit_max_stored_losses,
            self.config.reinit_loss_thr,
        )

    def iterate(self, iteration: int) -> None:
        """Train one iteration of all runs, logging where due."""
        self._iteration = iteration
        if iteration % self.log_interval == 0:
            self._log_point(iteration)
        else:
            self._plain(iteration)
        if self.restarts is not None:
            self._restart(self.restarts, iteration)
        if isinstance(self.data.feed, CurriculumFeed) and self._last is not None:
            for run in self.data.feed.advance(self._numbers(self._last.total)):
                self._on_message(self._named(run, f"cl update to ds {self.data.feed.current[run]}"))

    @property
    def all_diverged(self) -> bool:
        """Whether no run is left to train."""
        return len(self.diverged_at) == self.runs

    def outcome(self) -> Outcome:
        """Evaluate once more, after the last update; `errors` stays that of the last log point."""
        last = self._last
        self._freeze_diverged(self._iteration)
        if last is not None:
            infinite = ~np.isfinite(self._numbers(last.total))
            self._freeze(infinite, self._iteration, "the loss is infinite")
        errors = self._as_errors(self._evaluate())
        nothing = np.full(self.runs, np.nan)
        return Outcome(
            nothing if last is None else self._numbers(last.total),
            nothing if last is None else self._numbers(last.criterion),
            errors,
            dict(self.diverged_at),
        )

    def get_state(self) -> list[dict]:
        """What a resumed trainer needs besides model and optimiser: plain values of each run."""
        if self.compiled is not None:
            self.compiled.pause()
        states = []
        for run, writer in enumerate(self.recorder.writers):
            # A checkpoint that outlives a power failure needs the log that it refers to.
            writer.events.sync()
            state = {
                "interpolation": float(self.errors.interpolation[run]),
                "extrapolation": float(self.errors.extrapolation[run]),
                "event_file": writer.events.path.name,
                "event_position": writer.events.position,
                "diverged_at": self.diverged_at.get(run),
            }
            if self.restarts is not None:
                state["restarts"] = self.restarts.get_state(run)
            if isinstance(self.data.feed, CurriculumFeed):
                state["curriculum"] = self.data.feed.get_state(run)
            states.append(state)
        return states

    def set_state(self, states: Sequence[dict]) -> None:
        """Put the states of all runs back."""
        for run, state in enumerate(states):
            self.errors.interpolation[run] = state["interpolation"]
            self.errors.extrapolation[run] = state["extrapolation"]
            if state["diverged_at"] is not None:
                self.diverged_at[run] = state["diverged_at"]
                self.recorder.live[run] = False
            if self.restarts is not None and "restarts" in state:
                self.restarts.set_state(run, state["restarts"])
            if isinstance(self.data.feed, CurriculumFeed) and "curriculum" in state:
                self.data.feed.set_state(run, state["curriculum"])

    def _plain(self, iteration: int) -> None:
        self._activate_inalu(iteration)
        step = self.compiled or self.step
        l1 = self._observed_l1()
        self._last = step.run(iteration, *self.data.feed.next())
        if self.verbose:
            self._write_losses(iteration, self._last, l1)
            self.recorder.commit(iteration)
        if self.task.console_interval and iteration % self.task.console_interval == 0:
            self._on_log(self._log_values(iteration, self._last))

    def _activate_inalu(self, iteration: int) -> None:
        if self.task.penalizes_inalu:
            self.step.penalties.activate_inalu(iteration, self.errors.interpolation)

    def _log_point(self, iteration: int) -> None:
        if self.compiled is not None:
            self.compiled.pause()
        self.step.set_clock(iteration)
        self._freeze_diverged(iteration)
        errors = self._evaluate()
        self.errors = self._as_errors(errors)
        if errors:
            self.recorder.write(map(scalar, (METRIC_VALID, METRIC_TEST), errors))
        self._activate_inalu(iteration)
        start_trace(self.model)
        x, t = self.data.feed.next()
        x = x.contiguous()
        criterion, penalty, total = self.step.loss(x, t, *self.step.prepare(iteration))
        self.recorder.write(observe_modules(self.model, verbose=self.verbose))
        if self.verbose:
            zeros = torch.zeros_like(total.detach())
            self.recorder.write(observe_regualizers(self.model, zeros))
        stop_trace(self.model)
        gradients = self.step.gradients(total)
        result = self._last = StepResult(criterion, penalty, total, gradients)
        self._write_losses(iteration, result, self._observed_l1())
        self._on_log(self._log_values(iteration, result))
        self.step.update(gradients, criterion)
        if self.verbose:
            by_parameter = dict(zip(map(id, self.step.parameters), gradients, strict=False))
            observed = observe_gradients(self.model, by_parameter, self.step.run_dims)
            self.recorder.write(observed)
        self.recorder.commit(iteration)
        self.recorder.flush_now_and_then()

    def _log_values(self, iteration: int, result: StepResult) -> LogPoint:
        total, criterion = self._numbers(result.total), self._numbers(result.criterion)
        penalty = np.zeros(self.runs) if result.penalty is None else self._numbers(result.penalty)
        return LogPoint(iteration, criterion, penalty, total, self.errors)

    def _observed_l1(self) -> list[TaggedValue]:
        """The norm of all parameters, to be taken before the update."""
        if not (self.verbose and self.step.penalties.uses_l1):
            return []
        return [scalar(L1_LOSS, self.step.penalties.l1().detach().clone())]

    def _write_losses(self, iteration: int, result: StepResult, l1: Sequence[TaggedValue]) -> None:
        criterion = result.criterion.detach()
        penalty = torch.zeros_like(criterion) if result.penalty is None else result.penalty
        tagged = [*l1]
        penalties = self.step.penalties
        at_log_point = iteration % self.log_interval == 0
        if penalties.betas and at_log_point and not self._hides_beta():
            betas = torch.from_numpy(penalties.beta_values())
            tagged.append(scalar(L1_BETA, betas if self.stacked else betas[0]))
        tagged += [
            scalar(LOSS_CRITERION, criterion),
            scalar(LOSS_REGULARIZER, penalty),
            scalar(LOSS_TOTAL, result.total),
        ]
        self.recorder.write(tagged)

    def _hides_beta(self) -> bool:
        return self.task.beta_tag_verbose_only and not self.verbose

    def _evaluate(self) -> list[torch.Tensor]:
        if not self.data.evaluation:
            return []
        return evaluate(
            self.model,
            self.data.evaluation,
            eval_mode=self.task.evaluates_in_eval_mode,
            compiled=self._compiled_errors,
        )

    def _as_errors(self, errors: Sequence[torch.Tensor]) -> Errors:
        return Errors(*(self._numbers(e).copy() for e in errors)) if errors else self.errors

    def _freeze_diverged(self, iteration: int) -> None:
        """Runs with a weight or a loss that is not a number are reported and no longer logged."""
        broken = torch.zeros(self.runs, dtype=torch.bool)
        for parameter in self.model.parameters():
            broken |= parameter.detach().isnan().reshape(self.runs, -1).any(-1).cpu()
        self._freeze(broken.numpy(), iteration, "a weight is not a number")
        if self._last is not None:
            undefined = np.isnan(self._numbers(self._last.total))
            self._freeze(undefined, iteration, "the loss is not a number")

    def _freeze(self, broken: np.ndarray, iteration: int, reason: str) -> None:
        for run in broken.nonzero()[0].tolist():
            if run not in self.diverged_at:
                self.diverged_at[run] = iteration
                message = f"diverged: {reason} at iteration {iteration}"
                self.recorder.text(run, DIVERGED, message)
                self.recorder.writers[run].commit(iteration)
                self.recorder.live[run] = False
                self._on_message(self._named(run, message))

    def _restart(self, restarts: RestartRule, iteration: int) -> None:
        restarts.record(self.errors.interpolation)
        due = restarts.due(iteration)
        if due and self.compiled is not None:
            self.compiled.pause()
        for run in due:
            count = restarts.counts[run] - 1
            self._on_message(self._named(run, f"reinit number {count}"))
            self.recorder.text(run, REINIT, f"{count}", rooted=False)
            self.recorder.writers[run].commit(iteration)
            self._reset_run(run)

    def _named(self, run: int, message: str) -> str:
        return f"run {run}: {message}" if self.stacked else message

    def _numbers(self, value: torch.Tensor) -> np.ndarray:
        return value.detach().cpu().reshape(-1).to(torch.float64).numpy()
