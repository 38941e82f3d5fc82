"""Streams that read the same doubles: drawn once, then turned into the samples of each.

The generator of a data set depends on its seed alone, so one seed on nine ranges draws the same
doubles nine times, and drawing is most of what a small model costs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .stream import SampleStream


class JointStreams:
    """Takes over streams of equal `doubles_key`; only the first one's generator moves.

    `places`: which runs of a block of samples are theirs.
    """

    def __init__(self, streams: Sequence[SampleStream], places: Sequence[int]):
        self.streams = list(streams)
        self.places = list(places)

    def draw_into(self, x: np.ndarray, t: np.ndarray) -> None:
        """Fill x (batches, runs, B, *sample) and t (batches, runs, B, width) at their places."""
        first, *others = self.streams
        if not others:
            first.draw_into(x[:, self.places[0]], t[:, self.places[0]])
            return
        batches, _, batch_size = x.shape[:3]
        for part in first.parts(batches, batch_size):
            doubles = first.draw_doubles(part.stop - part.start, batch_size)
            for stream, place in zip(self.streams, self.places, strict=True):
                stream.write(stream.sampler.scaled(doubles), x[part, place], t[part, place])

    def skip(self, batches: int, batch_size: int) -> None:
        """Advance as if that many batches had been drawn."""
        self.streams[0].skip(batches, batch_size)


def join(streams: Sequence[SampleStream]) -> list[JointStreams]:
    """The streams, those together that can be drawn together."""
    members: dict[object, list[int]] = {}
    for k, stream in enumerate(streams):
        key = stream.doubles_key()
        members.setdefault(("alone", k) if key is None else key, []).append(k)
    return [JointStreams([streams[k] for k in group], group) for group in members.values()]
