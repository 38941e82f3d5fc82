"""CPU and wall time, and figures of several repeats."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Cost:
    """Seconds of CPU time, user plus system, of this process and its children; and of wall time.

    Children count once they have ended.
    """

    cpu: float
    wall: float

    @staticmethod
    def now() -> Cost:
        """Return the readings of the clocks."""
        times = os.times()
        ended = times.children_user + times.children_system
        return Cost(time.process_time() + ended, time.perf_counter())

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.cpu + other.cpu, self.wall + other.wall)

    def __sub__(self, other: Cost) -> Cost:
        return Cost(self.cpu - other.cpu, self.wall - other.wall)

    def __truediv__(self, count: float) -> Cost:
        return Cost(self.cpu / count, self.wall / count)


def spent(work: Callable[[], object]) -> Cost:
    """Return what `work` costs."""
    start = Cost.now()
    work()
    return Cost.now() - start


def median(costs: Sequence[Cost]) -> Cost:
    """Return the median of each clock."""
    return Cost(statistics.median(c.cpu for c in costs), statistics.median(c.wall for c in costs))


def in_turn(
    ours: Callable[[], Cost], theirs: Callable[[], Cost], repeats: int
) -> tuple[Cost, Cost]:
    """Return the median costs of two works that are done by turns."""
    # The first time, files and caches are cold.
    ours()
    theirs()
    pairs = [(ours(), theirs()) for _ in range(repeats)]
    own, other = zip(*pairs, strict=True)
    return median(own), median(other)
