"""Training that the two recurrent scripts share: model, loss, log and results."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from stable_nalu.errors import UsageError
from stable_nalu.functional import mse
from stable_nalu.machine import results_root
from stable_nalu.options import Config
from stable_nalu.task import SCRIPTS

from ..console import Console, LogPoint
from ..loss import SummedPenalties
from ..recorder import scalar
from ..stack import BuildNetwork, Setup, StackTraining, numbers, seeded_models
from ..step import Observed, StepResult, TrainingStep

Batch = tuple[torch.Tensor, torch.Tensor]


class ResultFile:
    """`<results root>/<name>.ndjson`, one JSON object per run and line.

    It is created at once, so that nothing trains in vain.
    """

    def __init__(self, name: str):
        self.path = results_root() / f"{name}.ndjson"
        self._write("")

    def append(self, record: Mapping[str, object], *, once: bool = False) -> None:
        """Add a line; a number that JSON does not know (NaN, infinity) becomes null.

        once: leave the file as it is when it has that line already.
        """
        known = {key: None if _is_unknown(value) else value for key, value in record.items()}
        line = json.dumps(known, allow_nan=False) + "\n"
        if not (once and line in self.path.read_text(encoding="utf-8").splitlines(keepends=True)):
            self._write(line)

    def _write(self, text: str) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            raise UsageError(
                f"cannot write {self.path}: {error.strerror}; set RESULTS_DIR elsewhere"
            ) from None


def _is_unknown(value: object) -> bool:
    return isinstance(value, float) and not math.isfinite(value)


class RecurrentTraining(StackTraining):
    """Trains recurrent networks by Adam at 1e-3.

    The loss is MSE + 0.1 (1 - exp(-1e-5 i)) times the sum of the penalties W, g, z and W-OOB that
    the cells have. The results of finished runs are collected in one file per script.

    reported: flags that come first on the console and make up a result, in published order.
    errors: the final losses that are errors, by their tags for the HParams plugin.
    """

    reported: Sequence[str]
    errors: Mapping[str, str]

    def __init__(self, setup: Setup, build: BuildNetwork):
        model, random = seeded_models(setup, build)
        step = TrainingStep(setup.configs, model, stacked=setup.stacked, penalties=SummedPenalties)
        super().__init__(setup, model, step, random)
        self._results = ResultFile(self.config.script)
        self._losses: dict[str, np.ndarray] = {}

    @torch.no_grad()
    def error(self, x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
        """Return the mean squared error; as published, in training mode and with sampling."""
        x, t = self._own(x, t)
        return mse(self.model(x), t)

    def write(self, tag: str, value: torch.Tensor) -> None:
        """Log a scalar of this step."""
        self.recorder.write([scalar(tag, value)])

    def begin(self, clock: int, *, at_log_point: bool) -> bool:
        """Start the step `clock`; return False if it is a log point and no run is left."""
        self.clock = clock
        self._schedule = self.step.prepare(clock)
        if at_log_point:
            self.freeze_diverged()
            self.recorder.flush()
        return not (at_log_point and self.all_diverged)

    def train_batch(self, batch: Batch, *, modules: bool, gradients: bool) -> StepResult:
        """Make one update by a batch of all runs, and log it."""
        x, t = self._own(*batch)
        observed = Observed(modules, modules, gradients, verbose=True)
        result = self.step.run_logged(
            x, t, self._schedule, self.recorder, observed, StepResult.losses
        )
        self.last_total = result.total
        self.recorder.commit(self.clock)
        return result

    def train_silently(self, batch: Batch) -> None:
        """Make one update by a batch of all runs."""
        x, t = self._own(*batch)
        self.last_total = self.step.run_prepared(self._schedule, x, t).total

    def show(self, result: StepResult) -> None:
        """Let the console see the loss of a log point."""
        criterion = numbers(result.criterion)
        text = f"train {self.at}: {criterion[0]}"
        self.view.log_point(LogPoint(self.at, criterion, text))

    def joined(self, batches: Sequence[Batch]) -> Batch:
        """Stack one batch per run; of a run alone, return its batch as it is."""
        if not self.stacked:
            return batches[0]
        x, t = zip(*batches, strict=True)
        return torch.stack(x), torch.stack(t)

    def _own(self, x: torch.Tensor, t: torch.Tensor) -> Batch:
        like = self.step.parameters[0]
        return x.to(like.device), t.to(like)

    def final_losses(self) -> dict[str, torch.Tensor]:
        """Return the losses of trained runs by name, `loss_train` among them."""
        raise NotImplementedError

    def finish(self) -> bool:
        # A longer run that resumes from here has drawn nothing for this evaluation.
        put_back = self.snapshot()
        self._losses = {name: numbers(loss) for name, loss in self.final_losses().items()}
        put_back()
        self.freeze_diverged()
        for run, config in enumerate(self.setup.configs):
            losses = {name: float(loss[run]) for name, loss in self._losses.items()}
            reported = self.report_of(config)
            record = reported | _other_typed_flags(config, reported) | losses
            self._results.append(record, once=config.resume)
        finite = np.isfinite(self._losses["loss_train"]).all()
        return bool(self.diverged_at) or not finite

    def final_errors(self) -> Mapping[str, np.ndarray]:
        return {tag: self._losses[name] for tag, name in self.errors.items()}

    def report(self) -> None:
        if isinstance(self.view, Console):
            self.view.line("finished:")
            for name, loss in self._losses.items():
                self.view.line(f"  - {name}: {loss[0]}")

    @classmethod
    def report_of(cls, config: Config) -> dict[str, Any]:
        """Return the flags of a result and their values."""
        reported = {name: getattr(config, name) for name in cls.reported}
        return reported | {"cuda": torch.cuda.is_available() and not config.no_cuda}

    @classmethod
    def shown(cls, config: Config) -> dict[str, Any]:
        """Return what the console shows of a configuration: the flags of a result first."""
        reported = cls.report_of(config)
        return {**reported, **config.as_dict(), **reported}


def _other_typed_flags(config: Config, reported: Mapping[str, object]) -> dict[str, object]:
    """Return flags that tell a result from that of the published flags alone."""
    return {
        flag.dest: getattr(config, flag.dest)
        for flag in SCRIPTS[config.script].flags
        if flag.result and config.is_typed(flag.dest) and flag.dest not in reported
    }
