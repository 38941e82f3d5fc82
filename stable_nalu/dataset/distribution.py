"""Where inputs come from: generators, orders, ranges, and families of distributions over them.

Most families turn uniform doubles into values one by one (`scale`). The others draw a whole array
(`draw`), because their numbers do not come from one double each by elementary arithmetic.
"""

import ctypes
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from numbers import Real
from typing import Any, Literal, Self

import numpy as np
import torch

STATE_WORDS = 624
"""Words of 32 bits in the state of a generator, besides the position among them."""


class LegacyRandom:
    """A private MT19937 generator: the 32-bit words of `RandomState(seed)`, with cheaper calls.

    One bit generator is read through two front ends. `Generator.random` gives the same doubles as
    `RandomState.random_sample` and can fill a buffer; the integer routines differ between the two,
    so those are the legacy ones. A double takes two words:
    ((w1 >> 5) * 2**26 + (w2 >> 6)) / 2**53.
    """

    def __init__(self, seed: int | None):
        self.bit_generator = np.random.MT19937(0)
        self._legacy = np.random.RandomState(self.bit_generator)
        self._legacy.seed(seed)
        self._random = np.random.Generator(self.bit_generator).random

    def doubles(self, shape: tuple[int, ...], out: np.ndarray | None = None) -> np.ndarray:
        """Draw uniform doubles in [0, 1), of two words each, into `out` if it is given."""
        return self._random(shape, out=out)

    def words(self, count: int) -> np.ndarray:
        """Draw the next raw 32-bit words, as uint64."""
        return self.bit_generator.random_raw(count)

    def exponential(self, scale: float, shape: tuple[int, ...]) -> np.ndarray:
        """Draw -scale * ln(1 - D), of two words each; numpy's vectorised log rounds otherwise."""
        return self._legacy.exponential(scale, shape)

    def integers(self, low: int, high: int | np.ndarray, shape: tuple[int, ...] | None = None):
        """Draw integers in [low, high) by masked rejection, which takes a random number of words.

        high: one bound, or one for each integer.
        """
        return self._legacy.randint(low, high, size=shape, dtype=np.int64)

    def permutation(self, count: int) -> np.ndarray:
        return self._legacy.permutation(count)

    @property
    def state(self) -> np.ndarray:
        """Return the words of the state and the position among them, uint32 (625,), to be changed.

        It is the memory of this generator: NumPy's own property copies it word by word.
        """
        address = self.bit_generator.ctypes.state_address
        memory = (ctypes.c_uint32 * (STATE_WORDS + 1)).from_address(address)
        return np.ctypeslib.as_array(memory)

    def position(self) -> bytes:
        """Return a hashable that two generators share exactly when they continue alike."""
        return self.state.tobytes()


LoadedBatch = tuple[torch.Tensor, ...]
Places = slice | torch.Tensor


class IndexLoader:
    """Batches of `count` items; `take(index)` makes one of a slice, or of a tensor of numbers.

    Every epoch draws a 64-bit number from torch's global generator, and a shuffled one a second,
    with which it seeds the private generator of the permutation. The last batch may be smaller, but
    for one below `smallest`, which is part of the batch before it.
    """

    def __init__(
        self,
        count: int,
        batch_size: int,
        shuffle: bool,
        take: Callable[[Places], LoadedBatch],
        smallest: int = 1,
    ):
        self.shuffle = shuffle
        self.count = count
        self._take = take
        starts = list(range(0, count, batch_size))
        if len(starts) > 1 and count - starts[-1] < smallest:
            starts.pop()
        self._rows = [slice(a, b) for a, b in zip(starts, [*starts[1:], count], strict=True)]

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[LoadedBatch]:
        return self.batches(self.begin())

    def begin(self) -> torch.Tensor | None:
        """Draw the order of an epoch that `batches` is to iterate over; None is the stored one."""
        draw_seed()
        return shuffled_order(self.count) if self.shuffle else None

    def batches(self, order: torch.Tensor | None, first: int = 0) -> Iterator[LoadedBatch]:
        """Yield the batches of an epoch from number `first` on."""
        for rows in self._rows[first:]:
            yield self._take(rows if order is None else order[rows])


def draw_seed() -> int:
    """Draw a 63-bit seed from torch's global generator, as torch's loader and sampler do."""
    return int(torch.empty((), dtype=torch.int64).random_())


def shuffled_order(count: int) -> torch.Tensor:
    """Draw the permutation (count,) of one epoch of torch's random sampler."""
    return torch.randperm(count, generator=torch.Generator().manual_seed(draw_seed()))


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
    def parse(cls, sample_range: Sequence[Any]) -> Self:
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

    def checked(self, distribution: "Distribution") -> Self:
        """Return the range; refuse one that does not suit a distribution."""
        for interval in self.intervals:
            distribution.check(interval)
        return self


