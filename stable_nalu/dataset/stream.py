"""Endless streams of (x, t) samples, each with a generator of its own."""

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from .distribution import Benford, Distribution, Exponential, LegacyRandom, SampleRange, Uniform

BLOCK_ELEMENTS = 2**16
"""Input elements drawn at once: half a MiB in float64, so that a block stays in the cache."""

Subset = tuple[int, int]


class Sampler:
    """Draws inputs of one distribution, range and sample shape.

    A batch of m = batch_size * prod(sample_shape) elements consumes, from the generator:

        single     m draws
        halves     m draws from interval 0, m draws from interval 1
        mixture    the same 2 m draws, then m words whose lowest bit chooses interval 0

    All m draws of an interval are made even where the other one is used. Blocks of batches are
    equal bit for bit to batches drawn one after the other.
    """

    def __init__(
        self,
        distribution: Distribution,
        sample_range: SampleRange,
        sample_shape: tuple[int, ...],
    ):
        for interval in sample_range.intervals:
            distribution.check(interval)
        self.distribution = distribution
        self.range = sample_range
        self.sample_shape = sample_shape

    @property
    def key(self) -> tuple:
        """Return what the inputs depend on, besides the generator."""
        family = type(self.distribution).__name__, self.distribution.parameters
        return family, self.range, self.sample_shape

    @property
    def scales_doubles(self) -> bool:
        """Return whether a batch is made of one double per element, each scaled on its own."""
        elementwise = not isinstance(self.distribution, Exponential | Benford)
        return elementwise and self.range.form == "single"

    def scaled(self, doubles: np.ndarray) -> np.ndarray:
        """Return inputs made of doubles, where `scales_doubles`."""
        assert not isinstance(self.distribution, Exponential | Benford)
        x = np.empty_like(doubles)
        self.distribution.scale(doubles, self.range.intervals[0], out=x)
        return x

    def sample(self, random: LegacyRandom, batches: int, batch_size: int) -> np.ndarray:
        """Draw inputs (batches, batch_size, *sample_shape), float64 or, for Benford, int64."""
        shape = (batch_size, *self.sample_shape)
        draw, intervals = self.distribution, self.range.intervals
        chooses = self.range.form == "mixture"
        choice = np.empty((batches if chooses else 0, math.prod(shape)), np.uint64)
        if isinstance(draw, Exponential | Benford):
            of_batches = []
            for batch in range(batches):
                of_batches.append([draw.draw(random, shape, interval) for interval in intervals])
                if chooses:
                    choice[batch] = random.words(choice.shape[1])
            parts = [np.stack(part) for part in zip(*of_batches, strict=True)]
        else:
            doubles = np.empty((batches, len(intervals), *shape))
            if chooses:
                for own, words in zip(doubles, choice, strict=True):
                    random.doubles_into(own)
                    words[...] = random.words(words.size)
            else:
                random.doubles_into(doubles)
            parts = [doubles[:, i] for i in range(len(intervals))]
            for part, interval in zip(parts, intervals, strict=True):
                draw.scale(part, interval, out=part)
        if chooses:
            return _mix(parts[0], parts[1], choice.reshape(batches, *shape))
        if self.range.form == "halves":
            half = self.sample_shape[0] // 2
            parts[0][:, :, half:] = parts[1][:, :, half:]
        return parts[0]


def _mix(first: np.ndarray, second: np.ndarray, choice: np.ndarray) -> np.ndarray:
    """Take `first` where the lowest bit of `choice` is set, else `second`; reuse both buffers.

    Selecting by bit masks takes half the time of `np.where` on random choices.
    """
    choice &= np.uint64(1)
    np.negative(choice, out=choice)
    bits, other = first.view(np.uint64), second.view(np.uint64)
    bits ^= other
    bits &= choice
    bits ^= other
    return first


@dataclass(frozen=True)
class Operation:
    """A function of subset sums: of the first `operands` subsets, or of all for None."""

    name: str
    operands: int | None
    combine: Callable[..., np.ndarray]
    text: Callable[..., str]

    def check(self, num_subsets: int) -> None:
        """Refuse fewer subsets than there are operands."""
        if num_subsets < (self.operands or 1):
            raise ValueError(
                f"operation {self.name} needs {self.operands} subsets, got {num_subsets}."
            )


