"""Many streams that are drawn together.

The generator of a data set depends on its seed alone, so one seed on nine ranges draws the same
doubles nine times. Streams of one generator are therefore joined.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from .stream import SampleStream


class JointStreams:
    """Streams of equal `doubles_key`, of which only the first one's generator moves.

    places: the numbers of their runs in a block of samples.
    """

    def __init__(self, streams: Sequence[SampleStream], places: Sequence[int]):
        self.streams = list(streams)
        self.places = list(places)

    def draw_into(self, x: np.ndarray, t: np.ndarray) -> None:
        """Fill x (batches, runs, B, *sample) and t (batches, runs, B, width) at their places."""
        batches, _, batch_size = x.shape[:3]
        for part in self.streams[0].parts(batches, batch_size):
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
    """Join those streams that can be drawn together; return all."""
    members: dict[object, list[int]] = {}
    for k, stream in enumerate(streams):
        key = stream.doubles_key()
        members.setdefault(("alone", k) if key is None else key, []).append(k)
    return [JointStreams([streams[k] for k in group], group) for group in members.values()]
