"""Time stretches of a stack's training from within, in turn with what it is compared to."""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Callable, Mapping, Sequence

from stable_nalu.options import SCRIPTS
from stable_nalu.script import Interruption
from stable_nalu.training.logging.console import StackView
from stable_nalu.training.plan.runs import PlannedRun
from stable_nalu.training.plan.shell import train_side_by_side
from stable_nalu.training.script import kind_of

from .clock import Cost

Rival = Callable[[], Cost]


class Stopwatch(StackView):
    """A view that reads the clocks whenever `iterations` have passed, then lets rivals have a turn.

    The first stretch, with all that happens once, is not counted. The training is stopped after
    `repeats` more.
    """

    def __init__(
        self,
        iterations: int,
        repeats: int,
        rivals: Mapping[str, Rival],
        interruption: Interruption,
    ):
        super().__init__(_nowhere, 0, 1)
        self._iterations = iterations
        self._repeats = repeats
        self._rivals = rivals
        self._interruption = interruption
        self._passed = 0
        self._start: Cost | None = None
        self.own: list[Cost] = []
        self.others: dict[str, list[Cost]] = {name: [] for name in rivals}

    def advance(self, iterations: int) -> None:
        """Count iterations."""
        self._passed += iterations
        if self._passed % self._iterations:
            return
        counts = self._start is not None
        if self._start is not None:
            self.own.append((Cost.now() - self._start) / self._iterations)
        for name, rival in self._rivals.items():
            cost = rival()
            if counts:
                self.others[name].append(cost)
        if len(self.own) == self._repeats:
            self._interruption.signal_number = signal.SIGINT
        self._start = Cost.now()


def _nowhere(*message: object) -> None:
    """Drop what a stack wants to show."""


def planned(script: str, words: str) -> list[PlannedRun]:
    """Return all runs of a command line."""
    spec = SCRIPTS[script]
    configs = spec.plan(words.split()).configs
    return [
        PlannedRun(config, spec.run_name(config), stack_runs=len(configs)) for config in configs
    ]


def train(
    script: str, words: str | Sequence[str], view: StackView, interruption: Interruption
) -> None:
    """Train all runs of a command line in one stack, in this process; of several, side by side.

    The view sees the first stack.
    """
    lines = [words] if isinstance(words, str) else words
    views = [view, *(StackView(_nowhere, k, 1) for k in range(1, len(lines)))]
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TENSORBOARD_DIR"] = os.environ["SAVE_DIR"] = folder
        stacks = [planned(script, line) for line in lines]
        train_side_by_side(kind_of(script), SCRIPTS[script], stacks, views, interruption)
