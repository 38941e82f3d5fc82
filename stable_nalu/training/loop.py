"""The one training loop: a task says what is trained, for one run or many stacked ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import torch

from stable_nalu.abstract import run_state
from stable_nalu.base.errors import UsageError
from stable_nalu.base.machine import model_file, save_root
from stable_nalu.base.tags import (
    DIVERGED,
    EPOCH,
    L1_BETA,
    L1_LOSS,
    REINIT,
    RESULT_SOLVED,
    RESULT_TEST,
    RESULT_VALID,
    logged_result,
)

from .checkpoint import (
    LOGGED,
    asked_by,
    damage_as_usage_error,
    plain,
    save_best,
    save_together,
)
from .console import End, LogPoint, StackView
from .recorder import Recorder, StepResult, TaggedValue, numbers, scalar
from .runs import LANES, TORCH, ModelStack, Stack, put_back, saved_state
from .surroundings import has_gpu
from .task import Batch, Observed, Task

PROGRESS = {
    "task": dict,
    "random": list,
    "errors": dict,
    "updates": int,
    "batch": (int, type(None)),
    "order": (torch.Tensor, type(None)),
    "engine": str,
    **LOGGED,
}
"""Names and types of what a checkpoint holds of the progress of a run."""


class Training:
    """Runs from their first unit, or where saved states were taken, to their last one.

    `at` is the unit that is trained next, `clock` the step under which values are logged.
    """

    recorder: Recorder
    view: StackView
    ends: tuple[End, ...] = ()
    """How all runs have ended."""
    engine: Any
    """What trains the runs in place of torch, or None."""

    def __init__(self, task: type[Task], stack: Stack):
        self.stack = stack
        self.configs = [run.config for run in stack]
        self.config = self.configs[0]
        self.runs = len(stack)
        self.stacked = stack[0].in_lanes
        self.trainer = LANES if self.stacked else TORCH
        self.device = torch.device("cuda" if has_gpu(self.config) and not task.by_engine else "cpu")
        torch.backends.cudnn.deterministic = True
        self.task = task(self.config, self.device, *self.configs[1:])
        self.models = ModelStack(self.task, stack)
        self.model, self.step = self.models.model, self.models.step
        options = stack[0].layer_options
        self.engine = self.task.lanes(self.step, options) if self.stacked else None
        self.task.engine = self.engine
        self.mates = [self]
        self.last = task.unit.last(self.config)
        batches = self.task.updates or (len(self.task.loader) if self.task.loader else 1)
        self._batches = batches
        self.share = 1 / batches
        """Part of a unit that is one batch."""
        self.clock_name = "update" if self.task.updates else task.unit.name
        self.at = stack[0].start
        self.batch: int | None = None
        """Batches of the unit that are trained; None as long as it has not begun."""
        self._stands_at: int | None = self.at
        """The unit before which training may stop; None within one."""
        self.updates = self.clock = 0
        self.last_total: torch.Tensor | None = None
        self.diverged_at: dict[int, int] = {}
        self.errors: dict[str, np.ndarray] = {}
        """The last errors of all runs, by their tags for TensorBoard's HParams plugin."""
        self.measured: dict[str, Any] = {}
        self.best = [math.inf] * self.runs

    @property
    def all_diverged(self) -> bool:
        """Return whether no run is left to train."""
        return len(self.diverged_at) == self.runs

    @property
    def _logs_short_units(self) -> bool:
        return self.task.logs_updates and self.task.updates is None

    def open(self, recorder: Recorder, view: StackView) -> None:
        """Take over the event files and the console of these runs."""
        self.recorder, self.view = recorder, view
        for run in self.diverged_at:
            recorder.live[run] = False

    def share_samples(self, others: Sequence[Training]) -> None:
        """Draw once what other trainings draw too, which stand at the same unit and take turns."""
        mates = [one for one in (self, *others) if one.engine is not None]
        if len(mates) > 1:
            mates[0].engine.company.join([one.engine for one in mates])
        for one in mates:
            one.mates = mates

    def leave(self) -> None:
        """Let those that share samples with this training, which has ended, go on without it."""
        self.mates.remove(self)

    def train(self) -> Generator[int | None, None, None]:
        """Train, and yield wherever training may stop: `at`, or None within a unit."""
        while self.at <= self.last and not self.all_diverged:
            yield self.at if self.batch is None else None
            ahead = 0
            if self.engine is not None:
                quiet = {one: one._quiet() for one in self.mates}
                pace = min(self.engine.company.pace, *quiet.values())
                if pace and len(self.mates) > 1:
                    self.engine.ask(self.at, pace)
                    yield None
                ahead = min(quiet[self], max(1, pace))
            if ahead:
                self._train_ahead(ahead)
            else:
                yield from self._train_unit()
        self.at, self.batch = max(self.at, self.last + 1), None

    def steps(self) -> Generator[None, None, None]:
        """Train, save now and then, and conclude; yield wherever training may stop."""
        interval, start = self.config.checkpoint_interval, self.at
        for at in self.train():
            self._stands_at = at
            yield
            if interval and at is not None and at % interval == 0 and at != start:
                self.save(at)
        self.diverged = self.finish()
        self.recorder.flush()
        self.save(self.last + 1)
        self.report()

    def stop(self) -> None:
        """Save where a signal has stopped training, unless nothing was trained."""
        self.recorder.flush()
        if self._stands_at != self.stack[0].start:
            self.save(self.at)

    def _quiet(self) -> int:
        """Return how many units there are until something must be looked at."""
        at, interval = self.at, self.task.log_interval
        if self._is_log_point() or self.task.observed(at, at_log_point=False) is not None:
            return 0
        ends = [at - at % n + n for n in (interval, self.config.checkpoint_interval) if n]
        return min(self.last + self.task.logs_updates, *ends, *self.task.changes(at)) - at

    def _train_ahead(self, units: int) -> None:
        """Let the engine train units of which nothing is logged."""
        result = self.engine.iterate(self.at, units)
        self.clock, self.last_total = self.at + units - 1, result.total
        self.updates += units
        if self.task.shows(self.clock, at_log_point=False):
            self._show(self.clock, result)
        self._end_unit(units)

    def _is_log_point(self) -> bool:
        is_last = self.at == self.last and not self.task.logs_updates
        return self.at % self.task.log_interval == 0 or is_last

    def _train_unit(self) -> Iterator[None]:
        task, logged = self.task, self._is_log_point()
        task.at = self.at
        if self.batch is None:
            task.begin()
            self.batch = 0
        first, results = self.batch, list[StepResult]()
        batches = iter([()]) if self.engine is not None else task.batches(first)
        for number in count(first):
            if task.updates is not None and number == task.updates:
                break
            if task.updates is not None and number > first:
                yield None
            due = logged and number == 0
            undo = self._snapshot() if due and task.updates is not None else None
            batch = next(batches, None)
            if batch is None:
                break
            self.clock = task.clock(self.updates)
            if task.updates is not None:
                self.recorder.write([scalar(EPOCH, torch.tensor(self.at))])
            if due:
                self._freeze_diverged()
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
            self.updates, self.batch = self.updates + 1, number + 1
            if self.engine is None:
                self.view.advance(self.share)
        if results:
            self._log_means(results)
        self._end_unit(1)

    def _end_unit(self, units: int) -> None:
        self._restart(self.task.restarts(self.clock, units, self.errors))
        for run, text in self.task.end(self.last_total):
            self.view.line(self._named(run, text))
        self.at, self.batch = self.at + units, None
        if self.engine is not None:
            self.view.advance(units)

    def _log_measures(self) -> Iterator[None]:
        if self.at % self.task.log_interval:
            self.recorder.begin_end()
        at = self.task.schedule(self.clock)
        # What is measured depends on the update before, which a resumed run has not prepared.
        ahead = self._logs_short_units and not self.task.measures_apart
        self.step.progress = self._part_done(back=0 if ahead else 1)
        self.step.set_clock(at if ahead else max(at - 1, 0))
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
        tags = dict(
            zip((RESULT_VALID, RESULT_TEST), self.task.error_tags(self.config), strict=True)
        )
        self.errors |= {
            result: numbers(measured[tag]).copy() for result, tag in tags.items() if tag in measured
        }
        self.task.adapt(self.step.penalties, self.errors)

    def _write(self, items: Iterable[tuple[str, torch.Tensor | str | Sequence[str]]]) -> None:
        """Log numbers and texts of this step."""
        for tag, value in items:
            if isinstance(value, torch.Tensor):
                self.recorder.write([scalar(tag, value)])
                continue
            for run, text in enumerate([value] if isinstance(value, str) else value):
                if self.recorder.live[run]:
                    self.recorder.text(run, tag, text, rooted=False)

    def _update(self, batch: Batch, *, at_log_point: bool) -> StepResult:
        task = self.task
        observed = task.observed(self.clock, at_log_point=at_log_point)

        def told(result: StepResult) -> list[TaggedValue]:
            if at_log_point and getattr(self.config, "save_best_model", False):
                self._save_best()
            penalties = self._observed_penalties(at_log_point)
            return [*penalties, *task.told(result, batch, at_log_point=at_log_point)]

        if self.engine is not None:
            result = self._update_by_engine(observed or Observed(), told)
        else:
            x, t = batch
            self.step.progress = self._part_done()
            schedule = self.step.prepare(task.schedule(self.clock))
            if task.rate is not None:
                self.step.optimizer.learning_rate = task.rate
            if observed is None:
                result = self.step.run(x, t, schedule)
            else:
                result = self.step.run_logged(x, t, schedule, self.recorder, observed, told)
        self.last_total = result.total.detach()
        if observed is not None and task.logs_updates:
            self.recorder.commit(self.clock)
        if task.logs_updates and task.shows(self.at, at_log_point=at_log_point):
            self._show(self.at, result)
        return result

    def _update_by_engine(
        self, observed: Observed, told: Callable[[StepResult], list[TaggedValue]]
    ) -> StepResult:
        result, of_modules = self.engine.logged(self.at)
        self.recorder.write(t for t in of_modules if observed.modules or t.tag == L1_LOSS)
        self.recorder.write(told(result))
        if observed.gradients:
            self.recorder.write(self.step.observe_gradients(result.gradients))
        return result

    def _observed_penalties(self, at_log_point: bool) -> list[TaggedValue]:
        """Return the norm of all parameters before the update, and the factor that grows."""
        penalties, told = self.step.penalties, list[TaggedValue]()
        if self.engine is None and self.config.verbose and penalties.uses_l1:
            told.append(scalar(L1_LOSS, penalties.l1().detach().clone()))
        if at_log_point and penalties.betas and self.task.logs_beta():
            betas = torch.from_numpy(penalties.beta_values())
            told.append(scalar(L1_BETA, betas if self.stacked else betas[0]))
        return told

    def _save_best(self) -> None:
        """Save the weights of each run that has a lower validation error than ever before."""
        trainable = [name for name, p in self.model.named_parameters() if p.requires_grad]
        for run, error in enumerate(self.errors[RESULT_VALID].tolist()):
            if not error < self.best[run]:
                continue
            self.best[run] = error
            state = run_state(self.model.state_dict(), run if self.stacked else None)
            rows = [f"epoch: {self.at}\n", *(f"{name}\n{state[name]}\n" for name in trainable)]
            save_best(self.stack[run].name, state, "".join(rows) + "\n")

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
        criterion, penalty, total = (mean.value for mean in means)
        self._show(self.at, StepResult(criterion, penalty, total, ()))

    def _show(self, at: int, result: StepResult) -> None:
        """Let the console see a log point, which is complete."""
        self.recorder.flush_now_and_then()
        self.view.log_point(self.task.log_point(at, result, self.errors, self.measured))

    def _restart(self, due: Sequence[tuple[int, int]]) -> None:
        """Initialise runs again; each comes with the number of times it was before."""
        if due:
            self.pause()
        for run, before in due:
            self.view.line(self._named(run, f"reinit number {before}"))
            self.recorder.text(run, REINIT, f"{before}", rooted=False)
            self.recorder.writers[run].commit(self.clock)
            self.models.reset(run)
        if due and self.engine is not None:
            self.engine.forget()

    def finish(self) -> bool:
        """Evaluate after the last update, and log results; return whether a run diverged."""
        task = self.task
        undo = self._snapshot()
        task.ended = True
        due = task.logs_updates and task.row_is_due(self.last)
        if self._logs_short_units or (due and not self.all_diverged):
            for _ in self._measure():
                pass
        errors = {tag: values.copy() for tag, values in self.errors.items()}
        told = self._observed_at_end() if due else []
        # A longer run that resumes from here has drawn nothing for this.
        undo()
        self.clock = task.end_clock(self.clock)
        if task.updates is None:
            self._freeze_diverged()
        if task.tells_infinity and self.last_total is not None:
            self._freeze(~np.isfinite(numbers(self.last_total)), "the loss is infinite")
        self.recorder.begin_end()
        if due:
            self._write(self.measured.items())
            self.recorder.write(told)
            self.recorder.commit(self.clock)
            if task.limits and RESULT_TEST in errors:
                self.view.log_point(LogPoint(self.clock, errors[RESULT_TEST], "", task.limits))
        self._conclude(errors)
        self.ends = tuple(self._end(run, errors) for run in range(self.runs))
        every = [self._results(run, errors) for run in range(self.runs)]
        for config, results in zip(self.configs, every, strict=True):
            task.finished(config, results)
        self.results = every[0]
        finite = all(math.isfinite(results[name]) for results in every for name in task.finite)
        return bool(self.diverged_at) or not finite

    def _results(self, run: int, errors: Mapping[str, np.ndarray]) -> dict[str, float]:
        loss = math.nan if self.last_total is None else float(numbers(self.last_total)[run])
        own = {tag: float(values[run]) for tag, values in errors.items()}
        return self.task.results(own, self.measured, loss)

    def _observed_at_end(self) -> list[TaggedValue]:
        """Return what modules tell, after the last update, of inputs that a task has for it."""
        x = self.task.inputs_at_end()
        if x is None:
            return []
        if self.engine is not None and x:
            return self.engine.observed(x[0].numpy())
        told = self.step.observe_trained([one[0] for one in x], self.config.verbose)
        if self.engine is None:
            return told
        own = {item.tag for item in told}  # less than of inputs
        return [item for item in self.engine.observed(None) if item.tag in own]

    def _conclude(self, errors: Mapping[str, np.ndarray]) -> None:
        """Log the results of all runs at the last step; of diverged ones NaN, where they did."""
        for run, writer in enumerate(self.recorder.writers):
            diverged = run in self.diverged_at
            found = {tag: math.nan if diverged else float(e[run]) for tag, e in errors.items()}
            if RESULT_TEST in found and self.task.limits:
                found[RESULT_SOLVED] = float(self.task.limits[run].met(found[RESULT_TEST]))
            short = self.config.short_names is not None
            told = {logged_result(tag, short=short): value for tag, value in found.items()}
            writer.conclude(self.diverged_at.get(run, self.last), told)

    def _end(self, run: int, errors: Mapping[str, np.ndarray]) -> End:
        if run in self.diverged_at:
            return End(math.nan, False if self.task.limits else None, diverged=True)
        error = float(errors[RESULT_TEST][run]) if RESULT_TEST in errors else math.nan
        return End(error, bool(self.task.limits[run].met(error)) if self.task.limits else None)

    def report(self) -> None:
        """Show on the console how training ended, once everything is saved."""
        if self.view.single:
            show = self.view.line if self.view.alone else self.view.detail
            show("finished:")
            for name, value in self.results.items():
                show(f"  - {name}: {value}")
            if self.config.verbose:
                for text in self.task.report(self.model, self.results):
                    self.view.line(text)
        if self.task.by_engine:
            for run, clock in self.diverged_at.items():
                self.view.line(f"diverged by {self.clock_name} {clock}: {self.stack[run].name}")

    def _freeze_diverged(self) -> None:
        """Report runs with a weight or a loss that is not a number, and end their logs."""
        if self.engine is not None:
            self.engine.store_model()
        self._freeze(self.models.broken(), "a weight is not a number")
        if self.last_total is not None:
            self._freeze(np.isnan(numbers(self.last_total)), "the loss is not a number")

    def _freeze(self, broken: np.ndarray, reason: str) -> None:
        """Report runs that are `broken` for the first time, and end their logs."""
        for run in broken.nonzero()[0].tolist():
            if run not in self.diverged_at:
                self.diverged_at[run] = self.clock
                message = f"diverged: {reason} at {self.clock_name} {self.clock}"
                self.recorder.text(run, DIVERGED, message)
                self.recorder.writers[run].commit(self.clock)
                self.recorder.live[run] = False
                self.view.line(self._named(run, message))

    def _named(self, run: int, message: str) -> str:
        """Return a message that says which run it is about, if there are several."""
        return f"run {run}: {message}" if self.runs > 1 else message

    def _part_done(self, back: int = 0) -> float:
        """Return which part of the training the next update stands at, or one further `back`."""
        done = self.at * self._batches + (self.batch or 0) - back
        last = (self.last + 1) * self._batches - 1
        return min(max(done / max(last, 1), 0.0), 1.0)

    def pause(self) -> None:
        """Bring all state to where the finished updates have left it."""
        if self.engine is not None:
            self.engine.store()

    def checkpoint_path(self, run: int) -> Path:
        """Return where the checkpoint of a run is saved."""
        return model_file(save_root(), self.stack[run].name)

    def save(self, at: int) -> None:
        """Write the checkpoints of all runs, if wanted; `at` is the first unit left to train."""
        if self.config.no_save:
            return
        self.pause()
        save_together(
            (self.checkpoint_path(run), self._checkpoint(run, at)) for run in range(self.runs)
        )

    def _checkpoint(self, run: int, at: int) -> dict[str, Any]:
        writer = self.recorder.writers[run]
        # A checkpoint that outlives a power failure needs the log that it refers to.
        writer.events.sync()
        progress = self._progress(run) | {
            "diverged_at": self.diverged_at.get(run),
            "last_loss": None if self.last_total is None else float(numbers(self.last_total)[run]),
            "event_file": writer.events.path.name,
            "event_position": writer.position,
        }
        config = plain(self.configs[run].as_dict())
        saved = self.models.saved(run)
        return {"epoch": at, **saved, "args": None, "config": config, "progress": progress}

    def _progress(self, run: int) -> dict[str, Any]:
        """Return what a resumed run needs besides model, optimiser, generator and log."""
        progress = {
            "task": self.task.get_state(run),
            "random": [saved_state(one) for one in self.task.generators(run)],
            "errors": {tag: float(values[run]) for tag, values in self.errors.items()},
            "best": self.best[run],
            "updates": self.updates,
            "batch": self.batch,
            "order": self.task.order,
            "engine": self.trainer,
            "reads_progress": self._reads_progress,
        }
        if self.device.type == "cuda":
            progress["cuda"] = torch.cuda.get_rng_state(self.device)
        return progress

    @property
    def _reads_progress(self) -> bool:
        return any("progress" in module.clock_reads for module in self.model.extended_modules())

    def _set_progress(self, run: int, progress: Mapping[str, Any]) -> None:
        """Put the progress of a run back."""
        self.task.set_state(run, progress["task"])
        for one, state in zip(self.task.generators(run), progress["random"], strict=True):
            put_back(one, state)
        for tag, error in progress["errors"].items():
            self.errors.setdefault(tag, np.full(self.runs, np.inf))[run] = error
        self.task.adapt(self.step.penalties, self.errors)
        self.best[run] = progress["best"]
        self.task.order = progress["order"]
        if "cuda" in progress and self.device.type == "cuda":
            torch.cuda.set_rng_state(progress["cuda"], self.device)

    def restore(self, checkpoints: Sequence[dict]) -> None:
        """Go on where the checkpoints of all runs were taken."""
        for run, checkpoint in enumerate(checkpoints):
            with damage_as_usage_error(self.checkpoint_path(run), asked_by(self.config)):
                self._restore_run(run, checkpoint)
        self.set_clock(checkpoints[0])
        losses = [checkpoint["progress"].get("last_loss") for checkpoint in checkpoints]
        if None not in losses:
            # A loss that is not a number ends a run at the next log point.
            found = losses if self.stacked else losses[0]
            self.last_total = torch.tensor(found, dtype=torch.float64)

    def set_clock(self, checkpoint: Mapping[str, Any]) -> None:
        """Let modules stand where the last update before a checkpoint was."""
        progress = checkpoint.get("progress", {})
        self.at = self.task.at = checkpoint["epoch"]
        self.updates, self.batch = progress.get("updates", self.at), progress.get("batch")
        iteration = max(self.task.schedule(self.task.clock(self.updates)) - 1, 0)
        for module in self.model.extended_modules():
            module.stand_at(iteration, self._part_done(back=1))

    def _restore_run(self, run: int, checkpoint: Mapping[str, Any]) -> None:
        flag, progress = asked_by(self.config), checkpoint["progress"]
        if progress["engine"] != self.trainer:
            raise UsageError(
                f"argument {flag}: {self.stack[run].name} was trained by --engine "
                f"{progress['engine']}, and here by {self.trainer}; their last bits differ: "
                "--remove-existing-data starts anew"
            )
        self.models.restore(run, checkpoint, self.checkpoint_path(run), flag)
        if progress["diverged_at"] is not None:
            self.diverged_at[run] = progress["diverged_at"]
        self._set_progress(run, progress)

    def _snapshot(self) -> Callable[[], None]:
        """Return what puts generators, buffers and progress back to where they are now."""
        undo_models = self.models.snapshot()
        progress = [self._progress(run) for run in range(self.runs)]

        def undo() -> None:
            undo_models()
            for run, own in enumerate(progress):
                self._set_progress(run, own)

        return undo
