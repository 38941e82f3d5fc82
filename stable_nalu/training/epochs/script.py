"""The body of every script that counts epochs: parse, train its runs in turn, exit code."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import torch

from stable_nalu.errors import UsageError
from stable_nalu.machine import cores
from stable_nalu.options import Config, ScriptSpec

from ..command import device_of, memory_errors_as_usage_errors, open_writer, run_command
from ..logging.console import ProgressConsole, print_configuration
from ..logging.recorder import Recorder
from ..plan.interruption import Interruption
from ..plan.runs import PlannedRun, continued, read_checkpoint, resume_point, saved_states, settle
from ..plan.shell import EPOCHS, StackResult, plan_exit_code, require_folders, unfinished
from .loop import PROGRESS, EpochLoop, EpochRun

BuildRun = Callable[[Config, dict[str, Any], torch.device], EpochRun]


@dataclass(frozen=True)
class EpochScript:
    """A script by name and what builds one of its runs: seeded, on its device, ready to train.

    `build(config, layer options, device)` raises ValueError for what cannot be built. `look` is
    what `--evaluate` asks for instead of training, in scripts that have that flag.
    """

    name: str
    build: BuildRun
    look: Callable[[ScriptSpec, Config], int] | None = None

    def run(self, argv: Sequence[str] | None = None) -> int:
        """The whole script, on all cores: image networks gain from them."""
        return run_command(self.name, argv, self._obey, threads=cores())

    def _obey(self, spec: ScriptSpec, configs: Sequence[Config]) -> int:
        if self.look is not None and configs[0].evaluate is not None:
            return self.look(spec, configs[0])
        return self._train_plan(spec, configs)

    def _train_plan(self, spec: ScriptSpec, configs: Sequence[Config]) -> int:
        """Train what is not finished yet; the exit code says how it ended."""
        plan = [PlannedRun(config, spec.run_name(config)) for config in configs]
        states = {run.name: saved_states(spec, run, PROGRESS) for run in plan}
        alone = [part for run in plan for part in continued([run], states)]
        left, before = unfinished(alone, states, EPOCHS)
        results = [StackResult(diverged=before)]
        with Interruption() as interruption:
            if left:
                require_folders(spec, left, states)
                self._check(spec, [run for (run,) in left])
            for number, (run,) in enumerate(left):
                bar = f"run {number + 1}/{len(left)}" if len(left) > 1 else ""
                results.append(self._train_run(spec, run, interruption, bar))
                if results[-1].interrupted_at is not None:
                    break
        return plan_exit_code(results, interruption, EPOCHS)

    def _check(self, spec: ScriptSpec, runs: Sequence[PlannedRun]) -> None:
        """Refuse what cannot be loaded or built before any folder is made."""
        by_flags = {repr({**run.config.as_dict(), "seed": None}): run for run in runs}
        for run in by_flags.values():
            self._build(spec, run)

    def _build(self, spec: ScriptSpec, run: PlannedRun) -> EpochRun:
        try:
            with memory_errors_as_usage_errors():
                return self.build(run.config, spec.layer_options(run.config), device_of(run.config))
        except ValueError as error:
            raise UsageError(str(error)) from None

    def _train_run(
        self, spec: ScriptSpec, planned: PlannedRun, interruption: Interruption, bar: str
    ) -> StackResult:
        torch.backends.cudnn.deterministic = True
        config = planned.config
        checkpoint = None if planned.source is None else read_checkpoint(planned.source, PROGRESS)
        run = self._build(spec, planned)
        with memory_errors_as_usage_errors(), ExitStack() as stack:
            batches = len(run.batches) * (config.max_epochs + 1)
            done = 0 if checkpoint is None else checkpoint["progress"]["step"]
            view = ProgressConsole(batches, initial=done, unit="batch", title=bar)
            stack.callback(view.close)
            loop = EpochLoop(run, config, planned.name, view)
            # Before the log is cut back to where the checkpoint was taken: this may not fit.
            point = None
            if checkpoint is not None:
                loop.restore(checkpoint)
                point = resume_point(checkpoint)
            writer = open_writer(stack, spec, config, planned.name, point)
            settle(planned)
            run.recorder = Recorder([writer], stacked=False)
            print_configuration(view, [config.as_dict()])
            view.line(f"{run.model}\n\n{planned.name}\n")
            if checkpoint is not None:
                view.line("Checkpoint loaded")
            return _train(loop, interruption)


def _train(loop: EpochLoop, interruption: Interruption) -> StackResult:
    finished = loop.train(interruption)
    loop.run.recorder.flush()
    loop.save()
    if not finished:
        return StackResult(interrupted_at=loop.place.epoch)
    results = loop.run.results()
    loop.view.line("finished:")
    for name, value in results.items():
        loop.view.line(f"  - {name}: {value}")
    for name, parameter in loop.run.shown_parameters():
        loop.view.line(f"{name}\n{parameter.data}")
    infinite = not all(math.isfinite(value) for value in results.values())
    return StackResult(diverged=loop.diverged_at is not None or infinite)
