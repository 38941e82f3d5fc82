"""The engine's iterations of all runs of a command line, without logs and checkpoints."""

import time
from collections.abc import Sequence
from dataclasses import replace

from stable_nalu.task.table import SCRIPTS, TASKS
from stable_nalu.training.checkpoint import LANES, PlannedRun
from stable_nalu.training.loop import Training


class Iterations:
    """Stacks that train; `turn` goes on where it stopped."""

    def __init__(self, script: str, lines: Sequence[str]):
        self.trainings = [_built(script, line) for line in lines]
        self.runs = sum(training.runs for training in self.trainings)
        first, *others = self.trainings
        first.share_samples(others)
        self._at = 1

    def turn(self, iterations: int) -> float:
        """Train, and return the microseconds of CPU time of a run and iteration."""
        began = time.process_time()
        engines = [training.engine for training in self.trainings if training.engine is not None]
        engines[0].sampling.iterate(engines, self._at, iterations)
        self._at += iterations
        return (time.process_time() - began) * 1e6 / (iterations * self.runs)


def _built(script: str, line: str) -> Training:
    spec = SCRIPTS[script]
    configs = spec.plan(line.split()).configs
    stack = [replace(PlannedRun.of(spec, config), engine=LANES) for config in configs]
    return Training(TASKS[script], stack)
