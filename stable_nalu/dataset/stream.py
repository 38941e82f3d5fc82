"""An endless stream of (x, t) samples with a generator of its own."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator
from typing import Protocol

import numpy as np
import torch

from .legacy_random import LegacyRandom
from .loader import LoadedBatch, check_batch_size
from .sampling import Sampler

BLOCK_ELEMENTS = 2**16
"""Input elements drawn at once: half a MiB in float64, so that a block stays in the cache."""

StreamState = dict[str, torch.Tensor | int]


class Targets(Protocol):
    """Targets of a block of batches."""

    @property
    def width(self) -> int:
        """Return the number of targets per sample."""
        ...

    @property
    def key(self) -> tuple:
        """Return what the targets depend on, besides the inputs."""
        ...

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """Return targets `(batches, batch, width)` of inputs `(batches, batch, *sample)`."""
        ...


class SampleStream:
    """Inputs from a sampler and their targets; every access draws new samples.

    Targets come from the float64 inputs before rounding; both are then cast on their own, to
    torch's default dtype. Of an index only the length of a slice counts. `random` is the stream's
    own generator.
    """

    def __init__(self, seed: int, sampler: Sampler, targets: Targets, max_size: int):
        self.seed = seed
        self.sampler = sampler
        self.targets = targets
        self._max_size = max_size
        self.random = LegacyRandom(seed)

    def __len__(self) -> int:
        """Return the nominal size."""
        return self._max_size

    def __getitem__(self, index: int | slice) -> tuple[torch.Tensor, torch.Tensor]:
        """Draw a batch x (B, *sample), t (B, width) for a slice, or one sample for a number."""
        if not isinstance(index, slice):
            x, t = self.draw(1, 1)
            return x[0, 0], t[0, 0]
        size = operator.index(index.stop) - operator.index(index.start)
        if size < 1 or index.step not in (None, 1):
            raise ValueError(f"A slice of a stream is start:stop with start < stop, got {index}.")
        x, t = self.draw(1, size)
        return x[0], t[0]

    def dataloader(self, batch_size: int = 128) -> StreamLoader:
        """Return successive batches of this stream."""
        return StreamLoader(self, batch_size)

    def draw(self, batches: int, batch_size: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Draw the next batches at once: x (batches, B, *sample) and t (batches, B, width)."""
        x = torch.empty(batches, batch_size, *self.sampler.sample_shape, device="cpu")
        t = torch.empty(batches, batch_size, self.targets.width, device="cpu")
        self.draw_into(x.numpy(), t.numpy())
        return x, t

    def draw_into(self, x: np.ndarray, t: np.ndarray) -> None:
        """Fill x (batches, B, *sample) and t (batches, B, width), which may be strided views."""
        batches, batch_size = x.shape[:2]
        sample_shape = self.sampler.sample_shape
        if x.shape[2:] != sample_shape or t.shape != (batches, batch_size, self.targets.width):
            raise ValueError(
                f"Buffers {x.shape} and {t.shape} do not fit samples {sample_shape} "
                f"with {self.targets.width} targets."
            )
        for part in self.parts(batches, batch_size):
            block = self.sampler.sample(self.random, part.stop - part.start, batch_size)
            self.write(block, x[part], t[part])

    def parts(self, batches: int, batch_size: int) -> list[slice]:
        """Cut batches into portions that stay in the cache."""
        step = max(1, BLOCK_ELEMENTS // max(1, batch_size * math.prod(self.sampler.sample_shape)))
        return [slice(k, min(k + step, batches)) for k in range(0, batches, step)]

    def write(self, block: np.ndarray, x: np.ndarray, t: np.ndarray) -> None:
        """Write inputs in float64 and their targets, both rounded to the type of the buffers."""
        with np.errstate(over="ignore"):
            np.copyto(x, block, casting="same_kind")
        self.write_targets(block, t)

    def write_targets(self, block: np.ndarray, t: np.ndarray) -> None:
        """Write the targets of inputs in float64, rounded to the type of the buffer."""
        # Infinite and undefined targets are data here, not accidents.
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            np.copyto(t, self.targets(block), casting="same_kind")

    def doubles_key(self) -> tuple | None:
        """Return what is equal for streams whose next draws are scaled from the same doubles.

        None stands for a stream whose samples are not one scaled double per element.
        """
        if not self.sampler.scales_doubles:
            return None
        return self.random.position(), self.sampler.sample_shape

    def get_state(self) -> StreamState:
        """Return where the stream stands, as a tensor and a number."""
        return self.random.get_state()

    def set_state(self, state: StreamState) -> None:
        """Continue where a stream of the same kind stood."""
        self.random.set_state(state)

    def inputs_key(self) -> tuple:
        """Return what is equal for streams whose next draws of equal size have identical inputs."""
        return self.random.position(), self.sampler.key

    def targets_key(self) -> tuple:
        """Return what is equal for streams whose next draws have identical targets, too."""
        return self.inputs_key(), self.targets.key


class StreamLoader:
    """Successive batches of a stream; a new iterator continues where the last one stopped."""

    def __init__(self, stream: SampleStream, batch_size: int):
        self.stream = stream
        self.batch_size = check_batch_size(batch_size)

    def __len__(self) -> int:
        """Return the number of whole batches; a trailing partial batch is never drawn."""
        return len(self.stream) // self.batch_size

    def __iter__(self) -> Iterator[LoadedBatch]:
        """Draw one batch per step."""
        for i in range(len(self)):
            yield self.stream[i * self.batch_size : (i + 1) * self.batch_size]
