"""Runs in training, one alone or many stacked ones: their model, log and saved state."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import torch

from stable_nalu.abstract import ExtendedTorchModule, PerRunRandomSource, run_state, stack_models
from stable_nalu.machine import save_root
from stable_nalu.options import Config, ScriptSpec
from stable_nalu.statistics.setups import Limit
from stable_nalu.tags import DIVERGED, RESULT_SOLVED, RESULT_TEST

from .checkpoint import (
    asked_by,
    damage_as_usage_error,
    model_file,
    plain,
    restore_parameters,
    save_together,
)
from .console import View
from .optimizer import load_optimizer_state, optimizer_state
from .random_state import put_back, saved_state, seed_generators, seeded_state
from .recorder import Recorder, TaggedValue
from .step import TrainingStep
from .task import Unit

BuildNetwork = Callable[[Config, dict[str, Any]], ExtendedTorchModule]


@dataclass(frozen=True)
class Setup:
    """What a stack is built from: configuration, name and layer options of each run.

    start: the first unit to train.
    """

    configs: Sequence[Config]
    names: Sequence[str]
    layer_options: Sequence[dict[str, Any]]
    device: torch.device
    stacked: bool
    start: int = 0


class StackTraining:
    """One run, or many stacked ones, from its start or a saved state to its end.

    A single run is a stack, too, where the engine trains it.

    A subclass says how it trains. `at` is the unit (iteration or epoch) that is trained next,
    `clock` the step under which values are logged, which `clock_name` counts.
    """

    clock_name = "iteration"
    last_row: Sequence[TaggedValue] = ()
    """What is logged of trained runs, where no log point is at the end."""
    limits: Sequence[Limit] = ()
    """When each run counts as solved, where the task says it."""
    length: int
    """Steps of the progress bar in all."""

    def __init__(
        self,
        setup: Setup,
        model: ExtendedTorchModule,
        step: TrainingStep,
        random: PerRunRandomSource | None = None,
    ):
        self.setup = setup
        self.config = setup.configs[0]
        self.runs = len(setup.configs)
        self.stacked = setup.stacked
        self.device = setup.device
        self.model = model
        self.step = step
        self.random = random
        self.at = setup.start
        self.clock = 0
        self.diverged_at: dict[int, int] = {}
        self.last_total: torch.Tensor | None = None
        self.recorder: Recorder
        self.view: View

    @property
    def done(self) -> int:
        """Return how many steps of the progress bar are done."""
        return self.at

    @property
    def end_clock(self) -> int:
        """Return the step under which errors of the trained runs are logged."""
        return self.clock

    @property
    def weights(self) -> int:
        """Return how many numbers an update changes, in all runs."""
        return sum(parameter.numel() for parameter in self.step.parameters)

    def open(self, recorder: Recorder, view: View) -> None:
        """Take over the event files and the console of these runs."""
        self.recorder, self.view = recorder, view
        for run in self.diverged_at:
            recorder.live[run] = False

    def introduce(self) -> None:
        """Show on the console what a single run trains."""

    def train(self) -> Generator[int | None, None, None]:
        """Train, and yield wherever training may stop: `at`, or None within a unit."""
        raise NotImplementedError

    def share_samples(self, others: Sequence[StackTraining]) -> None:
        """Draw once what other trainings draw too, which stand at the same unit and take turns."""

    def finish(self) -> bool:
        """Evaluate after the last update; return whether a run diverged."""
        raise NotImplementedError

    def final_errors(self) -> Mapping[str, np.ndarray]:
        """Return errors of all finished runs by their tags for the HParams plugin, if any."""
        return {}

    def conclude(self, step: int) -> None:
        """Log the results of all runs at the last step; of diverged ones NaN, where they did.

        Errors of the trained runs come first, unless a log point has told them.
        """
        self.recorder.begin_end()
        self.recorder.write(self.last_row)
        self.recorder.commit(self.end_clock)
        errors = self.final_errors()
        for run, writer in enumerate(self.recorder.writers):
            diverged = run in self.diverged_at
            ended = self.diverged_at.get(run, step)
            found = {tag: math.nan if diverged else float(e[run]) for tag, e in errors.items()}
            if RESULT_TEST in found and self.limits:
                found[RESULT_SOLVED] = float(self.limits[run].met(found[RESULT_TEST]))
            writer.conclude(ended, found)

    def report(self) -> None:
        """Show on the console how training ended, once everything is saved."""

    def progress(self, run: int) -> dict[str, Any]:
        """Return what a resumed run needs besides model, optimiser, generator and log."""
        raise NotImplementedError

    def set_progress(self, run: int, progress: Mapping[str, Any]) -> None:
        """Put the progress of a run back."""
        raise NotImplementedError

    def pause(self) -> None:
        """Bring all state to where the finished updates have left it."""

    def checkpoint_path(self, run: int) -> Path:
        """Return where the checkpoint of a run is saved."""
        return model_file(save_root(), self.setup.names[run])

    def save(self, at: int) -> None:
        """Write the checkpoints of all runs; `at` is the first unit that a resumed run trains."""
        self.pause()
        state = self.model.state_dict()
        save_together(
            (self.checkpoint_path(run), self._checkpoint(run, at, state))
            for run in range(self.runs)
        )

    def _checkpoint(self, run: int, at: int, state: dict[str, torch.Tensor]) -> dict:
        index = run if self.stacked else None
        writer = self.recorder.writers[run]
        # A checkpoint that outlives a power failure needs the log that it refers to.
        writer.events.sync()
        progress = self.progress(run) | {
            "diverged_at": self.diverged_at.get(run),
            "last_loss": None if self.last_total is None else float(numbers(self.last_total)[run]),
            "event_file": writer.events.path.name,
            "event_position": writer.position,
        }
        if self.step.penalties.betas:
            progress["beta"] = str(self.step.penalties.betas[run].value)
        config, alone = self.setup.configs[run], self.random is None
        return {
            "epoch": at,
            "model_state_dict": run_state(state, index),
            "optimizer_state_dict": optimizer_state(self.step.optimizer, index),
            "torch_rng_state": saved_state(self._generator(run)),
            "numpy_rng_state": saved_state(np.random) if alone else seeded_state(config.seed),
            "args": None,
            "config": plain(config.as_dict()),
            "progress": progress,
        }

    def _generator(self, run: int) -> torch.Generator:
        """Return the generator that the layers of a run draw from."""
        return torch.default_generator if self.random is None else self.random.generators[run]

    def restore(self, checkpoints: Sequence[dict]) -> None:
        """Go on where the checkpoints of all runs were taken."""
        own = self.model.state_dict()
        for run, checkpoint in enumerate(checkpoints):
            with damage_as_usage_error(self.checkpoint_path(run), asked_by(self.config)):
                self._restore_run(own, checkpoint, run)
        losses = [checkpoint["progress"].get("last_loss") for checkpoint in checkpoints]
        if None not in losses:
            # A loss that is not a number ends a run at the next log point.
            found = losses if self.stacked else losses[0]
            self.last_total = torch.tensor(found, dtype=torch.float64)

    def _restore_run(self, own: dict[str, torch.Tensor], checkpoint: dict, run: int) -> None:
        index = run if self.stacked else None
        targets = {name: value if index is None else value[index] for name, value in own.items()}
        path, flag = self.checkpoint_path(run), asked_by(self.config)
        restore_parameters(targets, checkpoint["model_state_dict"], path, flag)
        load_optimizer_state(self.step.optimizer, checkpoint["optimizer_state_dict"], index)
        put_back(self._generator(run), checkpoint["torch_rng_state"])
        if self.random is None:
            put_back(np.random, checkpoint["numpy_rng_state"])
        self.at = checkpoint["epoch"]
        progress = checkpoint["progress"]
        if progress["diverged_at"] is not None:
            self.diverged_at[run] = progress["diverged_at"]
        if self.step.penalties.betas:
            self.step.penalties.betas[run].value = Decimal(progress["beta"])
        self.set_progress(run, progress)

    def snapshot(self) -> Callable[[], None]:
        """Return what puts generators, buffers and progress back to where they are now."""
        generators = [np.random, *map(self._generator, range(self.runs))]
        states = list(map(saved_state, generators))
        progress = [self.progress(run) for run in range(self.runs)]
        buffers = [(buffer, buffer.clone()) for buffer in self.model.buffers()]

        @torch.no_grad()
        def restore() -> None:
            for generator, state in zip(generators, states, strict=True):
                put_back(generator, state)
            for run, own in enumerate(progress):
                self.set_progress(run, own)
            for buffer, before in buffers:
                buffer.copy_(before)

        return restore

    @contextmanager
    def generator_of(self, run: int) -> Iterator[None]:
        """Let torch's global generator be that of a run while the context lasts."""
        if self.random is None:
            yield
            return
        own = self.random.generators[run]
        with torch.random.fork_rng(devices=[]):
            torch.set_rng_state(own.get_state())
            yield
            own.set_state(torch.get_rng_state())

    @property
    def all_diverged(self) -> bool:
        """Return whether no run is left to train."""
        return len(self.diverged_at) == self.runs

    def freeze_diverged(self) -> None:
        """Report runs with a weight or a loss that is not a number, and end their logs."""
        broken = torch.zeros(self.runs, dtype=torch.bool)
        for parameter in self.model.parameters():
            broken |= parameter.detach().isnan().reshape(self.runs, -1).any(-1).cpu()
        self.freeze(broken.numpy(), "a weight is not a number")
        if self.last_total is not None:
            self.freeze(np.isnan(numbers(self.last_total)), "the loss is not a number")

    def freeze(self, broken: np.ndarray, reason: str) -> None:
        """Report runs that are `broken` for the first time, and end their logs."""
        for run in broken.nonzero()[0].tolist():
            if run not in self.diverged_at:
                self.diverged_at[run] = self.clock
                message = f"diverged: {reason} at {self.clock_name} {self.clock}"
                self.recorder.text(run, DIVERGED, message)
                self.recorder.writers[run].commit(self.clock)
                self.recorder.live[run] = False
                self.view.line(self.named(run, message))

    def named(self, run: int, message: str) -> str:
        """Return a message that says which run it is about, if there are several."""
        return f"run {run}: {message}" if self.runs > 1 else message


