"""The models of runs, one alone or many stacked as one: initialised, saved and put back.

Random states in checkpoints have one form, of plain values and tensors, for every generator.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch

from stable_nalu.abstract import ExtendedTorchModule, PerRunRandomSource, run_state, stack_models
from stable_nalu.dataset.distribution import LegacyRandom

from .checkpoint import restore_parameters
from .recorder import TaggedValue
from .runs import Stack
from .step import Gradients, TrainingStep, load_optimizer_state, optimizer_state
from .task import Task

Generator = torch.Generator | np.random.Generator | np.random.RandomState | LegacyRandom
NUMPY_SEEDS = 2**32


def seed_generators(seed: int) -> None:
    """Seed the global generators of torch and NumPy, from which layers of users may draw."""
    torch.manual_seed(seed)
    np.random.seed(seed % NUMPY_SEEDS)


def saved_state(generator: Generator | ModuleType) -> Any:
    """Return the state of a generator; `np.random`, the module, is NumPy's global one."""
    if isinstance(generator, torch.Generator):
        return generator.get_state()
    return _plain(_numpy_state(generator))


@cache
def seeded_state(seed: int) -> Any:
    """Return the state of NumPy's global generator as `seed_generators` leaves it."""
    return saved_state(np.random.RandomState(seed % NUMPY_SEEDS))


def put_back(generator: Generator | ModuleType, state: Any) -> None:
    """Let a generator go on from a state that `saved_state` returned."""
    if isinstance(generator, torch.Generator):
        generator.set_state(state)
    elif isinstance(generator, np.random.Generator | LegacyRandom):
        generator.bit_generator.state = _arrays(state)
    else:
        generator.set_state(_arrays(state))


def _numpy_state(generator: Any) -> Mapping[str, Any]:
    if isinstance(generator, np.random.Generator | LegacyRandom):
        return generator.bit_generator.state
    # Besides the words it has half of a pair of normal numbers.
    return generator.get_state(legacy=False)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items()}
    return torch.from_numpy(value.astype(np.int64)) if isinstance(value, np.ndarray) else value


def _arrays(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _arrays(part) for name, part in value.items()}
    return value.numpy().astype(np.uint32) if isinstance(value, torch.Tensor) else value


class TaskStep(TrainingStep):
    """A step that asks a task for its loss, and what is done with gradients."""

    def __init__(self, task: Task, model: ExtendedTorchModule, *, stacked: bool):
        penalties = task.penalties(model, stacked=stacked)
        super().__init__(task.configs, model, stacked=stacked, penalties=penalties)
        self.task = task

    def error(self, x: Any, t: Any, criterion: Any) -> torch.Tensor:
        return self.task.loss(self.model, x, t, criterion)

    def clipped(self, gradients: Gradients) -> Gradients:
        return self.task.clipped(gradients, self.parameters, super().clipped)

    def observe(self, verbose: bool) -> list[TaggedValue]:
        return self.task.observe(self.model, verbose)

    def logged_gradients(self, gradients: Gradients) -> dict[int, torch.Tensor | None]:
        return self.task.logged_gradients(self.model, super().logged_gradients(gradients))


class ModelStack:
    """The models of a stack of runs, their step, and the generators that they draw from."""

    def __init__(self, task: Task, runs: Stack):
        self.task, self.runs = task, runs
        self.stacked = runs[0].in_lanes
        self.model, self.random = self._seeded()
        self.step = TaskStep(task, self.model, stacked=self.stacked)

    def _seeded(self) -> tuple[ExtendedTorchModule, PerRunRandomSource | None]:
        """Build every run's model, initialised under its own seed, and stack them.

        The generators of stacked runs stand where initialising has left them.
        """
        if not self.stacked:
            return self._seeded_run(0).to(self.task.device), None
        models, generators = [], []
        with torch.random.fork_rng(devices=[]):
            for run in range(len(self.runs)):
                models.append(self._seeded_run(run))
                generators.append(torch.Generator())
                generators[-1].set_state(torch.get_rng_state())
        model = stack_models(models).to(self.task.device)
        random = PerRunRandomSource(generators)
        for module in model.extended_modules():
            module.random = random
        return model, random

    def _seeded_run(self, run: int) -> ExtendedTorchModule:
        config = self.runs[run].config
        seed_generators(config.seed)
        return self.task.initialized(config, self.runs[run].layer_options)

    def reset(self, run: int) -> None:
        """Initialise one run again, drawing from where its generator stands."""
        if self.random is None:
            self.model.reset_parameters()
            return
        own, generator = self.model.state_dict(), self.random.generators[run]
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            fresh = self.task.network(self.runs[run].config, self.runs[run].layer_options)
            # What the constructor alone draws, and statistics of batches, stay as they are.
            fresh.load_state_dict({name: value[run] for name, value in own.items()})
            torch.set_rng_state(generator.get_state())
            fresh.reset_parameters()
            generator.set_state(torch.get_rng_state())
            for name, value in fresh.state_dict().items():
                own[name][run].copy_(value)

    def broken(self) -> np.ndarray:
        """Return which runs have a weight that is not a number."""
        broken = torch.zeros(len(self.runs), dtype=torch.bool)
        for parameter in self.model.parameters():
            broken |= parameter.detach().isnan().reshape(len(self.runs), -1).any(-1).cpu()
        return broken.numpy()

    def _generator(self, run: int) -> torch.Generator:
        """Return the generator that the layers of a run draw from."""
        return torch.default_generator if self.random is None else self.random.generators[run]

    def saved(self, run: int) -> dict[str, Any]:
        """Return the state of one run: parameters, optimiser, generators, under published keys."""
        index, seed = run if self.stacked else None, self.runs[run].config.seed
        betas = self.step.penalties.betas
        return {
            "model_state_dict": run_state(self.model.state_dict(), index),
            "optimizer_state_dict": optimizer_state(self.step.optimizer, index),
            "torch_rng_state": saved_state(self._generator(run)),
            "numpy_rng_state": seeded_state(seed) if self.random else saved_state(np.random),
            "beta": str(betas[run].value) if betas else None,
        }

    def restore(self, run: int, saved: Mapping[str, Any], path: Path, flag: str) -> None:
        """Put the state of one run back; `path` and `flag` are what errors name."""
        index, own = run if self.stacked else None, self.model.state_dict()
        targets = {name: value if index is None else value[index] for name, value in own.items()}
        restore_parameters(targets, saved["model_state_dict"], path, flag)
        load_optimizer_state(self.step.optimizer, saved["optimizer_state_dict"], index)
        put_back(self._generator(run), saved["torch_rng_state"])
        if self.random is None:
            put_back(np.random, saved["numpy_rng_state"])
        if self.step.penalties.betas:
            self.step.penalties.betas[run].value = Decimal(saved["beta"])

    def snapshot(self) -> Callable[[], None]:
        """Return what puts generators and buffers back to where they are now."""
        generators = [np.random, *map(self._generator, range(len(self.runs)))]
        states = list(map(saved_state, generators))
        buffers = [(buffer, buffer.clone()) for buffer in self.model.buffers()]

        @torch.no_grad()
        def undo() -> None:
            for generator, state in zip(generators, states, strict=True):
                put_back(generator, state)
            for buffer, before in buffers:
                buffer.copy_(before)

        return undo
