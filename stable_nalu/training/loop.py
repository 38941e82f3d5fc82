"""The two loops of all scripts, over iterations and over epochs: one run, or a batch of runs."""

import math
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any

import numpy as np
import torch

from stable_nalu.dataset.distribution import IndexLoader
from stable_nalu.writer import event_file
from stable_nalu.writer.event_file import L1_LOSS, RESULT_TEST, RESULT_VALID

from .checkpoint import RunState, Stack, save_together
from .console import End, StackView
from .recorder import LogRecord, Recorder, ResultFile, StepLosses, numbers, reported
from .task import ITERATIONS, Batch, EngineTask, Observed, Task

MUST_BE_FINITE = "loss_train", "metric_valid"
"""Results of a run that has diverged if they are not finite."""
SHORT = {RESULT_VALID: "valid", RESULT_TEST: "test"}


class Training(RunState):
    """Runs from their first unit, or where saved states were taken, to their last one.

    `clock` is the step under which values are logged. limits: when each run counts as solved, where
    the task says it. in_step: trainings that share their samples.
    """

    view: StackView

    def __init__(self, task: type[Task], stack: Stack):
        super().__init__(task, stack)
        self.logging = self.task.logging
        self.interval = self.logging.interval or self.config.log_interval
        self.result_file = ResultFile(self.config.script) if task.kind.reported else None
        if isinstance(self.task, EngineTask) and self.stacked:
            if self.task.in_torch:
                from .torch_stack import TorchStack as Trainer
            else:
                from .engine_stack import EngineStack as Trainer
            build = partial(self.task.network, layer_options=stack[0].layer_options)
            self.engine = self.task.engine = Trainer(self.task, self.step, build)
        self.in_step = [self]
        goals = list(map(task.goal, self.configs))
        self.tags = {RESULT_VALID: goals[0].valid, RESULT_TEST: goals[0].test}
        limits = [goal.limit for goal in goals]
        self.limits = [] if None in limits else [limit for limit in limits if limit]
        self.last = task.kind.unit.last(self.config)
        source = self.task.batches()
        self.loader = source if isinstance(source, IndexLoader) else None
        self._batches = 1 if self.loader is None else len(self.loader)
        self.clock = 0
        self.measured: dict[str, Any] = {}
        self._ended: dict[int, tuple[End, dict[str, float]]] = {}
        self._begin_task(0)

    @property
    def all_ended(self) -> bool:
        return len(self.diverged_at) + len(self.stopped_at) == self.runs

    @property
    def ends(self) -> tuple[End, ...]:
        """Return how all runs have ended."""
        return tuple(self._ended[run][0] for run in sorted(self._ended))

    def open(self, recorder: Recorder, view: StackView) -> None:
        self.recorder, self.view = recorder, view
        recorder.news = None if self.hooks is None else {}
        for run in self.diverged_at:
            recorder.live[run] = False

    def share_samples(self, others: "Sequence[Training]") -> None:
        """Draw once what other trainings draw too, which stand at the same unit and take turns."""
        together = [self, *others]
        self.engine.sampling.join([one.engine for one in together])
        for one in together:
            one.in_step = together

    def train(self) -> Generator[int | None, None, None]:
        """Train, and yield wherever training may stop: `at`, or None within a unit.

        The engine may train units ahead of which nothing is logged. Within long ones, training may
        stop between two updates.
        """
        by_iteration = self.task.kind.unit is ITERATIONS
        return self._iterations() if by_iteration else self._epochs()

    def _iterations(self) -> Generator[int | None, None, None]:
        while self.at <= self.last and not self.all_ended:
            yield self.at
            if self.engine is not None and self._train_ahead():
                continue
            logged = self._begin_unit()
            batch, self.clock = next(self._next_batches()), self.at
            if logged:
                yield from self._log_measures()
                if self.all_ended:
                    return
            result = self._update(batch, at_log_point=logged)
            if logged and not self.logging.updates:
                self._log_means([result])
            self.updates += 1
            self.view.advance(1)
            if self.recorder.news:
                self._call_hooks(self.at + 1)
            self._end_unit(1)

    def _epochs(self) -> Generator[int | None, None, None]:
        long = self.logging.long
        while self.at <= self.last and not self.all_ended:
            yield self.at if self.batch is None else None
            logged, results = self._begin_unit(), list[StepLosses]()
            undo = self.snapshot() if long and logged and not self.batch else None
            for batch in self._next_batches():
                due, self.clock = logged and not self.batch, self._next_clock()
                if long:
                    self.recorder.write([(event_file.EPOCH, torch.tensor(self.at))])
                if due:
                    try:
                        yield from self._log_measures()
                    except GeneratorExit:
                        if undo is not None:
                            undo()
                        raise
                    if self.all_ended:
                        return
                result = self._update(batch, at_log_point=due)
                if logged and not self.logging.updates:
                    results.append(result)
                self.updates, self.batch = self.updates + 1, (self.batch or 0) + 1
                self.view.advance(1 / self._batches)
                if self.recorder.news and self.logging.updates:
                    self._call_hooks(self.at)
                    if self.all_ended:
                        return
                if long and self.batch < self._batches:
                    yield None
            if results:
                self._log_means(results)
            if self.recorder.news:
                self._call_hooks(self.at + 1)
            self._end_unit(1)

    def steps(self) -> Generator[None, None, None]:
        """Train, save now and then, and conclude; yield wherever training may stop."""
        interval, start = self.config.checkpoint_interval, self.at
        for at in self.train():
            if interval and at is not None and at % interval == 0 and at != start:
                self.save(at)
            yield
        self.diverged = self.finish()
        self.recorder.flush()
        self.save(self.last + 1)
        if self.hooks is not None:
            for run in set(range(self.runs)) - self.stopped_at.keys():
                self.hooks.ended(self.short_name(run), self._ended[run][0])

    def stop(self) -> None:
        """Save where a signal has stopped training, unless nothing was trained."""
        self.recorder.flush()
        if self.at != self.stack[0].start or self.batch is not None:
            self.save(self.at)

    def _train_ahead(self) -> bool:
        """Let the engine train what needs no look, of all in step; return if there is any."""
        sampling = self.engine.sampling
        if self.engine not in sampling.trained:
            until = {one: one._units_until_event() for one in self.in_step}
            pace = min(sampling.pace, *until.values())
            together, units = self.in_step if pace > 0 else [self], min(until[self], max(1, pace))
            if not units:
                return False
            sampling.iterate([one.engine for one in together], self.at, units)
        units = sampling.trained.pop(self.engine)
        result, _ = self.engine.result("run")
        self.clock, self.last_total = self.at + units - 1, result.total
        self.updates += units
        self._show(self.clock, result, at_log_point=False)
        self._end_unit(units)
        self.view.advance(units)
        return True

    def _units_until_event(self) -> int:
        """Return how many units there are until something must be looked at."""
        at, task, every = self.at, self.task, (self.interval, self.config.checkpoint_interval)
        if self._is_log_point() or task.observed(at, at_log_point=False) is not None:
            return 0
        assert isinstance(task, EngineTask)
        ends = [at - at % n + n for n in every if n]
        ends += [at + (-at) % n + 1 for n in (task.pause, self.logging.lines) if n]
        ends += [change for change in self.step.changes() if change > at]
        return min(self.last + self.logging.updates, *ends) - at

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
        if self.loader is not None:
            return self.loader.batches(self.order, self.batch or 0)
        return iter([()] if self.engine is not None else self.task.batches())

    def _next_clock(self) -> int:
        counts = self.loader is not None and not self.logging.apart
        return self.updates + 1 if counts else self.at

    @property
    def clock_name(self) -> str:
        return "update" if self.logging.long else self.task.kind.unit.name

    def _scheduled(self, clock: int) -> int:
        """Return the step that penalties and temperatures of an update follow."""
        return self.at if self.task.kind.by_unit else clock

    def _end_unit(self, units: int) -> None:
        self.task.end(self, units)
        self.at, self.batch = self.at + units, None

    def _log_measures(self) -> Iterator[None]:
        self._freeze_diverged()
        if self.all_ended:
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
        self.recorder.write(self.measured.items())
        if log.apart:
            self.recorder.commit(self.clock)

    @torch.no_grad()
    def _measure(self) -> Generator[None, None, None]:
        """Measure the model as it is; yield wherever this may be left for good."""
        measured: dict[str, Any] = {}
        with nullcontext() if self.logging.draws else self.model.no_random():
            measures = self.task.measures(self.model)
            for item in measures.items() if isinstance(measures, Mapping) else measures:
                if item is None:
                    yield None
                else:
                    measured[item[0]] = item[1]
        self.measured = measured
        known = {result: tag for result, tag in self.tags.items() if tag in measured}
        self.errors |= {result: numbers(measured[tag]).copy() for result, tag in known.items()}
        self.guide()

    def _update(self, batch: Batch, *, at_log_point: bool) -> StepLosses:
        step, recorder, verbose = self.step, self.recorder, self.config.verbose
        observed = self.task.observed(self.clock, at_log_point=at_log_point)

        def losses(result: StepLosses) -> Iterator[LogRecord]:
            penalties = step.penalties
            if at_log_point and getattr(self.config, "save_best_model", False):
                self.save_best()
            # The norm of all parameters before the update, and the factor that grows.
            if self.engine is None and verbose and penalties.uses_l1:
                yield LogRecord(L1_LOSS, penalties.l1())
            if at_log_point and penalties.betas and (verbose or not self.logging.quiet_betas):
                betas = torch.from_numpy(penalties.beta_values())
                yield LogRecord(event_file.L1_BETA, betas if self.stacked else betas[0])
            if self.logging.updates:
                own = {"at_log_point": at_log_point}
                yield from self.task.losses(self.model, result, batch, **own)

        if self.engine is None:
            x, t, *_ = batch
            step.progress = self._part_done()
            schedule = step.prepare(self._scheduled(self.clock))
            result = step.run(x, t, schedule, observed, recorder.write, losses)
        else:
            seen = observed or Observed()
            result, of_modules = self.engine.logged(self.at)
            recorder.write(one for one in of_modules if seen.modules or one.tag == L1_LOSS)
            recorder.write(losses(result))
            if seen.gradients:
                recorder.write(step.observe_gradients(result.gradients))
        self.last_total = result.total.detach()
        if self.logging.updates:
            if observed is not None:
                recorder.commit(self.clock)
            self._show(self.at, result, at_log_point=at_log_point)
        return result

    def _log_means(self, results: Sequence[StepLosses]) -> None:
        same = zip(*(result.records() for result in results), strict=True)
        means = StepLosses(*(torch.stack([one.value.detach() for one in s]).mean(0) for s in same))
        with torch.no_grad(), self.model.no_random():
            self.recorder.write(self.task.losses(self.model, means, (), at_log_point=True))
        self.recorder.commit(self.clock)
        self._show(self.at, means)

    def _show(self, at: int, result: StepLosses, *, at_log_point: bool = True) -> None:
        """Let the console see a log point, which is complete, or a unit that has a line."""
        lines, text = self.logging.lines, ""
        if not at_log_point and (lines is None or at % lines):
            return
        self.recorder.flush_now_and_then()
        if lines is None or at % lines == 0:
            words: dict[str, Any] = {"measured": self.measured}
            words |= {SHORT[tag]: float(values[0]) for tag, values in self.errors.items()}
            losses = {"loss": result.criterion, "penalty": result.penalty, "total": result.total}
            words |= {n: 0.0 if v is None else float(numbers(v)[0]) for n, v in losses.items()}
            text = f"train {at}: {self.logging.line.format(**words)}"
        if self.limits and RESULT_TEST in self.errors:
            self.view.log_point(at, self.errors[RESULT_TEST], self.limits, text)
        else:
            self.view.log_point(at, numbers(result.criterion), [], text)

    def _call_hooks(self, at: int) -> None:
        """Show what is logged to callbacks, and end the runs that they stop before unit `at`."""
        from stable_nalu.callbacks import SOLVED, generators_kept

        news, self.recorder.news = self.recorder.news or {}, {}
        goal = self.tags[RESULT_TEST]
        for step, columns in news.items():
            with np.errstate(over="ignore"):  # Numbers beyond the range are infinite, as in logs.
                rows = {tag: np.float32(v).reshape(-1).tolist() for tag, v in columns.items()}
            stopped = []
            with generators_kept():
                for run in np.flatnonzero(self.recorder.live).tolist():
                    metrics = {tag: row[run] for tag, row in rows.items()}
                    if self.limits and goal in metrics:
                        metrics[SOLVED] = float(self.limits[run].met(metrics[goal]))
                    if self.hooks.logged(self.short_name(run), step, metrics):
                        stopped.append(run)
            for run in stopped if at <= self.last else ():
                self._stop(run, step, at)

    def _stop(self, run: int, step: int, at: int) -> None:
        """End a run as it is; if it is stacked, its place trains on and is never seen again."""
        self.stopped_at[run] = step
        self.recorder.live[run] = False
        self._conclude(run, self.errors)
        if not self.config.no_save:
            self.pause()
            save_together([(self.checkpoint_path(run), self._checkpoint(run, at))])
        self.hooks.ended(self.short_name(run), self._ended[run][0])

    def restart(self, due: Sequence[tuple[int, int]]) -> None:
        """Initialise runs again; each comes with the number of times it was before."""
        due = [pair for pair in due if pair[0] not in self.stopped_at]
        if due:
            self.pause()
        for run, before in due:
            self.line(run, f"reinit number {before}")
            self.recorder.note(run, event_file.REINIT, f"{before}", self.clock, rooted=False)
            self.reset(run)
        if due and self.engine is not None:
            self.engine.forget()

    def finish(self) -> bool:
        """Evaluate after the last update, and log results; return whether a run diverged."""
        self.at, self.batch = max(self.at, self.last + 1), None
        if len(self.stopped_at) < self.runs:
            self._conclude_left()
        self.results = self._ended[0][1]
        every = (results for _, results in self._ended.values())
        loose = [results.get(name, 0.0) for results in every for name in MUST_BE_FINITE]
        return bool(self.diverged_at) or not all(map(math.isfinite, loose))

    def _conclude_left(self) -> None:
        log, task, undo = self.logging, self.task, self.snapshot()
        due = log.updates and self.last >= 0 and (log.apart or self.last % self.interval != 0)
        if (log.updates and not log.long) or (due and not self.all_ended):
            self._begin_task(self.last + 1)
            for _ in self._measure():
                pass
        errors = {tag: values.copy() for tag, values in self.errors.items()}
        observed: list[LogRecord] = []
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
            self.recorder.write([*self.measured.items(), *observed])
            self.recorder.commit(self.clock)
            if self.limits and RESULT_TEST in errors:
                self.view.log_point(self.clock, errors[RESULT_TEST], self.limits)
        if self.recorder.news:
            self._call_hooks(self.at)
        for run in range(self.runs):
            if run not in self.stopped_at:
                self._conclude(run, errors)

    def _conclude(self, run: int, errors: Mapping[str, np.ndarray]) -> None:
        """Log the results of a run at its last step, or NaN where it diverged."""
        diverged, limit = run in self.diverged_at, self.limits[run] if self.limits else None
        step = (self.stopped_at | self.diverged_at).get(run, self.last)
        own = {tag: float(values[run]) for tag, values in errors.items()}
        logged = dict.fromkeys(own, math.nan) if diverged else dict(own)
        error = logged.get(RESULT_TEST, math.nan)
        solved = bool(limit.met(error)) if limit is not None else None
        if RESULT_TEST in logged and solved is not None:
            logged[event_file.RESULT_SOLVED] = float(solved)
        short = self.configs[run].short_names is not None
        named = {event_file.logged_result(tag, short=short): v for tag, v in logged.items()}
        self.recorder.writers[run].conclude(step, named)
        loss = math.nan if self.last_total is None else float(numbers(self.last_total)[run])
        # Some tasks measure their results behind the last unit alone.
        of: Any = Task if run in self.stopped_at else type(self.task)
        results = of.results(self.task, own, self.measured, loss)
        if self.result_file is not None:
            config = self.configs[run]
            record = reported(config, self.task.kind.reported)
            for dest in (flag.dest for flag in config.spec.flags if flag.result):
                if config.is_typed(dest):
                    record.setdefault(dest, getattr(config, dest))
            self.result_file.append({**record, **results}, once=config.resume)
        end = End(error, solved, diverged, run in self.stopped_at, step)
        self._ended[run] = end, results

    def _freeze_diverged(self) -> None:
        """Report runs with a weight or a loss that is not a number, and end their logs."""
        if self.engine is not None:
            self.engine.store(model_alone=True)
        self._freeze(self.broken(), "a weight is not a number")
        if self.last_total is not None:
            self._freeze(np.isnan(numbers(self.last_total)), "the loss is not a number")

    def _freeze(self, broken: np.ndarray, reason: str) -> None:
        """Report runs that are `broken` for the first time, and end their logs."""
        for run in broken.nonzero()[0].tolist():
            if run not in self.diverged_at and run not in self.stopped_at:
                self.diverged_at[run] = self.clock
                message = f"diverged: {reason} at {self.clock_name} {self.clock}"
                self.recorder.note(run, event_file.DIVERGED, message, self.clock)
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

    def restore(self, checkpoints: Sequence[dict]) -> None:
        self.restore_runs(checkpoints)
        self.set_clock(checkpoints[0])
        self._begin_task(self.at)

    def set_clock(self, checkpoint: Mapping[str, Any]) -> None:
        """Let modules stand where the last update before a checkpoint was."""
        progress = checkpoint.get("progress", {})
        self.at = self.task.at = checkpoint["epoch"]
        self.updates, self.batch = progress.get("updates", self.at), progress.get("batch")
        iteration = max(self._scheduled(self._next_clock()) - 1, 0)
        for module in self.model.extended_modules():
            module.stand_at(iteration, self._part_done(back=1))
