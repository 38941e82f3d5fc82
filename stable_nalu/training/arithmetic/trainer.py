"""The training of every arithmetic script, for one run or many stacked ones."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch

from stable_nalu.abstract import run_state
from stable_nalu.engine.stack import Company, EngineStack
from stable_nalu.errors import UsageError
from stable_nalu.statistics.setups import below, limit_of
from stable_nalu.tags import (
    L1_BETA,
    L1_LOSS,
    METRIC_TEST,
    METRIC_VALID,
    REINIT,
    RESULT_TEST,
    RESULT_VALID,
)

from ..checkpoint import LOGGED, asked_by, save_best
from ..console import Console, LogPoint, print_parameters
from ..recorder import StepResult, TaggedValue, scalar
from ..stack import Setup, StackTraining, Trainer, numbers, seeded_models
from ..step import TrainingStep
from ..task import ITERATIONS, Observed
from .by_engine import quiet, reason_for_torch, shape_of, texts
from .curriculum import CurriculumFeed
from .data import evaluate, mean_of_rows
from .reinit import RestartRule
from .task import OperationTask

if TYPE_CHECKING:
    from stable_nalu.options import Config

    from ..random_models import RandomModels

SUCCESS_THRESHOLD = 1e-7
SHOWN_INPUTS = 10


class ArithmeticTraining(StackTraining):
    """Trains iterations up to `--max-iterations`, inclusive, and evaluates at log points."""

    def __init__(self, setup: Setup, task: OperationTask):
        config = setup.configs[0]
        self.task = task
        self.length = config.max_iterations + 1
        self.data = task.data(setup.configs, setup.device)
        model, random = seeded_models(setup, task.build)
        for module in model.extended_modules():
            module.robustness_logging = task.robustness_logging
        step = TrainingStep(
            setup.configs, model, stacked=setup.stacked, beta_only_grows=task.beta_only_grows
        )
        super().__init__(setup, model, step, random)
        self.log_interval = getattr(config, "log_interval", 1000)
        self.interpolation = np.full(self.runs, np.inf)
        self.extrapolation = np.full(self.runs, np.inf)
        self.best = [float("inf")] * self.runs
        self.limits = [limit_of(config) for config in setup.configs]
        self.restarts = self._build_restarts()
        self.random_models = self._build_random_models()
        self.engine = self._build_engine() if setup.stacked else None
        self._trainer = "torch" if self.engine is None else "lanes"
        self.mates = [self]

    def _build_restarts(self) -> RestartRule | None:
        config = self.config
        if not getattr(config, "reinit", False):
            return None
        stored, threshold = config.reinit_max_stored_losses, config.reinit_loss_thr
        return RestartRule(self.runs, config.reinit_epoch_interval, stored, threshold)

    def _build_random_models(self) -> RandomModels | None:
        config = self.config
        if not config.random_models:
            return None
        from ..random_models import RandomModels

        def build() -> torch.nn.Module:
            hidden = torch.nn.Linear(config.inputs, config.hidden_size)
            return torch.nn.Sequential(
                hidden, torch.nn.ReLU6(), torch.nn.Linear(config.hidden_size, 1)
            )

        rows = [fixed.rows_of_runs() for fixed in self.data.evaluation]
        return RandomModels(build, config.random_models, rows, stacked=self.stacked)

    def _build_engine(self) -> EngineStack:
        task, config = self.task, self.config
        options = self.setup.layer_options[0]
        return EngineStack(
            self.setup.configs,
            self.step,
            lambda config: task.build(config, options),
            shape_of(task, config),
            self.data.feed.streams,
            self.data.feed.draw,
            in_python=isinstance(self.data.feed, CurriculumFeed),
            beta_only_grows=task.beta_only_grows,
        )

    def introduce(self) -> None:
        self.view.line("  -")
        self.view.line(f"  - dataset: {self.data.datasets[0].print_operation()}")
        self.view.line(f"{self.model}\n\n{self.setup.names[0]}\n")
        if self._shows_parameters():
            print_parameters(self.view, self.model, stacked=self.stacked)

    def _shows_parameters(self) -> bool:
        return self.task.prints_weights_always or self.config.input_size <= SHOWN_INPUTS

    def share_samples(self, others: Sequence[StackTraining]) -> None:
        mates = [t for t in (self, *others) if isinstance(t, ArithmeticTraining) and t.engine]
        if len(mates) > 1:
            Company.join([t.engine for t in mates if t.engine is not None])
        for training in mates:
            training.mates = mates

    def train(self) -> Generator[int | None, None, None]:
        while self.at < self.length and not self.all_diverged:
            yield self.at
            self.clock = self.at
            self._activate_inalu(self.at)
            count = min(quiet(training, self.at) for training in self.mates)
            if self.engine is not None:
                count = min(count, self.engine.company.pace)
                if count and len(self.mates) > 1:
                    self.engine.ask(self.at, count)
                    yield None
            done = self.iterate(self.at, count if self.engine is not None else 1)
            self.at += done
            self.view.advance(done)

    def iterate(self, iteration: int, count: int) -> int:
        """Train one iteration that is looked at, or as many as are not; return how many."""
        done = 1
        if iteration % self.log_interval == 0:
            self._log_point(iteration)
        elif self.config.verbose:
            self._logged(iteration, Observed())
        else:
            done = max(1, count)
            self._train_quietly(iteration, done)
        if self.restarts is not None:
            self._restart(self.restarts, self.clock, done)
        if isinstance(self.data.feed, CurriculumFeed) and self.last_total is not None:
            for run in self.data.feed.advance(numbers(self.last_total)):
                stage = self.data.feed.current[run]
                self.view.line(self.named(run, f"cl update to ds {stage}"))
        return done

    def _train_quietly(self, iteration: int, count: int) -> None:
        if self.engine is None:
            result = self.step.run(iteration, *self.data.feed.next())
        else:
            result = self.engine.iterate(iteration, count)
        self.clock = iteration + count - 1
        self.last_total = result.total
        if self._prints(self.clock):
            self._show(result)

    def _activate_inalu(self, iteration: int) -> None:
        if self.task.penalizes_inalu:
            self.step.penalties.activate_inalu(iteration, self.interpolation)

    def _log_point(self, iteration: int) -> None:
        if self.engine is not None:
            self.engine.store_model()
        self.step.set_clock(iteration)
        self.freeze_diverged()
        self.recorder.write(self._evaluate())
        self._activate_inalu(iteration)
        verbose = self.config.verbose
        self._logged(iteration, Observed(True, verbose, verbose, verbose))
        self.recorder.flush_now_and_then()

    def _logged(self, iteration: int, observed: Observed) -> None:
        """Make one iteration and write what it tells into the log."""
        at_log_point = iteration % self.log_interval == 0

        def on_result(result: StepResult) -> list[TaggedValue]:
            if at_log_point or self._prints(iteration):
                self._show(result)
            if at_log_point and self.config.save_best_model:
                self._save_best(iteration)
            return [*self._observed_l1(), *self._observed_beta(at_log_point), *result.losses()]

        if self.engine is not None:
            result = self._logged_by_engine(iteration, observed, on_result)
        else:
            x, t = self.data.feed.next()
            schedule = self.step.prepare(iteration)
            result = self.step.run_logged(x, t, schedule, self.recorder, observed, on_result)
        self.last_total = result.total
        self.recorder.commit(iteration)

    def _logged_by_engine(self, iteration: int, observed: Observed, on_result) -> StepResult:
        assert self.engine is not None
        result, told = self.engine.logged(iteration)
        self.recorder.write(t for t in told if observed.modules or t.tag == L1_LOSS)
        self.recorder.write(on_result(result))
        if observed.gradients:
            self.recorder.write(self.step.observe_gradients(result.gradients))
        return result

    def _observed_l1(self) -> list[TaggedValue]:
        """Return the norm of all parameters before the update."""
        if self.engine is not None or not (self.config.verbose and self.step.penalties.uses_l1):
            return []
        return [scalar(L1_LOSS, self.step.penalties.l1().detach().clone())]

    def _observed_beta(self, at_log_point: bool) -> list[TaggedValue]:
        hidden = self.task.beta_tag_verbose_only and not self.config.verbose
        if not self.step.penalties.betas or not at_log_point or hidden:
            return []
        betas = torch.from_numpy(self.step.penalties.beta_values())
        return [scalar(L1_BETA, betas if self.stacked else betas[0])]

    def _prints(self, iteration: int) -> bool:
        """Return whether the published script prints a line of this iteration."""
        return bool(every := self.task.console_interval) and iteration % every == 0

    def _show(self, result: StepResult) -> None:
        """Let the console see the losses and errors of this iteration."""
        iteration, criterion = self.clock, numbers(result.criterion)
        penalty = np.zeros(self.runs) if result.penalty is None else numbers(result.penalty)
        text = f"train {iteration}: {criterion[0]:.5f}, "
        if self.task.evaluates:
            text += f"inter: {self.interpolation[0]:.5f}, extra: {self.extrapolation[0]:.5f}"
            point = LogPoint(iteration, self.extrapolation, text, self.limits)
        else:
            text += f"reg loss: {penalty[0]:.5f}, total: {numbers(result.total)[0]:.5f}"
            point = LogPoint(iteration, criterion, text)
        if self.task.console_interval and not self._prints(iteration):
            point = replace(point, text="")
        self.view.log_point(point)

    def _save_best(self, iteration: int) -> None:
        """Save the weights of each run that has a lower validation error than ever before."""
        trainable = [name for name, p in self.model.named_parameters() if p.requires_grad]
        for run, error in enumerate(self.interpolation.tolist()):
            if not error < self.best[run]:
                continue
            self.best[run] = error
            state = run_state(self.model.state_dict(), run if self.stacked else None)
            rows = [f"epoch: {iteration}\n", *(f"{name}\n{state[name]}\n" for name in trainable)]
            save_best(self.setup.names[run], state, "".join(rows) + "\n")

    def _evaluate(self) -> list[TaggedValue]:
        """Keep validation and test errors, if there are any, and return what is logged of them."""
        if not self.data.evaluation:
            return []
        if self.engine is not None:
            roots = self.random_models is not None
            both = [fixed.errors(self.engine, roots=roots) for fixed in self.data.evaluation]
            found = both if roots else [squared for (squared,) in both]
        else:
            found = evaluate(
                self.model,
                self.data.evaluation,
                eval_mode=self.task.evaluates_in_eval_mode,
                measure=self.random_models.measure if self.random_models else mean_of_rows,
            )
        if self.random_models:
            logged = self.random_models.logged(found)
        else:
            logged = list(map(scalar, (METRIC_VALID, METRIC_TEST), found))
        self.interpolation, self.extrapolation = (numbers(e.value).copy() for e in logged[:2])
        return logged

    def _restart(self, restarts: RestartRule, iteration: int, done: int) -> None:
        restarts.record(self.interpolation, done)
        due = restarts.due(iteration)
        if due:
            self.pause()
        for run in due:
            count = restarts.counts[run] - 1
            self.view.line(self.named(run, f"reinit number {count}"))
            self.recorder.text(run, REINIT, f"{count}", rooted=False)
            self.recorder.writers[run].commit(iteration)
            self._reset_run(run)
        if due and self.engine is not None:
            self.engine.forget()

    def _reset_run(self, run: int) -> None:
        """Initialise one run again, drawing from where its generator stands."""
        if not self.stacked:
            self.model.reset_parameters()
            return
        with torch.random.fork_rng(devices=[]):
            fresh = self.task.build(self.config, self.setup.layer_options[0])
        own = self.model.state_dict()
        # What the constructor alone draws, and statistics of batches, stay as they are.
        fresh.load_state_dict({name: value[run] for name, value in own.items()})
        with self.generator_of(run), torch.no_grad():
            fresh.reset_parameters()
            for name, value in fresh.state_dict().items():
                own[name][run].copy_(value)

    def pause(self) -> None:
        if self.engine is not None:
            self.engine.store()

    def finish(self) -> bool:
        self.freeze_diverged()
        if self.last_total is not None:
            self.freeze(~np.isfinite(numbers(self.last_total)), "the loss is infinite")
        # A longer run that resumes from here goes on as if nothing had been evaluated.
        put_back = self.snapshot()
        errors = self._evaluate()
        self._final = self.interpolation.copy(), self.extrapolation.copy()
        if self.clock % self.log_interval:
            self.last_row = [*errors, *self._observed_at_end()]
            if self.task.evaluates:
                self.view.log_point(LogPoint(self.clock, self._final[1], "", self.limits))
        put_back()
        return bool(self.diverged_at) or self.last_total is None

    def _observed_at_end(self) -> list[TaggedValue]:
        """Return what modules tell, after the last update, of inputs of the validation set."""
        x = [s.inputs(self.config.batch_size) for s in self.data.evaluation[:1]]
        if self.engine is not None:
            return self.engine.observed(x[0].numpy() if x else None)
        return self.step.observe_trained([one[0] for one in x], self.config.verbose)

    def final_errors(self) -> Mapping[str, np.ndarray]:
        evaluated = bool(self.data.evaluation)
        return dict(zip((RESULT_VALID, RESULT_TEST), self._final, strict=True)) if evaluated else {}

    def report(self) -> None:
        alone = isinstance(self.view, Console)
        if alone:
            self._report_losses()
        for run, iteration in self.diverged_at.items():
            self.view.line(f"diverged by iteration {iteration}: {self.setup.names[run]}")
        if alone and self.task.reports_success:
            self.view.line(f"Success (last epoch): \t{self._final[1][0] <= SUCCESS_THRESHOLD}")
        if alone and not self.config.no_save:
            path = self.checkpoint_path(0)
            self.view.line(f"Model saved after iteration {self.length - 1}: {path}")

    def _report_losses(self) -> None:
        """Print the closing lines of a single run."""
        self.view.line("finished:")
        if self.restarts is not None:
            self.view.line(f"Reinitialized {sum(self.restarts.counts)} times")
        total = np.nan if self.last_total is None else numbers(self.last_total)[0]
        self.view.line(f"  - loss_train: {total}")
        if self.task.evaluates:
            for name, errors in zip(("inter", "extra"), self._final, strict=True):
                self.view.line(f"  - loss_valid_{name}: {errors[0]}")
            solved = self.limits[0].met(self._final[1][0])
            self.view.line(f"  - solved: {solved} (extra {below([self.limits[0].threshold])})")
        if self._shows_parameters():
            self.view.line()
            print_parameters(self.view, self.model, stacked=self.stacked)

    def progress(self, run: int) -> dict[str, Any]:
        errors = {"interpolation": self.interpolation, "extrapolation": self.extrapolation}
        state: dict[str, Any] = {name: float(e[run]) for name, e in errors.items()}
        state["best"] = self.best[run]
        if self.restarts is not None:
            state["restarts"] = self.restarts.get_state(run)
        state["samples"] = self.data.feed.get_state(run)
        state["engine"] = self._trainer
        return state

    def set_progress(self, run: int, progress: Mapping[str, Any]) -> None:
        self.interpolation[run] = progress["interpolation"]
        self.extrapolation[run] = progress["extrapolation"]
        self.best[run] = progress["best"]
        if self.restarts is not None and "restarts" in progress:
            self.restarts.set_state(run, progress["restarts"])
        if progress["engine"] != self._trainer:
            raise UsageError(
                f"argument {asked_by(self.config)}: {self.setup.names[run]} was trained by "
                f"--engine {progress['engine']}, and here by {self._trainer}; their last bits "
                "differ: --remove-existing-data starts anew"
            )
        self.data.feed.set_state(run, progress["samples"])


class ArithmeticTrainer(Trainer):
    """How the runs of an arithmetic task train: in stacks, by the engine."""

    unit = ITERATIONS
    progress: ClassVar = {
        "interpolation": float,
        "extrapolation": float,
        "samples": dict,
        "engine": str,
        **LOGGED,
    }
    probes = False
    by_engine = True

    def __init__(self, task: OperationTask):
        self.task = task

    def build(self, setup: Setup) -> ArithmeticTraining:
        return ArithmeticTraining(setup, self.task)

    def width(self, config: Config) -> int:
        return config.inputs

    def reason_for_torch(self, config: Config, layer_options: dict[str, Any]) -> str | None:
        return reason_for_torch(config, layer_options, self.task)

    def engine_texts(self, config: Config, layer_options: dict[str, Any]) -> list[str]:
        return texts(config, layer_options, self.task)
