"""What a training script prints: configuration, progress lines, results."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np
import torch
from tqdm import tqdm

from .task import Task
from .trainer import LogPoint, Outcome

SOLVED_THRESHOLD = 1e-5
SHOWN_INPUTS = 10


class ProgressConsole:
    """Prints to standard output; a progress bar on standard error when that is a terminal."""

    def __init__(self, total: int, *, initial: int = 0, unit: str = "it"):
        self.bar = tqdm(
            total=total,
            initial=initial,
            unit=unit,
            disable=None,
            dynamic_ncols=True,
            mininterval=0.5,
        )

    def line(self, text: str = "") -> None:
        """A line on standard output that leaves the progress bar intact."""
        with self.bar.external_write_mode(file=sys.stdout):
            sys.stdout.write(text + "\n")
            sys.stdout.flush()

    def close(self) -> None:
        """Finish the progress bar."""
        self.bar.close()


class Console(ProgressConsole):
    """What the arithmetic scripts say of a log point."""

    def __init__(self, task: Task, *, runs: int, first: int, last: int):
        super().__init__(last + 1, initial=first)
        self.task = task
        self.runs = runs

    def log_point(self, point: LogPoint) -> None:
        """One line a log point: exact values for a single run, medians for many."""
        if self.task.console_interval and point.iteration % self.task.console_interval:
            return
        if self.runs > 1:
            self._log_many(point)
        elif self.task.evaluates:
            self.line(
                f"train {point.iteration}: {point.criterion[0]:.5f}, "
                f"inter: {point.errors.interpolation[0]:.5f}, "
                f"extra: {point.errors.extrapolation[0]:.5f}"
            )
        else:
            self.line(
                f"train {point.iteration}: {point.criterion[0]:.5f}, "
                f"reg loss: {point.penalty[0]:.5f}, total: {point.total[0]:.5f}"
            )

    def _log_many(self, point: LogPoint) -> None:
        if not self.task.evaluates:
            self.line(f"train {point.iteration}: median {np.nanmedian(point.criterion):.5f}")
            return
        solved = int((point.errors.extrapolation < SOLVED_THRESHOLD).sum())
        inter = np.nanmedian(point.errors.interpolation)
        extra = np.nanmedian(point.errors.extrapolation)
        self.bar.set_postfix_str(f"solved {solved}/{self.runs}, median extra {extra:.2g}")
        self.line(
            f"train {point.iteration}: solved {solved}/{self.runs}, "
            f"median train {np.nanmedian(point.criterion):.5g}, "
            f"inter: {inter:.5g}, extra: {extra:.5g}"
        )


def print_configuration(console: ProgressConsole, configs: Sequence[dict[str, object]]) -> None:
    """All flags; one that differs between runs is shown as a count of values."""
    console.line("running")
    for name in configs[0]:
        values = [config[name] for config in configs]
        distinct = {repr(value) for value in values}
        shown = values[0] if len(distinct) == 1 else f"{len(distinct)} values"
        console.line(f"  - {name}: {shown}")


def print_parameters(console: ProgressConsole, model: torch.nn.Module) -> None:
    """Every trainable parameter, by name."""
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            console.line(name)
            console.line(f"{parameter.data}")
    console.line()


def print_outcome(console: Console, task: Task, outcome: Outcome, restarts: int | None) -> None:
    """The closing lines of a single run, or a count of a stacked one."""
    console.line("finished:")
    if restarts is not None:
        console.line(f"Reinitialized {restarts} times")
    if len(outcome.total) > 1:
        if task.evaluates:
            solved = int((outcome.errors.extrapolation < SOLVED_THRESHOLD).sum())
            console.line(f"  - solved (extrapolation error < {SOLVED_THRESHOLD:g}): {solved}")
        console.line(f"  - runs: {len(outcome.total)}, diverged: {len(outcome.diverged_at)}")
        return
    console.line(f"  - loss_train: {outcome.total[0]}")
    if task.evaluates:
        console.line(f"  - loss_valid_inter: {outcome.errors.interpolation[0]}")
        console.line(f"  - loss_valid_extra: {outcome.errors.extrapolation[0]}")
