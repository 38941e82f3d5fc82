"""What a training script prints: configuration, progress lines, results."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

import numpy as np
import torch
from tqdm import tqdm

from ..arithmetic.task import Task
from ..arithmetic.trainer import LogPoint, Outcome

SOLVED_THRESHOLD = 1e-5


class ProgressConsole:
    """Prints to standard output; a progress bar on standard error when that is a terminal."""

    def __init__(self, total: int, *, initial: int = 0, unit: str = "it", title: str = ""):
        self.bar = tqdm(
            desc=title or None,
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

    def advance(self, steps: int) -> None:
        """Move the progress bar."""
        self.bar.update(steps)

    def close(self) -> None:
        """Finish the progress bar."""
        self.bar.close()


class Console(ProgressConsole):
    """A single run: exact values at every log point."""

    def __init__(self, task: Task, *, first: int, last: int):
        super().__init__(last + 1, initial=first)
        self.task = task

    def log_point(self, point: LogPoint) -> None:
        """One line, where the script prints one."""
        if self.task.console_interval and point.iteration % self.task.console_interval:
            return
        if self.task.evaluates:
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


class PlanConsole(ProgressConsole):
    """Many runs in several stacks: medians and solved counts, one bar over all of them."""

    def __init__(self, task: Task, *, runs: int, total: int, lines_every: int):
        super().__init__(total, unit="run-it")
        self.task = task
        self.runs = runs
        self._lines_every = lines_every
        self._extrapolation: dict[int, np.ndarray] = {}

    def log_point(self, stack: int, point: LogPoint) -> None:
        """Take note of a stack's log point; a line now and then."""
        values = point.errors.extrapolation if self.task.evaluates else point.criterion
        self._extrapolation[stack] = values
        known = np.concatenate(list(self._extrapolation.values()))
        what = "extra" if self.task.evaluates else "train"
        state = f"median {what} {np.median(known):.2g}"
        if self.task.evaluates:
            solved = int((known < SOLVED_THRESHOLD).sum())
            state = f"solved {solved}/{self.runs}, {state}"
        self.bar.set_postfix_str(state, refresh=False)
        if point.iteration % self._lines_every == 0:
            self.line(f"train {point.iteration}: {state}, stack {stack}")


class StackView:
    """What one stack of a plan shows, passed on through `send(method, *arguments)`."""

    def __init__(self, send: Callable[..., None], stack: int, runs: int):
        self._send = send
        self._stack = stack
        self._runs = runs
        self._pending = 0

    def line(self, text: str = "") -> None:
        """A line on standard output."""
        self._send("line", text)

    def advance(self, iterations: int) -> None:
        """Count iterations; the bar moves at log points."""
        self._pending += iterations * self._runs

    def log_point(self, point: LogPoint) -> None:
        """A log point of this stack."""
        self._flush()
        self._send("log_point", self._stack, point)

    def close(self) -> None:
        """Show what has not been shown yet."""
        self._flush()

    def _flush(self) -> None:
        self._send("advance", self._pending)
        self._pending = 0


View = Console | StackView


def print_configuration(console: ProgressConsole, configs: Sequence[dict[str, object]]) -> None:
    """All flags; one that differs between runs is shown as a count of values."""
    console.line("running")
    for name in configs[0]:
        values = [config[name] for config in configs]
        distinct = {repr(value) for value in values}
        shown = values[0] if len(distinct) == 1 else f"{len(distinct)} values"
        console.line(f"  - {name}: {shown}")


def print_parameters(console: ProgressConsole | StackView, model: torch.nn.Module) -> None:
    """Every trainable parameter, by name."""
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            console.line(name)
            console.line(f"{parameter.data}")
    console.line()


def print_outcome(console: View, task: Task, outcome: Outcome, restarts: int | None) -> None:
    """The closing lines of a single run."""
    console.line("finished:")
    if restarts is not None:
        console.line(f"Reinitialized {restarts} times")
    console.line(f"  - loss_train: {outcome.total[0]}")
    if task.evaluates:
        console.line(f"  - loss_valid_inter: {outcome.errors.interpolation[0]}")
        console.line(f"  - loss_valid_extra: {outcome.errors.extrapolation[0]}")
