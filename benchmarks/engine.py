"""The engine's iterations of all runs of a command line, without logs and checkpoints."""

from __future__ import annotations

import time
from collections.abc import Sequence

import torch

from stable_nalu.task import SCRIPTS
from stable_nalu.task.run import trainer_of
from stable_nalu.training.arithmetic.trainer import ArithmeticTraining
from stable_nalu.training.stack import Setup


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
        for engine in engines:
            engine.ask(self._at, iterations)
        for engine in engines:
            engine.iterate(self._at, iterations)
        self._at += iterations
        return (time.process_time() - began) * 1e6 / (iterations * self.runs)


def _built(script: str, line: str) -> ArithmeticTraining:
    spec = SCRIPTS[script]
    configs = spec.plan(line.split()).configs
    names = [spec.run_name(config) for config in configs]
    options = [spec.layer_options(config) for config in configs]
    setup = Setup(configs, names, options, torch.device("cpu"), stacked=True)
    training = trainer_of(script).build(setup)
    assert isinstance(training, ArithmeticTraining)
    return training
