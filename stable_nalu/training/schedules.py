"""What changes with the iteration: penalty ramps, the beta growth, the temperature."""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np

RATE = 1e-5


def temperature(iteration: int) -> float:
    """Gumbel temperature: max(0.5, exp(-1e-5 i))."""
    return max(0.5, math.exp(-RATE * iteration))


def saturation(iteration: int) -> float:
    """1 - exp(-1e-5 i)."""
    return 1 - math.exp(-RATE * iteration)


class PenaltyRamp:
    """Scale of the discretisation penalty, one number a run.

    `linear` rises from 0 at `start` to 1 at `end` (an end before the start makes it fall from 1 to
    0); `exp` is 1 - exp(-1e-5 i).
    """

    def __init__(self, scaling: str, start: list[int], end: list[int]):
        self.scaling = scaling
        self.start = np.asarray(start, dtype=np.float64)
        self.length = np.asarray(end, dtype=np.float64) - self.start
        ends = np.concatenate([self.start, self.start + self.length])
        self._first, self._last = float(ends.min()), float(ends.max())

    def moves(self, iteration: int) -> bool:
        """Whether the scale can differ from that of the iteration before."""
        return self.scaling == "exp" or self._first < iteration <= self._last

    def at(self, iteration: int) -> np.ndarray:
        if self.scaling == "exp":
            return np.full(self.start.shape, saturation(iteration))
        return np.clip((iteration - self.start) / self.length, 0.0, 1.0)


class BetaGrowth:
    """The factor of the NPU papers' penalties: times `growth` every `step` iterations until `end`.

    Exact decimals, so that repeated factors do not drift. A start above the end decreases. A factor
    that overshoots `end` is followed by the reverse factor, as in the published code: the value
    then oscillates.
    """

    def __init__(self, start: float, end: float, step: int, growth: int):
        self.value = Decimal(str(start))
        self.end = Decimal(str(end))
        self.step = step
        self.growth = growth
        self.only_grows = False

    def advance(self, iteration: int) -> bool:
        """Update the value at the beginning of `iteration`; True when it may have changed."""
        if iteration % self.step != 0 or iteration == 0:
            return False
        if self.value < self.end:
            self.value *= self.growth
        elif self.value > self.end and not self.only_grows:
            self.value /= self.growth
        return True

    def __float__(self) -> float:
        return float(self.value)
