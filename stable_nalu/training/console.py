"""What a training script prints: configuration, progress lines, results."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

import numpy as np
from tqdm import tqdm

from stable_nalu.script import say
from stable_nalu.statistics.setups import Limit, below

LINES_OF_A_PLAN = 10

_is_quiet = ContextVar("_is_quiet", default=False)


@contextmanager
def quiet() -> Iterator[None]:
    """Print no line of this thread's while the context lasts; others may print theirs."""
    token = _is_quiet.set(True)
    try:
        yield
    finally:
        _is_quiet.reset(token)


def print_line(text: str) -> None:
    """Print a line on standard output, at once also where that is a file."""
    if not _is_quiet.get():
        say(text)


@dataclass(frozen=True)
class LogPoint:
    """What the console gets to see of a log point.

    values: one number per run, of which a plan shows the median. text: the line of a single run,
    if any. limits: where values are errors on test data, when each run counts as solved.
    """

    at: int
    values: np.ndarray
    text: str
    limits: Sequence[Limit] = ()

    @property
    def solved(self) -> int:
        """Return how many runs are solved."""
        return sum(limit.met(e) for limit, e in zip(self.limits, self.values, strict=True))


class ProgressConsole:
    """Prints to standard output; a progress bar on standard error when that is a terminal."""

    def __init__(self, *, unit: str, total: int = 0, title: str = ""):
        self.bar = tqdm(
            desc=title or None,
            total=total,
            unit=unit,
            disable=None,
            dynamic_ncols=True,
            mininterval=0.5,
        )

    def line(self, text: str = "") -> None:
        """Print a line on standard output and leave the progress bar intact."""
        with self.bar.external_write_mode(file=sys.stdout):
            print_line(text)

    def advance(self, steps: int) -> None:
        """Move the progress bar."""
        self.bar.update(steps)

    def close(self) -> None:
        """Finish the progress bar."""
        self.bar.close()


class Console(ProgressConsole):
    """The console of a single run, which shows exact values."""

    def begin(self, length: int, done: int) -> None:
        """Start the progress bar, `done` of whose `length` steps are behind the run."""
        self.bar.reset(length)
        self.bar.initial = self.bar.n = done

    def log_point(self, point: LogPoint) -> None:
        """Print the line of a log point, if it has one."""
        if point.text:
            self.line(point.text)


class PlanConsole(ProgressConsole):
    """The console of many runs in several stacks: medians, solved counts, one bar over all."""

    def __init__(self, *, runs: int, total: int, last: int):
        super().__init__(unit="run-it", total=total)
        self.runs = runs
        self._last = last
        self._lines_every = max(1, last // LINES_OF_A_PLAN)
        self._points: dict[int, LogPoint] = {}

    def log_point(self, stack: int, point: LogPoint) -> None:
        """Take note of a stack's log point; print a line now and then."""
        self._points[stack] = point
        points = self._points.values()
        known = np.concatenate([one.values for one in points])
        state = f"median {'extra' if point.limits else 'train'} {np.median(known):.2g}"
        if point.limits:
            solved = sum(one.solved for one in points)
            limit = below(limit.threshold for one in points for limit in one.limits)
            state = f"solved {solved}/{self.runs} {limit}, {state}"
        self.bar.set_postfix_str(state, refresh=False)
        if point.at % self._lines_every == 0 or point.at == self._last:
            self.line(f"train {point.at}: {state}, stack {stack}")


class StackView:
    """The console of one stack of a plan, which passes all on to `send(method, *arguments)`."""

    def __init__(self, send: Callable[..., None], stack: int, runs: int):
        self._send = send
        self._stack = stack
        self._runs = runs
        self._pending = 0

    def begin(self, length: int, done: int) -> None:
        """Do nothing: the bar of the plan has started."""

    def line(self, text: str = "") -> None:
        """Print a line on standard output."""
        self._send("line", text)

    def advance(self, iterations: int) -> None:
        """Count iterations; the bar moves at log points."""
        self._pending += iterations * self._runs

    def log_point(self, point: LogPoint) -> None:
        """Show a log point of this stack."""
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
    """Print all flags; of one that differs between runs, how many values it has."""
    console.line("running")
    for name in configs[0]:
        values = [config[name] for config in configs]
        distinct = {repr(value) for value in values}
        shown = values[0] if len(distinct) == 1 else f"{len(distinct)} values"
        console.line(f"  - {name}: {shown}")
