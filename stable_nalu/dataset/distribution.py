"""Families of input distributions: what `dist_params` names.

Most families turn uniform doubles into values one by one (`scale`); the others draw a whole array
(`draw`) because their numbers do not come from one double an element by elementary arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .legacy_random import LegacyRandom
from .sample_range import Interval
from .truncated_normal import quantile_function


class Uniform:
    """low + (high - low) * D."""

    parameters: tuple[float, ...] = ()

    def check(self, interval: Interval) -> None:
        """Every interval will do."""

    def scale(self, doubles: np.ndarray, interval: Interval, out: np.ndarray) -> None:
        """Turn uniform doubles into values; `out` may be the doubles."""
        low, high = float(interval[0]), float(interval[1])
        np.multiply(doubles, high - low, out=out)
        np.add(out, low, out=out)


class TruncatedNormal:
    """Normal(mean, deviation) truncated to [low, high], by its inverse distribution function."""

    def __init__(self, mean: float, deviation: float):
        self.parameters = (mean, deviation)

    def check(self, interval: Interval) -> None:
        """Refuse an interval that holds a single point."""
        if interval[0] == interval[1]:
            raise ValueError(f"truncated-normal needs low < high, got {list(interval)}.")

    def scale(self, doubles: np.ndarray, interval: Interval, out: np.ndarray) -> None:
        """Turn uniform doubles into values; `out` may be the doubles."""
        out[...] = quantile_function(*map(float, (*interval, *self.parameters)))(doubles)


class Exponential:
    """Exponential with mean `scale`; the interval has no effect."""

    one_double_each = True

    def __init__(self, scale: float):
        self.parameters = (scale,)

    def check(self, interval: Interval) -> None:
        """Every interval will do."""

    def draw(self, random: LegacyRandom, shape: tuple[int, ...], interval: Interval) -> np.ndarray:
        """Two words an element, in order."""
        return random.exponential(self.parameters[0], shape)


class Benford:
    """Whole numbers whose first digit follows Benford's law; the other digits are uniform.

    The digits after the first form a number without leading zeros, so the second digit is never 0.
    """

    parameters: tuple[float, ...] = ()
    one_double_each = False
    FIRST_DIGIT = (0, 0.301, 0.176, 0.125, 0.097, 0.079, 0.067, 0.058, 0.051, 0.046)
    UP_TO_DIGIT = np.cumsum(FIRST_DIGIT)
    UP_TO_DIGIT /= UP_TO_DIGIT[-1]
    POWERS = 10 ** np.arange(10, dtype=np.int64)
    LARGEST = 10**9
    """Up to here the product of two numbers fits into an int64."""

    def check(self, interval: Interval) -> None:
        """Ask for low >= 10 and for a power of ten as high."""
        low, high = interval
        powers = [10**k for k in range(2, 10)]
        if low < 10 or high not in powers or self._others(interval)[0] >= high // 10:
            raise ValueError(
                "benford needs 10 <= low < high with high a power of ten from 100 to "
                f"{self.LARGEST}, got {list(interval)}."
            )

    def draw(self, random: LegacyRandom, shape: tuple[int, ...], interval: Interval) -> np.ndarray:
        """All first digits, then the other digits of all elements."""
        first = np.searchsorted(self.UP_TO_DIGIT, random.doubles(shape), side="right")
        others = random.integers(*self._others(interval), shape)
        return first * self.POWERS[np.searchsorted(self.POWERS, others, side="right")] + others

    def _others(self, interval: Interval) -> tuple[int, int]:
        # The float product decides the digits, as published: trunc(x * 0.1) is not x // 10.
        return int(interval[0] * 10**-1), int(interval[1] * 10**-1)


Distribution = Uniform | TruncatedNormal | Exponential | Benford

PARAMETER_NAMES: dict[str, tuple[str, ...]] = {
    "uniform": (),
    "truncated-normal": ("mean", "std", "extrapolation mean", "extrapolation std"),
    "exponential": ("scale",),
    "benford": (),
}
"""The numbers that follow the name of a family in `dist_params`."""


def check_dist_params(dist_params: Sequence[Any]) -> tuple[Any, ...]:
    """The tuple (family, number, …) when it is complete and its numbers make sense."""
    family, *numbers = dist_params
    if family not in PARAMETER_NAMES:
        raise ValueError(
            f"sample distribution {family!r} is not one of {', '.join(PARAMETER_NAMES)}."
        )
    names = PARAMETER_NAMES[family]
    if len(numbers) != len(names):
        wanted = f"{len(names)} numbers ({', '.join(names)})" if names else "no numbers"
        raise ValueError(f"{family} needs {wanted} after its name, got {numbers}.")
    for name, number in zip(names, numbers, strict=True):
        if not math.isfinite(number) or ("mean" not in name and number <= 0):
            raise ValueError(f"The {name} of {family} cannot be {number}.")
    return tuple(dist_params)


def make_distribution(
    dist_params: tuple[Any, ...], use_extrapolation: bool = False
) -> Distribution:
    """The family; the second (mean, std) of a truncated normal belongs to extrapolation forks."""
    family, *numbers = check_dist_params(dist_params)
    if family == "truncated-normal":
        return TruncatedNormal(*(numbers[2:] if use_extrapolation else numbers[:2]))
    if family == "exponential":
        return Exponential(*numbers)
    return Uniform() if family == "uniform" else Benford()