def _interval(bounds: Sequence[Any]) -> Interval:
    """Return the bounds as given: whole numbers stay whole, so that widths compare exactly."""
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


class Family:
    """A family of distributions, with its `parameters`."""

    def __init__(self, *parameters: float):
        self.parameters = parameters

    def check(self, interval: Interval) -> None:
        """Refuse an interval that does not suit the family."""


class Uniform(Family):
    """Values low + (high - low) * D of uniform doubles D."""

    def scale(self, doubles: np.ndarray, interval: Interval, out: np.ndarray) -> None:
        """Turn uniform doubles into values; `out` may be the doubles."""
        low, high = float(interval[0]), float(interval[1])
        np.multiply(doubles, high - low, out=out)
        np.add(out, low, out=out)


class TruncatedNormal(Family):
    """Normal(mean, deviation) truncated to [low, high], by its inverse distribution function."""

    def check(self, interval: Interval) -> None:
        """Refuse an interval that holds a single point."""
        if interval[0] == interval[1]:
            raise ValueError(f"truncated-normal needs low < high, got {list(interval)}.")

    def scale(self, doubles: np.ndarray, interval: Interval, out: np.ndarray) -> None:
        """Turn uniform doubles into values; `out` may be the doubles."""
        out[...] = quantile_function(*map(float, (*interval, *self.parameters)))(doubles)


class Exponential(Family):
    """Exponential with mean `scale`; the interval has no effect."""

    def draw(self, random: LegacyRandom, shape: tuple[int, ...], interval: Interval) -> np.ndarray:
        """Draw two words per element, in order."""
        return random.exponential(self.parameters[0], shape)


class Benford(Family):
    """Whole numbers whose first digit follows Benford's law; the other digits are uniform.

    The digits after the first form a number without leading zeros, so the second digit is never 0.
    """

    FIRST_DIGIT = (0, 0.301, 0.176, 0.125, 0.097, 0.079, 0.067, 0.058, 0.051, 0.046)
    UP_TO_DIGIT = np.cumsum(FIRST_DIGIT)
    UP_TO_DIGIT /= UP_TO_DIGIT[-1]
    POWERS = 10 ** np.arange(10, dtype=np.int64)
    LARGEST = 10**9
    """The largest bound for which the product of two numbers fits into an int64."""

    def check(self, interval: Interval) -> None:
        """Refuse a low below 10, and a high that is not a power of ten."""
        low, high = interval
        powers = [10**k for k in range(2, 10)]
        if low < 10 or high not in powers or self._others(interval)[0] >= high // 10:
            raise ValueError(
                "benford needs 10 <= low < high with high a power of ten from 100 to "
                f"{self.LARGEST}, got {list(interval)}."
            )

    def draw(self, random: LegacyRandom, shape: tuple[int, ...], interval: Interval) -> np.ndarray:
        """Draw all first digits, then the other digits of all elements."""
        first = np.searchsorted(self.UP_TO_DIGIT, random.doubles(shape), side="right")
        others = random.integers(*self._others(interval), shape)
        return first * self.POWERS[np.searchsorted(self.POWERS, others, side="right")] + others

    def _others(self, interval: Interval) -> tuple[int, int]:
        # The float product decides the digits, as published: trunc(x * 0.1) is not x // 10.
        return int(interval[0] * 10**-1), int(interval[1] * 10**-1)


Elementwise = Uniform | TruncatedNormal
Distribution = Elementwise | Exponential | Benford
FAMILIES: dict[str, Callable[..., Distribution]] = {
    "uniform": Uniform,
    "truncated-normal": TruncatedNormal,
    "exponential": Exponential,
    "benford": Benford,
}
PARAMETER_NAMES: dict[str, tuple[str, ...]] = {
    "uniform": (),
    "truncated-normal": ("mean", "std", "extrapolation mean", "extrapolation std"),
    "exponential": ("scale",),
    "benford": (),
}
"""The numbers that follow the name of a family in `dist_params`."""


def check_dist_params(dist_params: Sequence[Any]) -> tuple[Any, ...]:
    """Return the tuple (family, number, …); refuse one that is incomplete or makes no sense."""
    family, *numbers = dist_params
    names = PARAMETER_NAMES[family]
    if len(numbers) != len(names):
        wanted = f"{len(names)} numbers ({', '.join(names)})" if names else "no numbers"
        raise ValueError(f"{family} needs {wanted} after its name, got {numbers}.")
    for name, number in zip(names, numbers, strict=True):
        if "mean" not in name and number <= 0:
            raise ValueError(f"The {name} of {family} cannot be {number}.")
    return tuple(dist_params)


def make_distribution(dist_params: Sequence[Any], use_extrapolation: bool = False) -> Distribution:
    """Return the family; extrapolation takes the second (mean, std) of a truncated normal."""
    family, *numbers = dist_params
    if family == "truncated-normal":
        numbers = numbers[2:] if use_extrapolation else numbers[:2]
    return FAMILIES[family](*numbers)


