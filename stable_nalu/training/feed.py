"""Training batches for all runs, drawn in blocks: the numbers of successive single batches."""

from __future__ import annotations

from collections.abc import Sequence

import torch

BLOCK_BYTES = 32 << 20
MAX_BLOCK = 512


class Feed:
    """Batches `x (*runs, batch, in)`, `t (*runs, batch, 1)` from one stream a run."""

    def __init__(
        self,
        streams: Sequence,
        batch_size: int,
        input_size: int,
        *,
        stacked: bool,
        device: torch.device,
        remaining: int,
    ):
        self.streams = list(streams)
        self.batch_size = batch_size
        self._stacked = stacked
        self._device = device
        dtype = torch.get_default_dtype()
        per_batch = len(self.streams) * batch_size * (input_size + 1) * dtype.itemsize
        self._block = max(1, min(MAX_BLOCK, BLOCK_BYTES // per_batch))
        self._remaining = remaining
        runs = len(self.streams)
        self._x = torch.empty(self._block, runs, batch_size, input_size, dtype=dtype)
        self._t = torch.empty(self._block, runs, batch_size, 1, dtype=dtype)
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
        x, t = self._x[:count], self._t[:count]
        for run, stream in enumerate(self.streams):
            stream.draw_into(x[:, run].numpy(), t[:, run].numpy())
        if not self._stacked:
            x, t = x[:, 0], t[:, 0]
        x, t = x.to(self._device), t.to(self._device)
        self._ready = list(zip(x.unbind(0), t.unbind(0), strict=True))[::-1]

    def skip(self, batches: int) -> None:
        """Advance all streams as if `batches` batches had been used."""
        for stream in self.streams:
            stream.skip(batches, self.batch_size)
