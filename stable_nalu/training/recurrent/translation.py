"""Training on numbers written in words: `number_translation`.

The published script cannot start, so this is what it meant to do. What is known of it is what it
prints when repaired, for NALU with seed 0 and no penalty, and this gives the same:

    train 0: 281481.40625
    train 50: 325412.59375
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import Any

import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.dataset import NumberTranslationDataset, TensorLoader
from stable_nalu.network import NumberTranslationNetwork
from stable_nalu.options import Config
from stable_nalu.tags import LOSS_VALID, RESULT_VALID

from ..saved.checkpoint import LOGGED
from ..stack import Kind, Setup, Unit
from .training import Batch, RecurrentTraining

LOG_EPOCHS = 50
GRADIENT_EPOCHS = 10
MODULE_STEPS = 150
WIDTH = 40
COST = 60


def build_network(config: Config, layer_options: dict[str, Any]) -> ExtendedTorchModule:
    """Build the network of a configuration."""
    return NumberTranslationNetwork(config.layer_type, **layer_options)


class TranslationTraining(RecurrentTraining):
    """Trains `--max-epochs` epochs; steps are batches, counted from 1."""

    reported = ("seed", "layer_type", "cuda", "verbose", "max_epochs")
    errors = {RESULT_VALID: "loss_valid"}

    def __init__(self, setup: Setup):
        super().__init__(setup, build_network)
        self.length = self.config.max_epochs
        datasets = [NumberTranslationDataset(seed=config.seed) for config in setup.configs]
        self._training, self._validation = (
            [dataset.fork(subset).dataloader() for dataset in datasets]
            for subset in ("train", "valid")
        )

    def train(self) -> Generator[int, None, None]:
        while self.at < self.length and not self.all_diverged:
            yield self.at
            self._epoch()
            if self.all_diverged:
                return
            self.at += 1
            self.view.advance(1)

    def _epoch(self) -> None:
        verbose, first = self.config.verbose, self.at * len(self._training[0]) + 1
        for batch, batches in enumerate(self._batches(self._training)):
            at_log_point = batch == 0 and self.at % LOG_EPOCHS == 0
            if not self.begin(first + batch, at_log_point=at_log_point):
                return
            if at_log_point:
                self.write(LOSS_VALID, self._loader_error(self._validation))
            result = self.train_batch(
                self.joined(batches),
                modules=verbose and self.clock % MODULE_STEPS == 0,
                gradients=verbose and batch == 0 and self.at % GRADIENT_EPOCHS == 0,
            )
            if at_log_point:
                self.show(result)

    def _batches(self, loaders: Sequence[TensorLoader]) -> Iterator[list[Batch]]:
        """Yield a batch of each run, in an order drawn from its own generator."""
        epochs = []
        for run, loader in enumerate(loaders):
            with self.generator_of(run):
                epochs.append(loader.batches(loader.begin()))
        for batches in zip(*epochs, strict=True):
            yield [(x, t) for x, t in batches]

    def _loader_error(self, loaders: Sequence[TensorLoader]) -> torch.Tensor:
        """Return the mean squared error over all rows, in the order of a shuffled epoch."""
        errors, rows = [], 0
        for batches in self._batches(loaders):
            x, t = self.joined(batches)
            errors.append(self.error(x, t) * t.shape[-2])
            rows += t.shape[-2]
        return torch.stack(errors).sum(0) / rows

    def final_losses(self) -> dict[str, torch.Tensor]:
        return {
            "loss_train": self._loader_error(self._training),
            "loss_valid": self._loader_error(self._validation),
        }

    def progress(self, run: int) -> dict[str, Any]:
        return {}

    def set_progress(self, run: int, progress: Mapping[str, Any]) -> None:
        """Do nothing: the epoch, the model and the generator tell all."""


KINDS = {
    "number_translation": Kind(
        TranslationTraining,
        Unit("epoch", "--max-epochs", "epoch", counts=True),
        LOGGED,
        width=WIDTH,
        cost=COST,
        shown=TranslationTraining.shown,
    )
}
