"""What the two recurrent scripts share: one run's model, loss and log; runs in turn."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.errors import UsageError
from stable_nalu.functional import mse
from stable_nalu.options import Config, ScriptSpec
from stable_nalu.script import EXIT_DIVERGED
from stable_nalu.tags import DIVERGED, LOSS_CRITERION, LOSS_REGULARIZER, LOSS_TOTAL
from stable_nalu.writer import RunWriter

from ..arithmetic.session import default_dtype
from ..command import check_folder, device_of, open_writer, run_command
from ..logging.console import ProgressConsole, print_configuration
from ..logging.recorder import (
    Recorder,
    observe_gradients,
    observe_modules,
    observe_regualizers,
    scalar,
    start_trace,
    stop_trace,
)
from ..step.loss import SummedPenalties
from ..step.step import StepResult, TrainingStep
from .results import ResultFile

BuildNetwork = Callable[[Config, dict[str, Any]], ExtendedTorchModule]


class SequenceRun:
    """One run: `begin` an iteration, evaluate if wanted, then `train` on a batch.

    The loss is MSE + 0.1 (1 - exp(-1e-5 i)) times the sum of the penalties W, g, z and W-OOB that
    the cells have; the optimiser is Adam at 1e-3.
    """

    def __init__(
        self,
        config: Config,
        build: BuildNetwork,
        layer_options: dict[str, Any],
        writer: RunWriter,
        console: ProgressConsole,
    ):
        self.config = config
        self.console = console
        self.recorder = Recorder([writer], stacked=False)
        torch.manual_seed(config.seed)
        model = build(config, layer_options)
        # The constructor's values are not used: published runs train on the second draw.
        model.reset_parameters()
        self.model = model.to(device_of(config))
        configs: list[Any] = [config]
        self.step = TrainingStep(configs, self.model, stacked=False, penalties=SummedPenalties)
        self.iteration = 0
        self.diverged = False
        self._schedule: tuple = ()

    def begin(self, iteration: int) -> None:
        """Move schedules to `iteration`, the step under which values are logged."""
        self.iteration = iteration
        self._schedule = self.step.prepare(iteration)

    def write(self, tag: str, value: torch.Tensor) -> None:
        """Log a scalar of this iteration."""
        self.recorder.write([scalar(tag, value)])

    @torch.no_grad()
    def error(self, x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
        """Mean squared error; as published, in training mode and with sampling."""
        x, t = self._own(x, t)
        return mse(self.model(x), t)

    def train(
        self, x: torch.Tensor, t: torch.Tensor, *, modules: bool = False, gradients: bool = False
    ) -> StepResult:
        """One update; `modules` and `gradients` say what to log besides the losses."""
        x, t = self._own(x, t)
        if modules:
            start_trace(self.model)
        criterion, penalty, total = self.step.loss(x, t, *self._schedule)
        zero = torch.zeros_like(criterion.detach())
        if modules:
            self.recorder.write(observe_modules(self.model, verbose=True))
            self.recorder.write(observe_regualizers(self.model, zero))
            stop_trace(self.model)
        self.write(LOSS_CRITERION, criterion)
        self.write(LOSS_REGULARIZER, zero if penalty is None else penalty)
        self.write(LOSS_TOTAL, total)
        result = StepResult(criterion, penalty, total, self.step.gradients(total))
        self.step.update(result.gradients, criterion)
        if gradients:
            pairs = zip(map(id, self.step.parameters), result.gradients, strict=False)
            self.recorder.write(observe_gradients(self.model, dict(pairs), run_dims=0))
        self.recorder.commit(self.iteration)
        return result

    def check(self) -> bool:
        """Whether all weights are numbers; if not, log that. Brings what was logged to disk."""
        self.diverged = any(bool(p.isnan().any()) for p in self.model.parameters())
        if self.diverged:
            message = f"diverged: a weight is not a number at iteration {self.iteration}"
            self.recorder.text(0, DIVERGED, message)
            self.recorder.commit(self.iteration)
            self.console.line(message)
        self.recorder.flush()
        return not self.diverged

    def _own(self, x: torch.Tensor, t: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        like = self.step.parameters[0]
        return x.to(like.device), t.to(like)


@dataclass(frozen=True)
class SequenceTask:
    """A recurrent script: its network, its loop and what it reports.

    train: trains a run and returns its final losses by name, `loss_train` among them.
    length: what the progress bar counts, in `unit`.
    reported: flags that come first on the console and make up a result, in published order.
    """

    script: str
    build: BuildNetwork
    train: Callable[[SequenceRun], dict[str, float]]
    length: Callable[[Config], int]
    unit: str
    reported: tuple[str, ...]

    def run(self, argv: Sequence[str] | None = None) -> int:
        """The whole script: parse, train all runs, return the exit code."""
        return run_command(self.script, argv, self._train_plan)

    def _train_plan(self, spec: ScriptSpec, configs: Sequence[Config]) -> int:
        """Train one run after another; 3 if any of them diverged."""
        self._check(spec, configs)
        results = ResultFile(self.script)
        finite = True
        for config in configs:
            check_folder(spec, config, spec.run_name(config))
        with default_dtype(configs[0].pytorch_precision), ExitStack() as stack:
            writers = [open_writer(stack, spec, c, spec.run_name(c)) for c in configs]
            for config, writer in zip(configs, writers, strict=True):
                finite &= self._train_run(spec, config, writer, results)
        return 0 if finite else EXIT_DIVERGED

    def _check(self, spec: ScriptSpec, configs: Sequence[Config]) -> None:
        """Build every network once: what cannot be built is refused before any folder is made."""
        try:
            for config in configs:
                self.build(config, spec.layer_options(config))
        except ValueError as error:
            raise UsageError(str(error)) from None

    def _train_run(
        self, spec: ScriptSpec, config: Config, writer: RunWriter, results: ResultFile
    ) -> bool:
        reported = {name: getattr(config, name) for name in self.reported}
        reported["cuda"] = device_of(config).type == "cuda"
        console = ProgressConsole(self.length(config), unit=self.unit)
        with ExitStack() as stack:
            stack.callback(console.close)
            print_configuration(console, [{**reported, **config.as_dict(), **reported}])
            run = SequenceRun(config, self.build, spec.layer_options(config), writer, console)
            losses = self.train(run)
            if not run.diverged:
                run.check()
            console.line("finished:")
            for name, loss in losses.items():
                console.line(f"  - {name}: {loss}")
        results.append(reported | _other_typed_flags(spec, config, reported) | losses)
        return math.isfinite(losses["loss_train"]) and not run.diverged


def _other_typed_flags(spec: ScriptSpec, config: Config, reported: dict) -> dict[str, object]:
    """Flags that tell a result from that of the published flags alone."""
    return {
        flag.dest: getattr(config, flag.dest)
        for flag in spec.flags
        if flag.result and config.is_typed(flag.dest) and flag.dest not in reported
    }