def _all(ufunc: np.ufunc) -> Callable[..., np.ndarray]:
    return lambda *sums: functools.reduce(ufunc, sums)


OPERATIONS = {
    operation.name: operation
    for operation in (
        Operation("add", None, _all(np.add), lambda *v: " + ".join(v)),
        Operation("sub", 2, np.subtract, lambda a, b: f"{a} - {b}"),
        Operation("mul", None, _all(np.multiply), lambda *v: " * ".join(v)),
        Operation("div", 2, np.true_divide, lambda a, b: f"{a} / {b}"),
        Operation("squared", 1, lambda a: a * a, lambda a: f"{a}**2"),
        Operation("root", 1, np.sqrt, lambda a: f"sqrt({a})"),
        Operation("reciprocal", 1, lambda a: 1 / a, lambda a: f"1/({a})"),
    )
}


def get_operation(name: str) -> Operation:
    """Return the operation of that name."""
    if name not in OPERATIONS:
        raise ValueError(f"operation {name!r} is not one of {', '.join(OPERATIONS)}.")
    return OPERATIONS[name]


class FunctionTargets:
    """Targets of an operation: x `(batches, batch, *sample)` -> t `(batches, batch, 1)`.

    Each operand is the sum over a slice of the last axis and over all other axes of a sample.
    There is no guard: a root of a negative number is NaN, a division by zero infinite.
    """

    def __init__(self, operation: Operation, subset_ranges: Sequence[Subset]):
        operation.check(len(subset_ranges))
        self.operation = operation
        self.operands = tuple(subset_ranges)[: operation.operands]

    @property
    def key(self) -> tuple:
        """Return what the targets depend on, besides the inputs."""
        return self.operation.name, self.operands

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """Return the targets in the precision of the inputs."""
        sums = (_subset_sum(x, start, end) for start, end in self.operands)
        return self.operation.combine(*sums)[..., None]


def _subset_sum(x: np.ndarray, start: int, end: int) -> np.ndarray:
    if x.ndim == 3 and end - start == 1:
        return x[..., start]
    return x[..., start:end].sum(axis=tuple(range(2, x.ndim)))