class Trainer:
    """How the runs of a script are trained; a subclass overrides what differs."""

    unit: Unit
    progress: Mapping[str, Any]
    """Names and types of what a checkpoint must hold."""
    cost = 1
    """Iterations of a small layer that take as long as a unit."""
    all_cores = False
    """Whether one run gains from all cores."""
    probes = True
    """Whether every configuration is built once before any folder is made."""
    by_engine = False
    """Whether the engine may train runs; else each is alone, as torch rounds by shapes."""

    def build(self, setup: Setup) -> StackTraining:
        """Return the training of a stack; ValueError says what cannot be built."""
        raise NotImplementedError

    def shown(self, config: Config) -> dict[str, Any]:
        """Return what the console shows of a configuration."""
        return config.as_dict()

    def look(self, spec: ScriptSpec, config: Config) -> int | None:
        """Look at a trained model, if that is asked for, and return the exit code."""
        return None

    def width(self, config: Config) -> int:
        """Return how many numbers a run reads per iteration, which bounds the size of stacks."""
        return 1

    def reason_for_torch(self, config: Config, layer_options: dict[str, Any]) -> str | None:
        """Return why the engine cannot train a configuration, if it cannot."""
        return None

    def engine_texts(self, config: Config, layer_options: dict[str, Any]) -> list[str]:
        """Return the C++ that the engine makes of a configuration."""
        return []


