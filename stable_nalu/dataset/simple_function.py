"""The arithmetic task on a vector, and on a sequence of vectors: data sets and their samples.

A target is an operation on sums over slices of the input, and over time. Forks of a dataset are
endless streams of samples (x, t), each with a generator of its own. Some tests want those samples
alone that exceed what training shows, in an operand or in the target.
"""

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from .distribution import (
    Distribution,
    Elementwise,
    LegacyRandom,
    SampleRange,
    Uniform,
    make_distribution,
)

BLOCK_ELEMENTS = 2**16
"""Input elements drawn at once: half a MiB in float64, so that a block stays in the cache."""

Subset = tuple[int, int]


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
    """A function of the sums of the first `operands` subsets, or of all subsets for None.

    function: the NumPy function by which the engine combines sums, two at a time or one alone.
    """

    name: str
    operands: int | None
    combine: Callable[..., np.ndarray]
    text: Callable[..., str]
    function: np.ufunc | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return get_operation, (self.name,)

    def check(self, num_subsets: int) -> None:
        if num_subsets < (self.operands or 1):
            raise ValueError(
                f"operation {self.name} needs {self.operands} subsets, got {num_subsets}."
            )


def _all(ufunc: np.ufunc) -> Callable[..., np.ndarray]:
    return lambda *sums: functools.reduce(ufunc, sums)


OPERATIONS = {
    operation.name: operation
    for operation in (
        Operation("add", None, _all(np.add), lambda *v: " + ".join(v), np.add),
        Operation("sub", 2, np.subtract, lambda a, b: f"{a} - {b}", np.subtract),
        Operation("mul", None, _all(np.multiply), lambda *v: " * ".join(v), np.multiply),
        Operation("div", 2, np.true_divide, lambda a, b: f"{a} / {b}", np.divide),
        Operation("squared", 1, lambda a: a * a, lambda a: f"{a}**2", np.square),
        Operation("root", 1, np.sqrt, lambda a: f"sqrt({a})", np.sqrt),
        Operation("reciprocal", 1, lambda a: 1 / a, lambda a: f"1/({a})", np.reciprocal),
    )
}


def get_operation(name: str) -> Operation:
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

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """Return the targets in the precision of the inputs."""
        sums = (_subset_sum(x, start, end) for start, end in self.operands)
        return self.operation.combine(*sums)[..., None]


def _subset_sum(x: np.ndarray, start: int, end: int) -> np.ndarray:
    if x.ndim == 3 and end - start == 1:
        return x[..., start]
    return x[..., start:end].sum(axis=tuple(range(2, x.ndim)))


class Batches:
    """The next batches of a stream, as often as its number of rows allows; it never starts again.

    With `use_cuda` they are on the GPU.
    """

    def __init__(self, stream: Any, batch_size: int, use_cuda: bool = False):
        if batch_size < 1:
            raise ValueError(f"batch_size {batch_size} is not 1 or more")
        self.stream, self.batch_size, self.use_cuda = stream, batch_size, use_cuda

    def __len__(self) -> int:
        return len(self.stream) // self.batch_size

    def __iter__(self) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        for start in range(0, len(self) * self.batch_size, self.batch_size):
            x, t = self.stream[start : start + self.batch_size]
            yield (x.cuda(), t.cuda()) if self.use_cuda else (x, t)


MOST_ROWS = 2**32 - 1