class SampleStream:
    """Inputs from a sampler and their targets; every access draws new samples.

    Targets come from the float64 inputs before rounding; both are then cast on their own, to
    torch's default dtype. `random` is the stream's own generator.
    """

    def __init__(self, seed: int, sampler: Sampler, targets: FunctionTargets):
        self.seed = seed
        self.sampler = sampler
        self.targets = targets
        self.random = LegacyRandom(seed)

    def __getitem__(self, rows: slice) -> tuple[torch.Tensor, torch.Tensor]:
        """Draw a batch x (B, *sample), t (B, 1) of as many rows as the slice is long."""
        x, t = self.draw(1, rows.stop - rows.start)
        return x[0], t[0]

    def draw(self, batches: int, batch_size: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Draw the next batches at once: x (batches, B, *sample) and t (batches, B, 1)."""
        x = torch.empty(batches, batch_size, *self.sampler.sample_shape, device="cpu")
        t = torch.empty(batches, batch_size, 1, device="cpu")
        self.draw_into(x.numpy(), t.numpy())
        return x, t

    def draw_into(self, x: np.ndarray, t: np.ndarray) -> None:
        """Fill x (batches, B, *sample) and t (batches, B, 1), which may be strided views."""
        JointStreams([self], [0]).draw_into(x[:, None], t[:, None])

    def write(self, block: np.ndarray, x: np.ndarray, t: np.ndarray) -> None:
        """Write inputs in float64 and their targets, both rounded to the type of the buffers."""
        # Infinite and undefined targets are data here, not accidents.
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            np.copyto(x, block, casting="same_kind")
            np.copyto(t, self.targets(block), casting="same_kind")

    def inputs_key(self) -> tuple:
        """Return what is equal for streams whose next draws of equal size have identical inputs."""
        return self.random.position(), self.sampler.key

    def targets_key(self) -> tuple:
        """Return what is equal for streams whose next draws have identical targets, too."""
        return self.inputs_key(), self.targets.key


class StoredStream(SampleStream):
    """Rows that are stored, x `(rows, in)` and t `(rows, 1)`; batches draw them with replacement.

    A draw takes a double for each row. Accessed by a slice, they come in their order.
    """

    def __init__(self, seed: int, x: np.ndarray, t: np.ndarray):
        span = SampleRange.parse([0, len(x)])
        self.seed, self.sampler = seed, Sampler(Uniform(), span, (1,))
        self.random = LegacyRandom(seed)
        self.x, self.t = x, t

    def __getitem__(self, rows: slice) -> tuple[torch.Tensor, torch.Tensor]:
        own = torch.get_default_dtype()
        return torch.from_numpy(self.x[rows]).to(own), torch.from_numpy(self.t[rows]).to(own)

    def write(self, block: np.ndarray, x: np.ndarray, t: np.ndarray) -> None:
        """Write the rows that doubles up to their number choose."""
        chosen = block[..., 0].astype(int)
        x[...], t[...] = self.x[chosen], self.t[chosen]

    def inputs_key(self) -> tuple:
        """Return what is equal for streams of the same rows."""
        return (id(self.x),)

    def targets_key(self) -> tuple:
        """Return what is equal for streams of the same targets."""
        return (id(self.t),)


@dataclass(frozen=True)
class JointStreams:
    """Streams whose next inputs are scaled from the same doubles; the first one draws for all.

    places: the numbers of their runs in a block of samples.
    """

    streams: Sequence[SampleStream]
    places: Sequence[int]

    def draw_into(self, x: np.ndarray, t: np.ndarray) -> None:
        """Fill x (batches, runs, B, *sample) and t (batches, runs, B, 1) at their places."""
        batches, _, batch_size = x.shape[:3]
        # Portions stay in the cache.
        step = max(1, BLOCK_ELEMENTS // max(1, math.prod(x.shape[2:])))
        for part in (slice(k, min(k + step, batches)) for k in range(0, batches, step)):
            blocks = self._blocks(part.stop - part.start, batch_size)
            for stream, block, place in zip(self.streams, blocks, self.places, strict=True):
                stream.write(block, x[part, place], t[part, place])

    def _blocks(self, batches: int, batch_size: int) -> Iterator[np.ndarray]:
        """Draw inputs, and yield those of each stream."""
        first, *others = self.streams
        if not others:
            yield first.sampler.sample(first.random, batches, batch_size)
            return
        doubles = first.random.doubles((batches, batch_size, *first.sampler.sample_shape))
        for stream in self.streams:
            yield stream.sampler.scaled(doubles)


def join(streams: Sequence[SampleStream]) -> list[JointStreams]:
    """Join those streams that can be drawn together; return all.

    The generator of a data set depends on its seed alone, so one seed on nine ranges draws the same
    doubles nine times.
    """
    members: dict[object, list[int]] = {}
    for k, stream in enumerate(streams):
        sampler = stream.sampler
        key = (stream.random.position(), sampler.sample_shape) if sampler.scales_doubles else k
        members.setdefault(key, []).append(k)
    return [JointStreams([streams[k] for k in group], group) for group in members.values()]


def numpy_type(dtype: torch.dtype) -> np.dtype:
    """Return NumPy's name of a type of torch."""
    return np.dtype(str(dtype).removeprefix("torch."))


class Feed:
    """Batches `x (batch, *sample)`, `t (batch, 1)` of a run, or many batches of many runs."""

    def __init__(self, streams: Sequence[SampleStream], batch_size: int, *sample: int):
        self.streams = list(streams)
        self._batch = batch_size, sample
        # A batch that does not fit into memory is found out here, before anything is written.
        self._buffers(1, len(streams))

    def _buffers(self, count: int, runs: int) -> tuple[np.ndarray, np.ndarray]:
        batch_size, sample = self._batch
        dtype = numpy_type(torch.get_default_dtype())
        x = np.empty((count, runs, batch_size, *sample), dtype)
        return x, np.empty((count, runs, batch_size, 1), dtype)

    def next(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the next batch of a single run."""
        x, t = self.draw([0], 1)
        return torch.from_numpy(x[0, 0]), torch.from_numpy(t[0, 0])

    def draw(self, runs: Sequence[int], count: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the next batches of some runs: x `(count, runs, batch, *sample)` and t."""
        x, t = self._buffers(count, len(runs))
        for joined in join([self.streams[run] for run in runs]):
            joined.draw_into(x, t)
            first, *others = joined.streams
            for stream in others:
                stream.random.state[:] = first.random.state
        return x, t
