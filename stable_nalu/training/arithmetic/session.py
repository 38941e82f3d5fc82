"""One trainer's surroundings: models, data, run folders, checkpoints, from configurations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path

import torch

from stable_nalu.ensemble import PerRunRandomSource, run_state, stack_models
from stable_nalu.errors import UsageError
from stable_nalu.machine import save_root

from ..saved.checkpoint import (
    damage_as_usage_error,
    model_file,
    restore_parameters,
    run_content,
    save_together,
    set_numpy_rng_state,
)
from ..step.optimizer import load_optimizer_state, optimizer_state
from ..step.step import TrainingStep
from .data import Data, build_data
from .task import Task

DTYPES = {32: torch.float32, 64: torch.float64}


@contextmanager
def default_dtype(precision: int) -> Iterator[None]:
    """Float type of parameters and data while the context lasts."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(DTYPES[precision])
    try:
        yield
    finally:
        torch.set_default_dtype(before)


class Session:
    """Model, data and optimiser of one run, or of many stacked ones, and their saved states."""

    def __init__(
        self,
        task: Task,
        configs: Sequence,
        layer_options: Sequence[dict[str, object]],
        names: Sequence[str],
        *,
        stacked: bool,
        device: torch.device,
        start: int = 0,
    ):
        self.task = task
        self.configs = list(configs)
        self.names = list(names)
        self.stacked = stacked
        self.device = device
        self.start = start
        self._options = list(layer_options)
        last = self.configs[0].max_iterations
        try:
            self.data: Data = build_data(
                task, self.configs, stacked=stacked, device=device, iterations=last + 1 - start
            )
            self.model = self._build_model()
        except ValueError as error:
            raise UsageError(str(error)) from None
        for module in self.model.extended_modules():
            module.robustness_logging = task.robustness_logging
        self.step = TrainingStep(
            self.configs, self.model, stacked=stacked, beta_only_grows=task.beta_only_grows
        )
        self.best = [float("inf")] * len(self.configs)

    def _build_model(self):
        """Every run's model, initialised under its own seed, then stacked.

        Parameters are initialised twice, by the constructor and again: published runs train on the
        second draw.
        """
        if not self.stacked:
            torch.manual_seed(self.configs[0].seed)
            model = self.task.build(self.configs[0], self._options[0])
            model.reset_parameters()
            return model.to(self.device)
        models, generators = [], []
        with torch.random.fork_rng(devices=[]):
            for config, options in zip(self.configs, self._options, strict=True):
                torch.manual_seed(config.seed)
                model = self.task.build(config, options)
                model.reset_parameters()
                models.append(model)
                generator = torch.Generator()
                generator.set_state(torch.get_rng_state())
                generators.append(generator)
            self._scratch = self.task.build(self.configs[0], self._options[0])
        model = stack_models(models).to(self.device)
        self._random = PerRunRandomSource(generators)
        for module in model.extended_modules():
            module.random = self._random
        return model

    def reset_run(self, run: int) -> None:
        """Initialise one run again, drawing from where its generator stands."""
        if not self.stacked:
            self.model.reset_parameters()
            return
        generator = self._random.generators[run]
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            torch.set_rng_state(generator.get_state())
            self._scratch.reset_parameters()
            generator.set_state(torch.get_rng_state())
            fresh = self._scratch.state_dict()
            for name, value in self.model.state_dict().items():
                value[run].copy_(fresh[name])

    def checkpoint_path(self, run: int) -> Path:
        """Where the checkpoint of a run is saved."""
        return model_file(save_root(), self.names[run])

    def save(self, iteration: int, progress: Sequence[dict]) -> None:
        """Checkpoint every run; `iteration` is the first one that a resumed run trains."""
        state = self.model.state_dict()
        save_together(
            (self.checkpoint_path(run), self._checkpoint(run, iteration, state, progress[run]))
            for run in range(len(self.configs))
        )

    def _checkpoint(self, run: int, iteration: int, state: dict, progress: dict) -> dict:
        index = run if self.stacked else None
        generator = self._random.generators[run] if self.stacked else None
        own: dict[str, object] = {"best": self.best[run]}
        if self._has_beta:
            own["beta"] = str(self.step.penalties.betas[run].value)
        return run_content(
            iteration,
            self.configs[run],
            run_state(state, index),
            optimizer_state(self.step.optimizer, index),
            generator.get_state() if generator else torch.get_rng_state(),
            progress | own,
        )

    @property
    def _has_beta(self) -> bool:
        return bool(self.step.penalties.betas)

    def restore(self, checkpoints: Sequence[dict]) -> None:
        """Put the saved state of every run back and move the data streams to `start`."""
        own = self.model.state_dict()
        for run, checkpoint in enumerate(checkpoints):
            with damage_as_usage_error(self.checkpoint_path(run)):
                self._restore_run(own, checkpoint, run)
        self.data.feed.skip(self.start)

    def _restore_run(self, own: dict, checkpoint: dict, run: int) -> None:
        index = run if self.stacked else None
        targets = {name: value if index is None else value[index] for name, value in own.items()}
        restore_parameters(targets, checkpoint["model_state_dict"], self.checkpoint_path(run))
        load_optimizer_state(self.step.optimizer, checkpoint["optimizer_state_dict"], index)
        if self.stacked:
            self._random.generators[run].set_state(checkpoint["torch_rng_state"])
        else:
            torch.set_rng_state(checkpoint["torch_rng_state"])
            set_numpy_rng_state(checkpoint["numpy_rng_state"])
        progress = checkpoint["progress"]
        self.best[run] = progress["best"]
        if self._has_beta:
            self.step.penalties.betas[run].value = Decimal(progress["beta"])
