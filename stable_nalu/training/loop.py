"""The two loops of all scripts, over iterations and over epochs: one run, or a batch of runs."""

import math
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import torch

from stable_nalu.base.errors import UsageError
from stable_nalu.base.files import model_file, save_root
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
from stable_nalu.dataset.distribution import IndexLoader

from .checkpoint import asked_by, damage_as_usage_error, plain, save_together
from .console import End, LogPoint, StackView
from .engine_task import EngineTask
from .recorder import Recorder, StepResult, TaggedValue, numbers, scalar
from .result_file import ResultFile, result_of
from .runs import LANES, TORCH, ModelStack, Stack, is_generator, put_back, saved_state
from .surroundings import has_gpu
from .task import ITERATIONS, Batch, Observed, Task

MUST_BE_FINITE = "loss_train", "metric_valid"
"""Results of a run that has diverged if they are not finite."""


SHORT = {RESULT_VALID: "valid", RESULT_TEST: "test"}


class Training:
    """Runs from their first unit, or where saved states were taken, to their last one.

    `at` is the unit that is trained next, `clock` the step under which values are logged.
    """

    recorder: Recorder
    view: StackView
    ends: tuple[End, ...] = ()
    """How all runs have ended."""
    engine: Any = None
    """What trains the runs in place of torch, if it does."""

    def __init__(self, task: type[Task], stack: Stack):
        self.stack = stack
        self.configs = [run.config for run in stack]
        self.config = self.configs[0]
        self.runs = len(stack)
        self.stacked = stack[0].in_lanes
        self.trainer = LANES if self.stacked else TORCH
        on_cpu = not has_gpu(self.config) or issubclass(task, EngineTask)
        self.device = torch.device("cpu" if on_cpu else "cuda")
        torch.backends.cudnn.deterministic = True
        self.task = task(self.config, self.device, *self.configs[1:])
        self.logging = self.task.logging
        self.interval = self.logging.interval or self.config.log_interval
        self.result_file = ResultFile(self.config.script) if task.kind.reported else None
        self.models = ModelStack(self.task, stack)
        self.model, self.step = self.models.model, self.models.step
        if isinstance(self.task, EngineTask) and self.stacked:
            self.engine = self.task.lanes(self.step, stack[0].layer_options)
        self.mates = [self]
        goals = list(map(task.goal, self.configs))
        self.tags = {RESULT_VALID: goals[0].valid, RESULT_TEST: goals[0].test}
        limits = [goal.limit for goal in goals]
        self.limits = [] if None in limits else [limit for limit in limits if limit]
        """When each run counts as solved, where the task says it."""
        self.last = task.kind.unit.last(self.config)
        source = self.task.batches()
        self.loader = source if isinstance(source, IndexLoader) else None
        self.order: torch.Tensor | None = None
        """The order of the rows of the unit, if a loader shuffles them."""
        self._batches = 1 if self.loader is None else len(self.loader)
        self._counts_updates = self.loader is not None and not self.logging.apart
        self.clock_name = "update" if self.logging.long else task.kind.unit.name
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
        self._begin_task(0)

    @property
    def all_diverged(self) -> bool:
        """Return whether no run is left to train."""
        return len(self.diverged_at) == self.runs

    def open(self, recorder: Recorder, view: StackView) -> None:
        """Take over the event files and the console of these runs."""
        self.recorder, self.view = recorder, view
        for run in self.diverged_at:
            recorder.live[run] = False

    def share_samples(self, others: "Sequence[Training]") -> None:
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
        by_iteration = self.task.kind.unit is ITERATIONS
        yield from self._iterations() if by_iteration else self._epochs()
        self.at, self.batch = max(self.at, self.last + 1), None

    def _iterations(self) -> Generator[int | None, None, None]:
        """Train iterations, or let the engine train those of which nothing is logged."""
        while self.at <= self.last and not self.all_diverged:
            yield self.at
            ahead = (yield from self._units_ahead()) if self.engine is not None else 0
            if ahead:
                self._train_ahead(ahead)
                continue
            logged = self._begin_unit()
            batch = () if self.engine is not None else next(self._next_batches())
            self.clock = self.at
            if logged:
                yield from self._log_measures()
                if self.all_diverged:
                    break
            result = self._update(batch, at_log_point=logged)
            if logged and not self.logging.updates:
                self._log_means([result])
            self.updates += 1
            self._end_unit(1)
            self.view.advance(1)

    def _epochs(self) -> Generator[int | None, None, None]:
        """Train epochs; within long ones, training may stop between two updates."""
        long = self.logging.long
        while self.at <= self.last and not self.all_diverged:
            yield self.at if self.batch is None else None
            logged, results = self._begin_unit(), list[StepResult]()
            undo = self._snapshot() if long and logged and not self.batch else None
            for batch in self._next_batches():
                due, self.clock = logged and not self.batch, self._next_clock()
                if long:
                    self.recorder.write([scalar(EPOCH, torch.tensor(self.at))])
                if due:
                    try:
                        yield from self._log_measures()
                    except GeneratorExit:
                        if undo is not None:
                            undo()
                        raise
                    if self.all_diverged:
                        return
                result = self._update(batch, at_log_point=due)
                if logged and not self.logging.updates:
                    results.append(result)
                self.updates, self.batch = self.updates + 1, (self.batch or 0) + 1
                self.view.advance(1 / self._batches)
                if long and self.batch < self._batches:
                    yield None
            if results:
                self._log_means(results)
            self._end_unit(1)

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

    def stop(self) -> None:
        """Save where a signal has stopped training, unless nothing was trained."""
        self.recorder.flush()
        if self._stands_at != self.stack[0].start:
            self.save(self.at)

    def _units_ahead(self) -> Generator[None, None, int]:
        """Return how many units the engine trains next without a look at them."""
        quiet = {one: one._quiet() for one in self.mates}
        pace = min(self.engine.company.pace, *quiet.values())
        if pace and len(self.mates) > 1:
            self.engine.ask(self.at, pace)
            yield None
        return min(quiet[self], max(1, pace))

    def _quiet(self) -> int:
        """Return how many units there are until something must be looked at."""
        at, task, every = self.at, self.task, (self.interval, self.config.checkpoint_interval)
        if self._is_log_point() or task.observed(at, at_log_point=False) is not None:
            return 0
        assert isinstance(task, EngineTask)
        ends = [at - at % n + n for n in every if n]
        ends += [at + (-at) % n + 1 for n in (task.pause, self.logging.lines) if n]
        ends += [change for change in self.step.changes() if change > at]
        return min(self.last + self.logging.updates, *ends) - at

    def _train_ahead(self, units: int) -> None:
        """Let the engine train units of which nothing is logged."""
        result = self.engine.iterate(self.at, units)
        self.clock, self.last_total = self.at + units - 1, result.total
        self.updates += units
        self._show(self.clock, result, at_log_point=False)
        self._end_unit(units)
        self.view.advance(units)

    def _is_log_point(self) -> bool:
        is_last = self.at == self.last and not self.logging.updates
        return self.at % self.interval == 0 or is_last

    def _begin_unit(self) -> bool:
        """Prepare the next unit, of which updates may be made; return whether it is a log point."""
        self._begin_task(self.at)
        if self.batch is None and self.task.kind.unit is not ITERATIONS:
            self.batch = 0
            self.order = None if self.loader is None else self.loader.begin()
        return self._is_log_point()

    def _begin_task(self, at: int) -> None:
        self.task.at = at
        if self.engine is None:
            self.task.begin(self.step)

    def _next_batches(self) -> Iterator[Batch]:
        """Return the batches of the unit that are left."""
        if self.loader is not None:
            return self.loader.batches(self.order, self.batch or 0)
        return iter(self.task.batches())

    def _next_clock(self) -> int:
        """Return the step under which the next update is logged."""
        return self.updates + 1 if self._counts_updates else self.at

    def _scheduled(self, clock: int) -> int:
        """Return the step that penalties and temperatures of an update follow."""
        return self.at if self.task.kind.by_unit else clock

    def _end_unit(self, units: int) -> None:
        self.task.end(self, units)
        self.at, self.batch = self.at + units, None

    def _log_measures(self) -> Iterator[None]:
        self._freeze_diverged()
        if self.all_diverged:
            return
        if self.at % self.interval:
            self.recorder.begin_end()
        at = self._scheduled(self.clock)
        # What is measured depends on the update before, which a resumed run has not prepared.
        log = self.logging
        ahead = log.updates and not log.long and not log.apart
        self.step.progress = self._part_done(back=0 if ahead else 1)
        self.step.set_clock(at if ahead else max(at - 1, 0))
        yield from self._measure()
        self.recorder.write_named(self.measured.items())
        if log.apart:
            self.recorder.commit(self.clock)

    @torch.no_grad()
    def _measure(self) -> Generator[None, None, None]:
        """Measure the model as it is; yield wherever this may be left for good."""
        measured: dict[str, Any] = {}
        with nullcontext() if self.logging.draws else self.model.no_random():
            found = self.task.measures(self.model)
            for item in found.items() if isinstance(found, Mapping) else found:
                if item is None:
                    yield None
                else:
                    measured[item[0]] = item[1]
        self.measured = measured
        self.errors |= {
            result: numbers(measured[tag]).copy()
            for result, tag in self.tags.items()
            if tag in measured
        }
        self._guide()

    def _guide(self) -> None:
        """Let penalties follow validation errors, if they do."""
        if self.task.kind.guided:
            self.step.penalties.validation = self.errors.get(RESULT_VALID)

    def _update(self, batch: Batch, *, at_log_point: bool) -> StepResult:
        observed = self.task.observed(self.clock, at_log_point=at_log_point)

        def losses(result: StepResult) -> Iterator[TaggedValue]:
            if at_log_point and getattr(self.config, "save_best_model", False):
                self._save_best()
            yield from self._observed_penalties(at_log_point)
            if self.logging.updates:
                own = {"at_log_point": at_log_point}
                yield from self.task.losses(self.model, result, batch, **own)

        if self.engine is not None:
            result = self._update_by_engine(observed or Observed(), losses)
        else:
            x, t, *_ = batch
            self.step.progress = self._part_done()
            schedule = self.step.prepare(self._scheduled(self.clock))
            if observed is None:
                result = self.step.run(x, t, schedule)
            else:
                result = self.step.run(x, t, schedule, self.recorder, observed, losses)
        self.last_total = result.total.detach()
        if observed is not None and self.logging.updates:
            self.recorder.commit(self.clock)
        if self.logging.updates:
            self._show(self.at, result, at_log_point=at_log_point)
        return result

    def _update_by_engine(
        self, observed: Observed, losses: Callable[[StepResult], Iterator[TaggedValue]]
    ) -> StepResult:
        result, of_modules = self.engine.logged(self.at)
        self.recorder.write(t for t in of_modules if observed.modules or t.tag == L1_LOSS)
        self.recorder.write(losses(result))
        if observed.gradients:
            self.recorder.write(self.step.observe_gradients(result.gradients))
        return result

    def _observed_penalties(self, at_log_point: bool) -> Iterator[TaggedValue]:
        """Yield the norm of all parameters before the update, and the factor that grows."""
        penalties, verbose = self.step.penalties, self.config.verbose
        if self.engine is None and verbose and penalties.uses_l1:
            yield scalar(L1_LOSS, penalties.l1().detach().clone())
        if at_log_point and penalties.betas and (verbose or not self.logging.quiet_betas):
            betas = torch.from_numpy(penalties.beta_values())
            yield scalar(L1_BETA, betas if self.stacked else betas[0])

    def _save_best(self) -> None:
        """Save the weights of each run that has a lower validation error than ever before."""
        for run, error in enumerate(self.errors[RESULT_VALID].tolist()):
            if error < self.best[run]:
                self.best[run] = error
                self.models.save_best(run, self.at)

    def _log_means(self, results: Sequence[StepResult]) -> None:
        of_tags = zip(*(result.losses() for result in results), strict=True)
        criterion, penalty, total = (
            torch.stack([each.value.detach() for each in same]).mean(0) for same in of_tags
        )
        means = StepResult(criterion, penalty, total, ())
        with torch.no_grad(), self.model.no_random():
            self.recorder.write(self.task.losses(self.model, means, (), at_log_point=True))
        self.recorder.commit(self.clock)
        self._show(self.at, means)

    def _show(self, at: int, result: StepResult, *, at_log_point: bool = True) -> None:
        """Let the console see a log point, which is complete, or a unit that has a line."""
        lines, text = self.logging.lines, ""
        if not at_log_point and (lines is None or at % lines):
            return
        self.recorder.flush_now_and_then()
        values, limits = numbers(result.criterion), []
        if lines is None or at % lines == 0:
            words: dict[str, Any] = {"measured": self.measured}
            words |= {SHORT[tag]: float(values[0]) for tag, values in self.errors.items()}
            words |= dict(zip(("loss", "penalty", "total"), result.of_first(), strict=True))
            text = f"train {at}: {self.logging.line.format(**words)}"
        if self.limits and RESULT_TEST in self.errors:
            values, limits = self.errors[RESULT_TEST], self.limits
        self.view.log_point(LogPoint(at, values, text, limits))

    def restart(self, due: Sequence[tuple[int, int]]) -> None:
        """Initialise runs again; each comes with the number of times it was before."""
        if due:
            self.pause()
        for run, before in due:
            self.line(run, f"reinit number {before}")
            self.recorder.text(run, REINIT, f"{before}", rooted=False)
            self.recorder.writers[run].commit(self.clock)
            self.models.reset(run)
        if due and self.engine is not None:
            self.engine.forget()

    def finish(self) -> bool:
        """Evaluate after the last update, and log results; return whether a run diverged."""
        log, task, undo = self.logging, self.task, self._snapshot()
        due = log.updates and self.last >= 0 and (log.apart or self.last % self.interval != 0)
        if (log.updates and not log.long) or (due and not self.all_diverged):
            self._begin_task(self.last + 1)
            for _ in self._measure():
                pass
        errors = {tag: values.copy() for tag, values in self.errors.items()}
        observed: list[TaggedValue] = []
        if due and isinstance(task, EngineTask):
            observed = task.observed_at_end(self.step)
        # A longer run that resumes from here has drawn nothing for this.
        undo()
        if log.apart:
            self.clock = self.last + 1
        if not log.long:
            self._freeze_diverged()
        if log.infinity and self.last_total is not None:
            self._freeze(~np.isfinite(numbers(self.last_total)), "the loss is infinite")
        self.recorder.begin_end()
        if due:
            self.recorder.write_named(self.measured.items())
            self.recorder.write(observed)
            self.recorder.commit(self.clock)
            if self.limits and RESULT_TEST in errors:
                self.view.log_point(LogPoint(self.clock, errors[RESULT_TEST], "", self.limits))
        every = [self._conclude(run, errors) for run in range(self.runs)]
        self.results = every[0]
        loose = [results.get(name, 0.0) for results in every for name in MUST_BE_FINITE]
        return bool(self.diverged_at) or not all(map(math.isfinite, loose))

    def _conclude(self, run: int, errors: Mapping[str, np.ndarray]) -> dict[str, float]:
        """Log the results of a run at the last step, or NaN where it diverged; return them all."""
        diverged, limit = run in self.diverged_at, self.limits[run] if self.limits else None
        own = {tag: float(values[run]) for tag, values in errors.items()}
        logged = dict.fromkeys(own, math.nan) if diverged else dict(own)
        error = logged.get(RESULT_TEST, math.nan)
        solved = bool(limit.met(error)) if limit is not None else None
        self.ends += (End(error, solved, diverged),)
        if RESULT_TEST in logged and solved is not None:
            logged[RESULT_SOLVED] = float(solved)
        short = self.config.short_names is not None
        named = {logged_result(tag, short=short): value for tag, value in logged.items()}
        self.recorder.writers[run].conclude(self.diverged_at.get(run, self.last), named)
        loss = math.nan if self.last_total is None else float(numbers(self.last_total)[run])
        results = self.task.results(own, self.measured, loss)
        if self.result_file is not None:
            config = self.configs[run]
            record = result_of(config, self.task.kind.reported, results)
            self.result_file.append(record, once=config.resume)
        return results

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
                self.line(run, message)

    def line(self, run: int, message: str) -> None:
        """Print a line that says which run it is about, if there are several."""
        self.view.line(f"run {run}: {message}" if self.runs > 1 else message)

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
        state, modules = self.task.get_state(run), self.model.extended_modules()
        progress = {
            "task": {name: value for name, value in state.items() if not is_generator(value)},
            "random": [saved_state(one) for one in filter(is_generator, state.values())],
            "errors": {tag: float(values[run]) for tag, values in self.errors.items()},
            "best": self.best[run],
            "updates": self.updates,
            "batch": self.batch,
            "order": self.order,
            "engine": self.trainer,
            "reads_progress": any("progress" in m.clock_reads for m in modules),
        }
        if self.device.type == "cuda":
            progress["cuda"] = torch.cuda.get_rng_state(self.device)
        return progress

    def _set_progress(self, run: int, progress: Mapping[str, Any]) -> None:
        """Put the progress of a run back."""
        self.task.set_state(run, progress["task"])
        generators = filter(is_generator, self.task.get_state(run).values())
        for one, state in zip(generators, progress["random"], strict=True):
            put_back(one, state)
        for tag, error in progress["errors"].items():
            self.errors.setdefault(tag, np.full(self.runs, np.inf))[run] = error
        self._guide()
        self.best[run] = progress["best"]
        self.order = progress["order"]
        if "cuda" in progress and self.device.type == "cuda":
            torch.cuda.set_rng_state(progress["cuda"], self.device)

    def restore(self, checkpoints: Sequence[dict]) -> None:
        """Go on where the checkpoints of all runs were taken."""
        for run, checkpoint in enumerate(checkpoints):
            with damage_as_usage_error(self.checkpoint_path(run), asked_by(self.config)):
                self._restore_run(run, checkpoint)
        self.set_clock(checkpoints[0])
        self._begin_task(self.at)
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
        iteration = max(self._scheduled(self._next_clock()) - 1, 0)
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
