"""Writes what a log point observes into the event file of every run."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence

import torch

from .observe import TaggedValue

SECONDS_UNWRITTEN = 1.0
"""Opening hundreds of files at every log point would take longer than what is logged."""


class Recorder:
    """One writer a run; a run that is no longer `live` gets nothing."""

    def __init__(self, writers: Sequence, *, stacked: bool):
        self.writers = list(writers)
        self.live = [True] * len(self.writers)
        self._stacked = stacked
        self._flushed = -math.inf

    def write(self, tagged: Iterable[TaggedValue]) -> None:
        """Collect values of all live runs, in order."""
        for item in tagged:
            value = item.value.detach().cpu()
            runs = value if self._stacked else value.unsqueeze(0)
            parts = runs.tolist() if item.kind == "scalar" else runs.numpy()
            for writer, live, part in zip(self.writers, self.live, parts, strict=True):
                if live:
                    getattr(writer, item.kind)(item.tag, part)

    def text(self, run: int, tag: str, text: str, *, rooted: bool = True) -> None:
        """Collect a text of one run."""
        self.writers[run].text(tag, text, rooted=rooted)

    def commit(self, step: int) -> None:
        """End the step: what was collected becomes part of the event files' buffers."""
        for writer, live in zip(self.writers, self.live, strict=True):
            if live:
                writer.commit(step)

    def flush_now_and_then(self) -> None:
        """Put everything on disk unless that was done a moment ago."""
        if time.monotonic() - self._flushed >= SECONDS_UNWRITTEN:
            self.flush()

    def flush(self) -> None:
        """Put everything on disk."""
        self._flushed = time.monotonic()
        for writer in self.writers:
            writer.flush()

    def close(self) -> None:
        """Flush and release all files."""
        for writer in self.writers:
            writer.close()


def scalar(tag: str, value: torch.Tensor) -> TaggedValue:
    """A scalar of shape `runs`."""
    return TaggedValue("scalar", tag, value)
