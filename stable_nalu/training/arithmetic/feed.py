"""Training batches for all runs, drawn in blocks: the numbers of successive single batches."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from stable_nalu.dataset import SampleStream
from stable_nalu.dataset.joint_streams import JointStreams, NativeStreams, by_compiled_code, join

BLOCK_BYTES = 32 << 20
"""Large, so that NumPy is called rarely."""

NATIVE_BLOCK_BYTES = 4 << 20
"""Small, so that samples that compiled code draws in one call are used from a near cache."""

MAX_BLOCK = 512


class Feed:
    """Batches `x (*runs, batch, in)`, `t (*runs, batch, 1)` from one stream a run.

    With `batch_last`, which may be set before the first batch, the batch dimension of x is the
    contiguous one in memory. Only the feed may draw from its streams.
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
        self._joined = join(streams)
        self._groups: Sequence[JointStreams | NativeStreams] = self._joined
        self._shape = len(streams), batch_size, input_size
        self._stacked = stacked
        self._device = device
        self._remaining = remaining
        self._buffers: tuple[torch.Tensor, torch.Tensor] | None = None
        # A batch that does not fit into memory is found out here, before anything is written.
        self._block(0)
        self._ready: list[tuple[torch.Tensor, torch.Tensor]] = []

    @property
    def drawn_ahead(self) -> int:
        """Batches drawn but not yet handed out."""
        return len(self._ready)

    def next(self) -> tuple[torch.Tensor, torch.Tensor]:
        """The next batch of every run."""
        if not self._ready:
            self._draw()
        return self._ready.pop()

    def _draw(self) -> None:
        if self._buffers is None:
            self._buffers = self._prepared()
        count = max(1, min(len(self._buffers[0]), self._remaining))
        self._remaining -= count
        x, t = (buffer[:count] for buffer in self._buffers)
        for streams in self._groups:
            streams.draw_into(x.numpy(), t.numpy())
        if not self._stacked:
            x, t = x[:, 0], t[:, 0]
        x, t = x.to(self._device), t.to(self._device)
        self._ready = list(zip(x.unbind(0), t.unbind(0), strict=True))[::-1]

    def skip(self, batches: int) -> None:
        """Advance all streams as if `batches` batches had been used."""
        for streams in self._groups:
            streams.skip(batches, self.batch_size)

    def _prepared(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Buffers of a block, once it is known who will fill them."""
        x, t = self._block(BLOCK_BYTES)
        self._groups = by_compiled_code(self._joined, x.numpy(), t.numpy())
        native = all(isinstance(streams, NativeStreams) for streams in self._groups)
        return self._block(NATIVE_BLOCK_BYTES) if native else (x, t)

    def _block(self, size: int) -> tuple[torch.Tensor, torch.Tensor]:
        runs, batch_size, input_size = self._shape
        dtype = torch.get_default_dtype()
        per_batch = runs * batch_size * (input_size + 1) * dtype.itemsize
        batches = max(1, min(MAX_BLOCK, size // per_batch))
        last = (input_size, batch_size) if self.batch_last else (batch_size, input_size)
        x = torch.empty(batches, runs, *last, dtype=dtype)
        t = torch.empty(batches, runs, batch_size, 1, dtype=dtype)
        return (x.mT if self.batch_last else x), t
