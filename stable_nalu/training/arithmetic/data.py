"""Training batches and fixed evaluation sets of all runs of a stack."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Protocol

import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.dataset import SampleStream
from stable_nalu.dataset.joint_streams import JointStreams, NativeStreams, by_compiled_code, join
from stable_nalu.functional.log_space import shared_by_models

from ..compiled.errors import CompiledErrors, Portion, portions_of

BLOCK_BYTES = 32 << 20
"""Large, so that NumPy is called rarely."""

NATIVE_BLOCK_BYTES = 4 << 20
"""Small, so that samples that compiled code draws in one call are used from a near cache."""

MAX_BLOCK = 512

EVALUATION_ROWS = 10_000
VALIDATION_SEED = 43953907
TEST_SEED = 8689336
CHUNK_ELEMENTS = 1 << 18


class Feed:
    """Batches `x (*runs, batch, in)`, `t (*runs, batch, 1)`, drawn in blocks from a stream per run.

    They are the numbers of successive single batches.

    With `batch_last`, which may be set before the first batch, the batch dimension of x is the
    contiguous one in memory. Only the feed may draw from its streams. Feeds whose streams differ in
    their targets alone can draw together: see `share`.
    """

    def __init__(
        self,
        streams: Sequence[SampleStream],
        batch_size: int,
        input_size: int,
        *,
        stacked: bool,
        device: torch.device,
        remaining: int,
    ):
        self.batch_size = batch_size
        self.batch_last = False
        self._streams = list(streams)
        self._drawing: Feed = self
        self._sharing: list[Feed] = [self]
        self._joined = join(streams)
        self._groups: Sequence[JointStreams | NativeStreams] = self._joined
        self._shape = len(streams), batch_size, input_size
        self._stacked = stacked
        self._device = device
        self._remaining = remaining
        self._buffers: list[torch.Tensor] | None = None
        # A batch that does not fit into memory is found out here, before anything is written.
        self._block(0)
        self._ready: list[tuple[torch.Tensor, torch.Tensor]] = []

    @property
    def drawn_ahead(self) -> int:
        """Return how many batches are drawn but not yet handed out."""
        return len(self._ready)

    def next(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the next batch of every run."""
        if not self._ready:
            self._drawing._draw()
        return self._ready.pop()

    def share(self, others: Sequence[Feed]) -> None:
        """Draw for other feeds, too, from now on: inputs once, and the targets of each.

        All are to hand out the same batch next and to take turns, batch by batch. This feed has
        drawn nothing that it has not handed out; what others have is drawn again.
        """
        self._sharing = [self, *others]
        beside = [feed._streams for feed in others]
        self._joined = [streams.beside(beside) for streams in self._joined]
        self._groups, self._buffers = self._joined, None
        for feed in others:
            feed._drawing, feed._ready, feed._buffers = self, [], None

    def _draw(self) -> None:
        if self._buffers is None:
            self._buffers = self._prepared()
        count = max(1, min(len(self._buffers[0]), self._remaining))
        self._remaining -= count
        drawn = [buffer[:count] for buffer in self._buffers]
        for streams in self._groups:
            streams.draw_into(*(values.numpy() for values in drawn))
        if not self._stacked:
            drawn = [values[:, 0] for values in drawn]
        x, *ts = (values.to(self._device).unbind(0) for values in drawn)
        if len(self._sharing) > 1:
            x = [shared_by_models(batch) for batch in x]
        for feed, t in zip(self._sharing, ts, strict=True):
            feed._ready = list(zip(x, t, strict=True))[::-1]

    def skip(self, batches: int) -> None:
        """Advance all streams as if `batches` batches had been used."""
        for streams in self._groups:
            streams.skip(batches, self.batch_size)

    def _prepared(self) -> list[torch.Tensor]:
        """Return buffers of a block, once it is known who will fill them."""
        buffers = self._block(BLOCK_BYTES)
        self._groups = by_compiled_code(self._joined, *(values.numpy() for values in buffers))
        native = all(isinstance(streams, NativeStreams) for streams in self._groups)
        return self._block(NATIVE_BLOCK_BYTES) if native else buffers

    def _block(self, size: int) -> list[torch.Tensor]:
        """Return memory of inputs, and of the targets of each feed that shares them."""
        runs, batch_size, input_size = self._shape
        dtype = torch.get_default_dtype()
        per_batch = runs * batch_size * (input_size + len(self._sharing)) * dtype.itemsize
        batches = max(1, min(MAX_BLOCK, size // per_batch))
        last = (input_size, batch_size) if self.batch_last else (batch_size, input_size)
        x = torch.empty(batches, runs, *last, dtype=dtype)
        ts = [torch.empty(batches, runs, batch_size, 1, dtype=dtype) for _ in self._sharing]
        return [x.mT if self.batch_last else x, *ts]


class EvaluationSet:
    """Fixed rows of every run, for validation or test.

    Runs with the same inputs share them in memory.
    """

    def __init__(self, streams: Sequence, *, stacked: bool, device: torch.device):
        xs: dict[object, torch.Tensor] = {}
        ts: dict[object, torch.Tensor] = {}
        keys = [(stream.inputs_key(), stream.targets_key()) for stream in streams]
        for stream, (x_key, t_key) in zip(streams, keys, strict=True):
            if x_key not in xs or t_key not in ts:
                x, t = stream[0:EVALUATION_ROWS]
                xs.setdefault(x_key, x)
                ts.setdefault(t_key, t)
        self._stacked = stacked
        self._x, self._t = (torch.stack([*sets.values()]).to(device) for sets in (xs, ts))
        self._x_of_run, self._t_of_run = (
            torch.tensor([[*sets].index(key) for key in own], device=device)
            for sets, own in zip((xs, ts), zip(*keys, strict=True), strict=True)
        )

    @cached_property
    def _portions(self) -> list[Portion]:
        return portions_of(self._x, self._t)

    def errors(
        self, model: ExtendedTorchModule, compiled: CompiledErrors | None = None
    ) -> torch.Tensor:
        """Return the mean squared error of each run; the model is in evaluation mode already.

        compiled: code for the same model, used where it works.
        """
        return mean_of_rows(self.squares(model, compiled))

    def squares(
        self, model: ExtendedTorchModule, compiled: CompiledErrors | None = None
    ) -> torch.Tensor:
        """Return the squared error of every row: `(*runs, rows, 1)`."""
        if not self._stacked:
            return (model(self._x[0]) - self._t[0]) ** 2
        squared = None if compiled is None else self._squared_by(compiled)
        if squared is None:
            squared = self._squared(model)
        return torch.cat(squared, dim=-2)

    def inputs(self, rows: int) -> torch.Tensor:
        """Return the first inputs of every run: `(*runs, rows, in)`."""
        return self._x[:, :rows][self._x_of_run] if self._stacked else self._x[0, :rows]

    def rows_of_runs(self) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """Return inputs `(rows, in)` and targets `(rows, 1)` of every run."""
        places = zip(self._x_of_run.tolist(), self._t_of_run.tolist(), strict=True)
        return [(self._x[x], self._t[t]) for x, t in places]

    def _squared_by(self, compiled: CompiledErrors) -> list[torch.Tensor] | None:
        rows = self._x.shape[-2]
        squared = []
        for portion in self._portions:
            errors = compiled.squared(portion, (self._x_of_run, self._t_of_run))
            if errors is None:
                return None
            squared.append(errors[:, :rows])
            rows -= errors.shape[1]
        return squared

    def _squared(self, model: ExtendedTorchModule) -> list[torch.Tensor]:
        squared = []
        rows = self._x.shape[-2]
        for start in range(0, rows, self._chunk(model)):
            part = slice(start, start + self._chunk(model))
            y = model(self._x[:, part][self._x_of_run])
            squared.append((y - self._t[:, part][self._t_of_run]) ** 2)
        return squared

    def _chunk(self, model: ExtendedTorchModule) -> int:
        rows = self._x.shape[-2]
        if not evaluates_rows_apart(model):
            return rows
        per_row = len(self._x_of_run) * self._x.shape[-1]
        return max(1, min(rows, CHUNK_ELEMENTS // per_row))


def evaluates_rows_apart(model: ExtendedTorchModule) -> bool:
    """Return whether rows may be evaluated some at a time."""
    return all(module.evaluates_rows_independently for module in model.extended_modules())


class FixedSet(Protocol):
    """Rows or sequences that errors of all runs are measured on."""

    def squares(
        self, model: ExtendedTorchModule, compiled: CompiledErrors | None = None
    ) -> torch.Tensor:
        """Return the squared errors `(*runs, rows, 1)`."""
        ...


def mean_of_rows(squares: torch.Tensor) -> torch.Tensor:
    """Return the mean squared error of each run, from the squares of its rows."""
    return squares.mean((-2, -1))


def evaluate(
    model: ExtendedTorchModule,
    sets: Sequence[FixedSet],
    *,
    eval_mode: bool,
    compiled: CompiledErrors | None = None,
    measure: Callable[[torch.Tensor], torch.Tensor] = mean_of_rows,
) -> list[torch.Tensor]:
    """Return the errors of all sets, without gradients, sampling or traces.

    The model is in training mode afterwards.

    measure: makes errors of the squares of all rows, `(*runs, rows, 1)`.
    """
    traces = [(module, module.trace) for module in model.extended_modules()]
    for module, _ in traces:
        module.trace = None
    if eval_mode:
        model.eval()
    with torch.no_grad(), model.no_random():
        errors = [measure(s.squares(model, compiled)) for s in sets]
    model.train()
    for module, trace in traces:
        module.trace = trace
    return errors