class SampleStream(torch.utils.data.Dataset):
    """Inputs of one distribution, range and sample shape, and their targets, without an end.

    A batch of m = batch_size * prod(sample_shape) elements consumes, from the generator:

        single     m draws
        halves     m draws from interval 0, m draws from interval 1
        mixture    the same 2 m draws, then m words whose lowest bit chooses interval 0

    All m draws of an interval are made even where the other one is used. Blocks of batches are
    equal bit for bit to batches drawn one after the other. Targets come from the float64 inputs
    before rounding; both are then cast on their own, to torch's default dtype. `random` is the
    stream's own generator.
    """

    def __init__(
        self,
        seed: int,
        distribution: Distribution,
        sample_range: SampleRange,
        sample_shape: tuple[int, ...],
        targets: Any,
        use_cuda: bool = False,
        max_size: int = MOST_ROWS,
    ):
        self.use_cuda, self.max_size = use_cuda, max_size
        self.outputs: int = getattr(targets, "outputs", 1)
        self.seed, self.distribution, self.sample_shape = seed, distribution, sample_shape
        self.range, self.targets = sample_range, targets
        self.random = LegacyRandom(seed)

    def __len__(self) -> int:
        return self.max_size

    def __getitem__(self, rows: slice | int) -> tuple[torch.Tensor, torch.Tensor]:
        """Draw a batch x (B, *sample), t (B, 1) of as many rows as the slice is long, or one row.

        Which rows are named does not matter: each access draws the next ones.
        """
        if not isinstance(rows, slice):
            x, t = self[0:1]
            return x[0], t[0]
        if rows.start is None or rows.stop is None or rows.stop < rows.start:
            raise TypeError("a stream has no end: name both ends of a slice, such as [0:100]")
        x, t = self.draw(1, rows.stop - rows.start)
        return x[0], t[0]

    def dataloader(self, batch_size: int = 128) -> Batches:
        """Return batches of the next samples."""
        return Batches(self, batch_size, self.use_cuda)

    def draw(self, batches: int, batch_size: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Draw the next batches at once: x (batches, B, *sample) and t (batches, B, 1)."""
        x = torch.empty(batches, batch_size, *self.sample_shape, device="cpu")
        t = torch.empty(batches, batch_size, self.outputs, device="cpu")
        draw_into([self], x.numpy()[:, None], t.numpy()[:, None])
        return x, t

    @property
    def scales_doubles(self) -> bool:
        """Return whether a batch is made of one double per element, each scaled on its own."""
        return isinstance(self.distribution, Elementwise) and self.range.form == "single"

    def inputs(self, batches: int, batch_size: int) -> np.ndarray:
        """Draw inputs (batches, batch_size, *sample_shape), float64 or, for Benford, int64."""
        shape = (batch_size, *self.sample_shape)
        random, draw, intervals = self.random, self.distribution, self.range.intervals
        chooses = self.range.form == "mixture"
        choice = np.empty((batches if chooses else 0, math.prod(shape)), np.uint64)
        if isinstance(draw, Elementwise):
            doubles = np.empty((batches, len(intervals), *shape))
            for batch, own in enumerate(doubles if chooses else [doubles]):
                random.doubles(own.shape, own)
                if chooses:
                    choice[batch] = random.words(choice.shape[1])
            parts = [doubles[:, i] for i in range(len(intervals))]
            for part, interval in zip(parts, intervals, strict=True):
                draw.scale(part, interval, out=part)
        else:
            of_batches = []
            for batch in range(batches):
                of_batches.append([draw.draw(random, shape, interval) for interval in intervals])
                if chooses:
                    choice[batch] = random.words(choice.shape[1])
            parts = [np.stack(part) for part in zip(*of_batches, strict=True)]
        if chooses:
            return _mix(parts[0], parts[1], choice.reshape(batches, *shape))
        if self.range.form == "halves":
            half = self.sample_shape[0] // 2
            parts[0][:, :, half:] = parts[1][:, :, half:]
        return parts[0]

    def write(self, block: np.ndarray, x: np.ndarray, t: np.ndarray) -> None:
        """Write inputs in float64 and their targets, both rounded to the type of the buffers."""
        # Infinite and undefined targets are data here, not accidents.
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            np.copyto(x, block, casting="same_kind")
            np.copyto(t, self.targets(block), casting="same_kind")

    @property
    def key(self) -> tuple:
        """Return what the inputs depend on, besides the generator."""
        family = type(self.distribution).__name__, self.distribution.parameters
        return family, self.range, self.sample_shape

    def keys(self) -> tuple[tuple, tuple]:
        """Return what is equal where next draws have identical inputs, and identical targets."""
        own = self.random.position(), self.key
        return own, (own, self.targets.operation.name, self.targets.operands)


class StoredStream(SampleStream):
    """Rows that are stored, x `(rows, in)` and t `(rows, out)`; batches draw them with replacement.

    A draw takes a double for each row. Accessed by a slice, they come in their order, and all of
    them if the stream is `whole`.
    """

    def __init__(self, seed: int, x: np.ndarray, t: np.ndarray, *, whole: bool = False):
        super().__init__(seed, Uniform(), SampleRange.parse([0, len(x)]), (1,), None)
        self.x, self.t, self.outputs, self.whole = x, t, t.shape[-1], whole

    def __getitem__(self, rows: slice) -> tuple[torch.Tensor, torch.Tensor]:
        own, rows = torch.get_default_dtype(), slice(None) if self.whole else rows
        return torch.from_numpy(self.x[rows]).to(own), torch.from_numpy(self.t[rows]).to(own)

    def write(self, block: np.ndarray, x: np.ndarray, t: np.ndarray) -> None:
        """Write the rows that doubles up to their number choose."""
        chosen = block[..., 0].astype(int)
        x[...], t[...] = self.x.take(chosen, 0), self.t.take(chosen, 0)

    def keys(self) -> tuple[tuple, tuple]:
        return (id(self.x),), (id(self.t),)


class OrderedStream(StoredStream):
    """Rows that are stored, which batches take in their order, again and again."""

    taken = 0
    """How many rows were drawn."""

    @property
    def scales_doubles(self) -> bool:
        return False

    def inputs(self, batches: int, batch_size: int) -> np.ndarray:
        first, self.taken = self.taken, self.taken + batches * batch_size
        places = np.arange(first, self.taken) % len(self.x)
        return places.reshape(batches, batch_size, 1)


def draw_into(streams: Sequence[SampleStream], x: np.ndarray, t: np.ndarray) -> None:
    """Fill x (batches, streams, B, *sample) and t (batches, streams, B, 1), maybe strided views.

    Streams whose next inputs are scaled from the same doubles have the first of them draw for all.
    """
    batches, _, batch_size = x.shape[:3]
    # Portions stay in the cache.
    step = max(1, BLOCK_ELEMENTS // max(1, math.prod(x.shape[2:])))
    # One seed on nine ranges draws the same doubles nine times.
    members: dict[object, list[int]] = {}
    for k, stream in enumerate(streams):
        key = (stream.random.position(), stream.sample_shape) if stream.scales_doubles else k
        members.setdefault(key, []).append(k)
    for places in members.values():
        first, *others = (streams[place] for place in places)
        for part in (slice(k, min(k + step, batches)) for k in range(0, batches, step)):
            count = part.stop - part.start
            if not others:
                first.write(first.inputs(count, batch_size), x[part, places[0]], t[part, places[0]])
                continue
            doubles = first.random.doubles((count, batch_size, *first.sample_shape))
            block = np.empty_like(doubles)
            for place in places:
                own: Any = streams[place]
                own.distribution.scale(doubles, own.range.intervals[0], out=block)
                own.write(block, x[part, place], t[part, place])
        for other in others:
            other.random.state[:] = first.random.state


def numpy_type(dtype: torch.dtype) -> np.dtype:
    """Return NumPy's name of a type of torch."""
    return np.dtype(str(dtype).removeprefix("torch."))


class Feed:
    """Batches `x (batch, *sample)`, `t (batch, 1)` of a run, or many batches of many runs."""

    def __init__(self, streams: Sequence[SampleStream], batch_size: int, *sample: int):
        self.streams = list(streams)
        self._batch = batch_size, sample
        self._outputs = streams[0].outputs
        # A batch that does not fit into memory is found out here, before anything is written.
        self._buffers(1, len(streams))

    def _buffers(self, count: int, runs: int) -> tuple[np.ndarray, np.ndarray]:
        batch_size, sample = self._batch
        dtype = numpy_type(torch.get_default_dtype())
        x = np.empty((count, runs, batch_size, *sample), dtype)
        return x, np.empty((count, runs, batch_size, self._outputs), dtype)

    def next(self) -> tuple[torch.Tensor, torch.Tensor]:
        x, t = self.draw([0], 1)
        return torch.from_numpy(x[0, 0]), torch.from_numpy(t[0, 0])

    def draw(self, runs: Sequence[int], count: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the next batches of some runs: x `(count, runs, batch, *sample)` and t."""
        x, t = self._buffers(count, len(runs))
        draw_into([self.streams[run] for run in runs], x, t)
        return x, t


SIMPLE_INPUT_SIZE = 4
SIMPLE_SUBSETS = ((0, 4), (0, 2))
"""The fixed slices of the `simple` task, which are not moved to a random position."""


def subsets_from_ratios(
    input_size: int, subset_ratio: float, overlap_ratio: float, num_subsets: int
) -> list[Subset]:
    """Return slices of s = floor(subset_ratio * I) inputs that share floor(overlap_ratio * s).

    The ratios multiply as binary floats: 0.29 of 100 inputs are 28.
    """
    size = math.floor(subset_ratio * input_size)
    stride = size - math.floor(overlap_ratio * size)
    total = size + (num_subsets - 1) * stride
    if size == 0:
        raise ValueError(
            f"A subset ratio of {subset_ratio} leaves no element of {input_size} inputs in a "
            "subset, so every target would be 0 or NaN."
        )
    if total > input_size:
        raise ValueError(
            f"{num_subsets} subsets of ratio {subset_ratio} and overlap {overlap_ratio} take "
            f"{total} inputs, but there are {input_size}."
        )
    return [(i * stride, i * stride + size) for i in range(num_subsets)]


class SubsetDataset:
    """A vector of inputs, targets of slices of it, and a parent generator that seeds the forks.

    choose: makes the slices, which the parent moves together to a random position; it draws no word
    for the only one. simple: fixed slices of four inputs instead.
    """

    def __init__(
        self,
        targets_of: Callable[[list[Subset]], Any],
        input_size: int,
        choose: Callable[[LegacyRandom], Sequence[Subset]],
        *,
        simple: bool,
        seed: int | None,
        dist_params: Sequence = ("uniform",),
        use_cuda: bool = False,
        max_size: int = MOST_ROWS,
    ):
        self._parent = LegacyRandom(seed)
        if simple:
            input_size, subsets = SIMPLE_INPUT_SIZE, list(SIMPLE_SUBSETS)
        else:
            chosen = choose(self._parent)
            last = max(end for _, end in chosen)
            offset = int(self._parent.integers(0, input_size - last + 1))
            subsets = [(start + offset, end + offset) for start, end in chosen]
        self._kept = use_cuda, max_size
        self._input_size = input_size
        self._targets = targets_of(subsets)
        self._dist_params = dist_params
        self.subset_ranges = subsets

    def get_input_size(self) -> int:
        return self._input_size

    def print_operation(self) -> str:
        """Return the targets as text, such as `sum(v[0:25]) + sum(v[13:38])`."""
        names = (f"sum(v[{start}:{end}])" for start, end in self._targets.operands)
        return self._targets.operation.text(*names)

    def _stream(
        self,
        sample_shape: tuple[int, ...],
        sample_range: Sequence,
        seed: int | None,
        use_extrapolation: bool = False,
    ) -> SampleStream:
        """Return a stream; without a seed, the parent draws one of one word at the call."""
        distribution = make_distribution(self._dist_params, use_extrapolation)
        span = SampleRange.parse(sample_range).checked(distribution)
        if seed is None:
            seed = int(self._parent.integers(0, 2**32 - 1))
        return SampleStream(seed, distribution, span, sample_shape, self._targets, *self._kept)


class SimpleFunctionStaticDataset(SubsetDataset):
    """x (B, input_size) and t (B, 1) = operation(sum of slice 0, sum of slice 1, …).

    `overlap_ratio` is a fraction of the subset, not of the input. `simple` fixes four inputs and
    the slices [0:4] and [0:2], and ignores the sizes and ratios.
    """

    def __init__(
        self,
        operation: str,
        input_size: int = 100,
        *,
        dist_params: Sequence = ("uniform",),
        subset_ratio: float = 0.25,
        overlap_ratio: float = 0.5,
        num_subsets: int = 2,
        simple: bool = False,
        seed: int | None = None,
        use_cuda: bool = False,
        max_size: int = MOST_ROWS,
    ):
        ratios = input_size, subset_ratio, overlap_ratio, num_subsets
        how: Any = {"simple": simple, "seed": seed, "dist_params": dist_params}
        how |= {"use_cuda": use_cuda, "max_size": max_size}
        targets_of = functools.partial(FunctionTargets, get_operation(operation))
        super().__init__(targets_of, input_size, lambda _: subsets_from_ratios(*ratios), **how)

    def fork(
        self,
        sample_range: Sequence = (1, 2),
        seed: int | None = None,
        use_extrapolation: bool = False,
    ) -> SampleStream:
        """Return a stream of samples from a range.

        Without a seed, the parent draws one at the call; with one, the parent does not move.
        `use_extrapolation` selects the second mean and deviation of a truncated normal.
        """
        return self._stream((self._input_size,), sample_range, seed, use_extrapolation)


class SliceTargets:
    """Sums or products of the elements of each slice: x `(batches, B, in)` -> `(batches, B, O)`.

    As published, targets are listed slice after slice and then cut into rows, so with several
    slices a row has the targets of other rows.
    """

    def __init__(self, operation: str, subset_ranges: Sequence[Subset]):
        reductions = {"add": np.add.reduce, "mul": np.multiply.reduce}
        if operation not in reductions:
            raise ValueError(f"operation {operation!r} is not one of add, mul.")
        self.name, self.reduce = operation, reductions[operation]
        self.operands = tuple(subset_ranges)
        self.outputs = len(self.operands)

    def __call__(self, x: np.ndarray) -> np.ndarray:
        own = [self.reduce(x[..., start:end], axis=-1) for start, end in self.operands]
        return np.stack(own, axis=1).reshape(*x.shape[:2], self.outputs)


class SingleLayerStaticDataset(SubsetDataset):
    """x (B, input_size) and t (B, num_subsets), the sum or product of each slice's elements."""

    def __init__(
        self,
        operation: str,
        input_size: int = 2,
        subset_ratio: float = 1,
        overlap_ratio: float = 0,
        num_subsets: int = 1,
        simple: bool = False,
        seed: int | None = None,
        use_cuda: bool = False,
        max_size: int = MOST_ROWS,
    ):
        ratios = input_size, subset_ratio, overlap_ratio, num_subsets
        how: Any = {"simple": simple, "seed": seed, "use_cuda": use_cuda, "max_size": max_size}
        targets_of = functools.partial(SliceTargets, operation)
        super().__init__(targets_of, input_size, lambda _: subsets_from_ratios(*ratios), **how)
        self._output_size = num_subsets

    def get_output_size(self) -> int:
        """Return the requested number of subsets. With `simple` there are two, whatever it is."""
        return self._output_size

    def print_operation(self) -> str:
        """Return the targets as published code prints them, such as `mul(v[0:2)), mul(v[2:4))`."""
        name = self._targets.name
        return ", ".join(f"{name}(v[{start}:{end}))" for start, end in self.subset_ranges)

    def fork(self, sample_range: Sequence = (1, 2), seed: int | None = None) -> SampleStream:
        """Return a stream of samples from a range; without a seed, the parent draws one."""
        return self._stream((self._input_size,), sample_range, seed)


LENGTHS, OVERLAPS = (1, 5), (1, 2)
"""Closed intervals that the slices of sequences are drawn from."""


class SimpleFunctionRecurrentDataset(SubsetDataset):
    """x (B, T, vector_size) and t (B, 1) = operation(sum of slice 0, sum of slice 1).

    The overlap and the two slice lengths are drawn, then the position. The overlap is at most the
    shorter slice. With `subset_ratio`, both slices and their overlap have the lengths of the static
    task, and the position alone is drawn. `simple` fixes four inputs and the slices [0:4] and
    [0:2], without any draw.

    Departs from the published code: its dataset cannot be constructed, so this follows its evident
    intent, and there are no published numbers.
    """

    def __init__(
        self,
        operation: str,
        vector_size: int = 10,
        *,
        subset_ratio: float | None = None,
        overlap_ratio: float = 0.5,
        simple: bool = False,
        seed: int | None = None,
        use_cuda: bool = False,
        max_size: int = MOST_ROWS,
    ):

        def choose(parent: LegacyRandom) -> list[Subset]:
            if subset_ratio is None:
                return _draw_lengths(parent, vector_size)
            return subsets_from_ratios(vector_size, subset_ratio, overlap_ratio, 2)

        how: Any = {"simple": simple, "seed": seed, "use_cuda": use_cuda, "max_size": max_size}
        targets_of = functools.partial(FunctionTargets, get_operation(operation))
        super().__init__(targets_of, vector_size, choose, **how)

    def fork(
        self, seq_length: int = 10, sample_range: Sequence = (1, 2), seed: int | None = None
    ) -> SampleStream:
        """Return a stream of sequences; without a seed, the parent draws one at the call."""
        return self._stream((seq_length, self._input_size), sample_range, seed)


def _draw_lengths(parent: LegacyRandom, input_size: int) -> list[Subset]:
    """Draw in this order: overlap, length of slice 0, length of slice 1."""
    # The largest span that can be drawn: two longest slices that overlap least.
    largest = 2 * LENGTHS[1] - OVERLAPS[0]
    if largest > input_size:
        raise ValueError(
            f"Two subsets of up to {LENGTHS[1]} elements with an overlap of {OVERLAPS[0]} can "
            f"take {largest} inputs, but there are {input_size}."
        )
    overlap, first, second = (
        int(parent.integers(low, high + 1)) for low, high in (OVERLAPS, LENGTHS, LENGTHS)
    )
    start = first - min(overlap, first, second)
    return [(0, first), (start, start + second)]


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
            block = self._stream.inputs(1, BLOCK)
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

    def keys(self) -> tuple[tuple, tuple]:
        """As of a `SampleStream`, but which inputs are kept depends on the targets."""
        own = self._stream.keys()[1], *self._largest.tolist()
        return own, own


def _values(stream: SampleStream, block: np.ndarray) -> np.ndarray:
    """Return operands and target of inputs (batches, B, in): (batches, B, operands + 1)."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        sums = [block[..., start:end].sum(-1) for start, end in stream.targets.operands]
        return np.stack([*sums, stream.targets(block)[..., 0]], -1)


def _largest(stream: SampleStream) -> np.ndarray:
    """Return the largest value of each operand and of the target, over training samples."""
    drawn = (stream.inputs(1, BLOCK) for _ in range(TRAINING_SAMPLES // BLOCK))
    return np.fmax.reduce([np.fmax.reduce(_values(stream, block)[0]) for block in drawn])