CHECKED = 4096
"""Number of quantiles that are compared with scipy's, once for every truncated normal."""


@cache
def quantile_function(
    low: float, high: float, mean: float, deviation: float
) -> Callable[[np.ndarray], np.ndarray]:
    """Return the inverse distribution function of a truncated normal, equal to scipy's.

        Phi(z) = Phi(a) + q * (Phi(b) - Phi(a)),    value = mean + deviation * z

    with Phi of the standard normal, and a and b the bounds in its terms. scipy evaluates it in
    logarithms and computes the terms of a and b for every element. Where the mean lies between
    the bounds they are computed once here, which is ten times faster. The result is compared with
    scipy's before it is relied on; where a single bit differs, scipy does it all.
    """
    # Only this family needs scipy, whose import takes longer than a short run.
    from scipy.special import log1p, log_ndtr, ndtr, ndtri_exp
    from scipy.stats import truncnorm

    a, b = (low - mean) / deviation, (high - mean) / deviation

    def by_scipy(doubles: np.ndarray) -> np.ndarray:
        return truncnorm.ppf(doubles, a, b, loc=mean, scale=deviation)

    if not a < 0 < b:
        return by_scipy
    log_below = log_ndtr(a)
    log_mass = log1p(-ndtr(a) - ndtr(-b))

    def quick(doubles: np.ndarray) -> np.ndarray:
        if not doubles.all():
            return by_scipy(doubles)
        log_part = np.log(doubles) + log_mass
        larger = np.maximum(log_part, log_below)
        smaller = np.minimum(log_part, log_below)
        return ndtri_exp(np.log1p(np.exp(smaller - larger)) + larger) * deviation + mean

    tails = 2.0 ** -np.arange(1.0, 54.0)
    doubles = np.concatenate([np.arange(0.5, CHECKED) / CHECKED, tails, 1 - tails])
    return quick if np.array_equal(quick(doubles), by_scipy(doubles)) else by_scipy


@dataclass(frozen=True)
class ExtrapolationRange:
    """Interval that test inputs come from.

    mirror: the interval and its negative, half each.
    given_first: the label of a mirrored range begins with the interval as given, not with what
        the mirror adds.
    """

    a: float
    b: float
    mirror: bool = False
    given_first: bool = False

    def label(self, sign: str = "&") -> str:
        """Return `U[a,b]`, mirrored `U[-b,-a] & U[a,b]`."""
        given = f"U[{plain(self.a)},{plain(self.b)}]"
        if not self.mirror:
            return given
        parts = [f"U[{plain(-self.b)},{plain(-self.a)}]", given]
        return f" {sign} ".join(reversed(parts) if self.given_first else parts)


def plain(number: float) -> str:
    """Return a number without exponent or trailing zeros: 0.0001, 20."""
    text = format(number, ".10f").rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


MIRRORED = ExtrapolationRange(2, 6, mirror=True)
_SIMPLE = ((-40, -20), (-6, -2), (-6.1, -1.2), (-2, -0.2), (0.2, 2), (2, 6), (1.2, 6), (20, 40))
_ONE_PART = tuple(ExtrapolationRange(low, high) for low, high in _SIMPLE)

EXTRAPOLATION_RANGES = (*_ONE_PART[:4], MIRRORED, *_ONE_PART[4:])
"""The nine ranges of single modules and of the arithmetic data set, in the order of tables."""

EXTRA_DIVISION_RANGES = (ExtrapolationRange(100, 1000), ExtrapolationRange(-6, -2, mirror=True))
"""Also divided on: Benford samples, and mixed signs with the positive half first."""

DISTRIBUTION_RANGES = (
    ExtrapolationRange(100, 1000),
    ExtrapolationRange(-15, -5),
    ExtrapolationRange(5, 15),
    ExtrapolationRange(-100, -50, mirror=True, given_first=True),
    ExtrapolationRange(-200, -100, mirror=True, given_first=True),
)
"""Ranges of the study of input distributions."""

MULTIPLICATION_RANGES = (_ONE_PART[1], MIRRORED, ExtrapolationRange(1, 5), *_ONE_PART[4:])
"""Ranges of the first study of multiplication on the arithmetic data set."""

SMALL_DIVISOR_BOUNDS = (1e-4, 1e-3, 1e-2, 0.1, 1.0)
"""Upper bounds of the intervals from 0 that division by small numbers is tested on."""

INTERPOLATION_ORDER = (
    *("U[-20,-10]", "U[-2,-1]", "U[-1.2,-1.1]", "U[-0.2,-0.1]", "U[-2,2]"),
    *("U[0.1,0.2]", "U[1,2]", "U[1.1,1.2]", "U[10,20]"),
)
"""Training ranges, as labels, in the order of x axes."""
