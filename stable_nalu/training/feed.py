"""Training batches for all runs, drawn in blocks: the numbers of successive single batches."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from stable_nalu.dataset import SampleStream
from stable_nalu.dataset.joint_streams import join

BLOCK_BYTES = 32 << 20
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
        self._groups = join(streams)
        self._input_size = input_size
        self._stacked = stacked
        self._device = device
        dtype = torch.get_default_dtype()
        per_batch = len(streams) * batch_size * (input_size + 1) * dtype.itemsize
        self._block = max(1, min(MAX_BLOCK, BLOCK_BYTES // per_batch))
        self._remaining = remaining
        self._t = torch.empty(self._block, len(streams), batch_size, 1, dtype=dtype)
        self._x: torch.Tensor | None = None
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
        count = max(1, min(self._block, self._remaining))
        self._remaining -= count
        x, t = self._buffer()[:count], self._t[:count]
        for streams, runs in self._groups:
            streams.draw_into(
                [x[:, run].numpy() for run in runs], [t[:, run].numpy() for run in runs]
            )
        if not self._stacked:
            x, t = x[:, 0], t[:, 0]
        x, t = x.to(self._device), t.to(self._device)
        self._ready = list(zip(x.unbind(0), t.unbind(0), strict=True))[::-1]

    def skip(self, batches: int) -> None:
        """Advance all streams as if `batches` batches had been used."""
        for streams, _ in self._groups:
            streams.skip(batches, self.batch_size)

    def _buffer(self) -> torch.Tensor:
        if self._x is None:
            shape = (*self._t.shape[:2], self.batch_size, self._input_size)
            if self.batch_last:
                self._x = self._t.new_empty(*shape[:2], *shape[:1:-1]).mT
            else:
                self._x = self._t.new_empty(shape)
        return self._x
