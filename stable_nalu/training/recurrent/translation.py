"""Training on numbers written in words: `number_translation`.

The published script cannot start, so this is what it meant to do. What is known of it is what it
prints when repaired, for NALU with seed 0 and no penalty, and this gives the same:

    train 0: 281481.40625
    train 50: 325412.59375

Runs of one command train one after another.
"""

from __future__ import annotations

from typing import Any

import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.dataset import NumberTranslationDataset, TensorLoader
from stable_nalu.network import NumberTranslationNetwork
from stable_nalu.options import Config
from stable_nalu.tags import LOSS_VALID

from .run import SequenceRun, SequenceTask

LOG_EPOCHS = 50
GRADIENT_EPOCHS = 10
MODULE_STEPS = 150


def build_network(config: Config, layer_options: dict[str, Any]) -> ExtendedTorchModule:
    """The network of a configuration."""
    return NumberTranslationNetwork(config.layer_type, **layer_options)


def train(run: SequenceRun) -> dict[str, float]:
    """Train `--max-epochs` epochs; steps are batches, counted from 1."""
    dataset = NumberTranslationDataset(seed=run.config.seed)
    training, validation = (dataset.fork(subset).dataloader() for subset in ("train", "valid"))
    step = 0
    for epoch in range(run.config.max_epochs):
        for batch, (x, t) in enumerate(training):
            step += 1
            run.begin(step)
            at_log_point = batch == 0 and epoch % LOG_EPOCHS == 0
            if at_log_point:
                if not run.check():
                    break
                run.write(LOSS_VALID, loader_error(run, validation))
            result = run.train(
                x,
                t,
                modules=run.config.verbose and step % MODULE_STEPS == 0,
                gradients=run.config.verbose and batch == 0 and epoch % GRADIENT_EPOCHS == 0,
            )
            if at_log_point:
                run.console.line(f"train {epoch}: {result.criterion.item()}")
        if run.diverged:
            break
        run.console.bar.update()
    return {
        "loss_train": loader_error(run, training).item(),
        "loss_valid": loader_error(run, validation).item(),
    }


def loader_error(run: SequenceRun, loader: TensorLoader) -> torch.Tensor:
    """Mean squared error over all rows; takes the random numbers of a shuffled epoch."""
    batches = [(run.error(x, t), len(x)) for x, t in loader]
    weighted = torch.stack([error * rows for error, rows in batches])
    return weighted.sum() / sum(rows for _, rows in batches)


TASK = SequenceTask(
    script="number_translation",
    build=build_network,
    train=train,
    length=lambda config: config.max_epochs,
    unit="epoch",
    reported=("seed", "layer_type", "cuda", "verbose", "max_epochs"),
)
