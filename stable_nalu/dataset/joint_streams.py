"""Streams that read the same doubles: drawn once, then turned into the samples of each.

The generator of a data set depends on its seed alone, so one seed on nine ranges draws the same
doubles nine times, and drawing is most of what a small model costs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .stream import SampleStream


class JointStreams:
    """Takes over streams of equal `doubles_key`; only the first one's generator moves."""

    def __init__(self, streams: Sequence[SampleStream]):
        self.streams = list(streams)

    def draw_into(self, xs: Sequence[np.ndarray], ts: Sequence[np.ndarray]) -> None:
        """Fill x (batches, B, *sample) and t (batches, B, width) of every stream."""
        first, *others = self.streams
        if not others:
            first.draw_into(xs[0], ts[0])
            return
        batches, batch_size = xs[0].shape[:2]
        for part in first.parts(batches, batch_size):
            doubles = first.draw_doubles(part.stop - part.start, batch_size)
            for stream, x, t in zip(self.streams, xs, ts, strict=True):
                stream.write(stream.sampler.scaled(doubles), x[part], t[part])

    def skip(self, batches: int, batch_size: int) -> None:
        """Advance as if that many batches had been drawn."""
        self.streams[0].skip(batches, batch_size)


def join(streams: Sequence[SampleStream]) -> list[tuple[JointStreams, list[int]]]:
    """Streams that can be drawn together, and where they stand among `streams`."""
    members: dict[object, list[int]] = {}
    for k, stream in enumerate(streams):
        key = stream.doubles_key()
        members.setdefault(("alone", k) if key is None else key, []).append(k)
    return [(JointStreams([streams[k] for k in group]), group) for group in members.values()]
