"""The range argument of a fork: one interval, a mixture of two, or one for each half."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal

Interval = tuple[float, float]
Form = Literal["single", "mixture", "halves"]


@dataclass(frozen=True)
class SampleRange:
    """Where inputs are drawn from.

    `single`    [low, high]: every element from the one interval
    `mixture`   [[low, high], [low, high]]: each element from either, with probability 1/2
    `halves`    [[low, high], [low, high], []]: the first floor(n / 2) entries of the first axis of
                a sample from interval 0, the others from interval 1
    """

    form: Form
    intervals: tuple[Interval, ...]

    @classmethod
    def parse(cls, sample_range: Sequence[Any]) -> SampleRange:
        """Read the list that a command line or an experiment gives; refuse what has no meaning."""
        if not isinstance(sample_range, list | tuple) or len(sample_range) == 0:
            raise ValueError(f"A sample range is a list, got {sample_range!r}.")
        if not isinstance(sample_range[0], list | tuple):
            return cls("single", (_interval(sample_range),))
        if len(sample_range) not in (2, 3):
            raise ValueError(
                "A nested sample range has two intervals, and [] as a third entry for halves, "
                f"got {sample_range!r}."
            )
        if len(sample_range) == 3 and sample_range[2]:
            raise ValueError(
                "The third entry of a sample range only marks the halves form and must be [], "
                f"got {sample_range[2]!r}."
            )
        first, second = _interval(sample_range[0]), _interval(sample_range[1])
        if first[0] - first[1] != second[0] - second[1]:
            raise ValueError(
                "The two intervals of a sample range must have exactly the same width, "
                f"got {list(first)} and {list(second)}."
            )
        return cls("mixture" if len(sample_range) == 2 else "halves", (first, second))


def _interval(bounds: Sequence[Any]) -> Interval:
    """The bounds as given: whole numbers stay whole, so that widths compare exactly."""
    numbers = isinstance(bounds, list | tuple) and all(
        isinstance(bound, Real) and not isinstance(bound, bool) for bound in bounds
    )
    if not numbers or len(bounds) != 2:
        raise ValueError(f"An interval is two numbers [low, high], got {bounds!r}.")
    low, high = bounds
    if not all(math.isfinite(value) for value in (low, high, float(high) - float(low))):
        raise ValueError(f"An interval must be finite and of finite width, got {list(bounds)}.")
    if low > high:
        raise ValueError(f"An interval runs from low to high, got {list(bounds)}.")
    return low, high
