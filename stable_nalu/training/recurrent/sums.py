"""Training of a recurrent cell on sums over sequences: `simple_function_recurrent`.

The published script cannot start, so this is what it meant to do. Runs of one command train one
after another.
"""

from __future__ import annotations

from typing import Any

import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.dataset import SampleStream, SimpleFunctionRecurrentDataset
from stable_nalu.network import SimpleFunctionRecurrentNetwork
from stable_nalu.options import Config
from stable_nalu.tags import LOSS_VALID_EXTRAPOLATION, LOSS_VALID_INTERPOLATION

from .run import SequenceRun, SequenceTask

BATCH_SIZE = 128
TRAIN_LENGTH = 10
EXTRAPOLATION_LENGTH = 1000
EVALUATION_ROWS = 2048
EVALUATION_BLOCK = 256
"""Rows drawn at once: a block of long sequences in float64 is 20 MiB."""
LOG_INTERVAL = 1000


def build_dataset(config: Config) -> SimpleFunctionRecurrentDataset:
    """The data set of a configuration."""
    return SimpleFunctionRecurrentDataset(config.operation, simple=config.simple, seed=config.seed)


def build_network(config: Config, layer_options: dict[str, Any]) -> ExtendedTorchModule:
    """The network of a configuration."""
    input_size = build_dataset(config).get_input_size()
    return SimpleFunctionRecurrentNetwork(config.layer_type, input_size, **layer_options)


def train(run: SequenceRun) -> dict[str, float]:
    """Train iterations 0 to `--max-iterations`; both evaluation streams go on at each use."""
    dataset = build_dataset(run.config)
    lengths = (TRAIN_LENGTH, TRAIN_LENGTH, EXTRAPOLATION_LENGTH)
    stream, interpolation, extrapolation = [dataset.fork(length) for length in lengths]
    run.console.line(f"  - dataset: {dataset.print_operation()}")
    total = torch.tensor(torch.nan)
    batches = zip(range(run.config.max_iterations + 1), stream.dataloader(BATCH_SIZE), strict=False)
    for iteration, (x, t) in batches:
        at_log_point = iteration % LOG_INTERVAL == 0
        run.begin(iteration)
        if at_log_point:
            if not run.check():
                break
            run.write(LOSS_VALID_INTERPOLATION, stream_error(run, interpolation))
            run.write(LOSS_VALID_EXTRAPOLATION, stream_error(run, extrapolation))
        verbose = at_log_point and run.config.verbose
        result = run.train(x, t, modules=verbose, gradients=verbose)
        total = result.total
        if at_log_point:
            run.console.line(f"train {iteration}: {result.criterion.item()}")
        run.console.bar.update()
    return {
        "loss_train": total.item(),
        "loss_valid_inter": stream_error(run, interpolation).item(),
        "loss_valid_extra": stream_error(run, extrapolation).item(),
    }


def stream_error(run: SequenceRun, stream: SampleStream) -> torch.Tensor:
    """Mean squared error on the stream's next 2048 sequences."""
    x, t = stream.draw(EVALUATION_ROWS // EVALUATION_BLOCK, EVALUATION_BLOCK)
    return run.error(x.flatten(0, 1), t.flatten(0, 1))


TASK = SequenceTask(
    script="simple_function_recurrent",
    build=build_network,
    train=train,
    length=lambda config: config.max_iterations + 1,
    unit="it",
    reported=(
        "seed", "operation", "layer_type", "simple", "cuda", "verbose", "max_iterations",
    ),
)  # fmt: skip