def seeded_models(
    setup: Setup, build: BuildNetwork
) -> tuple[ExtendedTorchModule, PerRunRandomSource | None]:
    """Build every run's model, initialised under its own seed, and stack them.

    Parameters are initialised twice, by the constructor and again: published runs train on the
    second draw. The generators of stacked runs stand where initialising has left them.
    """
    models, generators = [], []
    if not setup.stacked:
        return _seeded(setup, build, 0).to(setup.device), None
    with torch.random.fork_rng(devices=[]):
        for run in range(len(setup.configs)):
            models.append(_seeded(setup, build, run))
            generators.append(torch.Generator())
            generators[-1].set_state(torch.get_rng_state())
    model = stack_models(models).to(setup.device)
    random = PerRunRandomSource(generators)
    for module in model.extended_modules():
        module.random = random
    return model, random


def _seeded(setup: Setup, build: BuildNetwork, run: int) -> ExtendedTorchModule:
    seed_generators(setup.configs[run].seed)
    model = build(setup.configs[run], setup.layer_options[run])
    model.reset_parameters()
    return model


def numbers(value: torch.Tensor) -> np.ndarray:
    """Return one float64 number per run."""
    return value.detach().cpu().reshape(-1).to(torch.float64).numpy()


def device_of(config: Config) -> torch.device:
    """Return the GPU where there is one, unless the configuration stays on the CPU."""
    cuda = torch.cuda.is_available() and not config.no_cuda
    return torch.device("cuda" if cuda else "cpu")
