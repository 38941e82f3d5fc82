"""Test samples that exceed what training shows: in an operand or in the target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from .simple_function import SimpleFunctionStaticDataset
from .stream import SampleStream

TRAINING_SAMPLES = 100_000
"""Samples that the largest training values are estimated from."""

TRAINING_SEED = 20180801
MOST_DRAWS = 100
"""Samples that are drawn for each one that is asked for, before giving up."""

BLOCK = 10_000


class ExceedingStream:
    """The samples from a range in which an operand or the target is above its largest in training.

    The largest values of training are estimated once, on samples from the range `training`. A value
    that is not a number exceeds nothing.
    """

    def __init__(
        self,
        dataset: SimpleFunctionStaticDataset,
        training: Sequence[Any],
        test: Sequence[Any],
        seed: int,
    ):
        self._stream = dataset.fork(test, seed=seed)
        self._largest = _largest(dataset.fork(training, seed=TRAINING_SEED))

    def __getitem__(self, rows: slice) -> tuple[torch.Tensor, torch.Tensor]:
        """Draw a batch x (B, in), t (B, 1) for a slice; raise ValueError where too few exceed."""
        size = rows.stop - rows.start
        kept_x, kept_t, count = [], [], 0
        for _ in range(-(-MOST_DRAWS * size // BLOCK)):
            block = self._stream.sampler.sample(self._stream.random, 1, BLOCK)
            exceeds = np.any(_values(self._stream, block)[0] > self._largest, axis=-1)
            x, t = torch.empty(1, BLOCK, *block.shape[2:]), torch.empty(1, BLOCK, 1)
            self._stream.write(block, x.numpy(), t.numpy())
            kept_x.append(x[0, exceeds])
            kept_t.append(t[0, exceeds])
            count += len(kept_x[-1])
            if count >= size:
                return torch.cat(kept_x)[:size], torch.cat(kept_t)[:size]
        raise ValueError(
            f"of {MOST_DRAWS * size:,} samples from the extrapolation range, {count:,} have an "
            "operand or a target above all of training"
        )

    def inputs_key(self) -> tuple:
        """Return what is equal for streams whose next draws of equal size have identical inputs.

        Which inputs are kept depends on the targets.
        """
        return self.targets_key()

    def targets_key(self) -> tuple:
        """Return what is equal for streams whose next draws have identical targets, too."""
        return self._stream.targets_key(), *self._largest.tolist()


def _values(stream: SampleStream, block: np.ndarray) -> np.ndarray:
    """Return operands and target of inputs (batches, B, in): (batches, B, operands + 1)."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        sums = [block[..., start:end].sum(-1) for start, end in stream.targets.operands]
        return np.stack([*sums, stream.targets(block)[..., 0]], -1)


def _largest(stream: SampleStream) -> np.ndarray:
    """Return the largest value of each operand and of the target, over training samples."""
    blocks = range(TRAINING_SAMPLES // BLOCK)
    drawn = (stream.sampler.sample(stream.random, 1, BLOCK) for _ in blocks)
    return np.fmax.reduce([np.fmax.reduce(_values(stream, block)[0]) for block in drawn])
