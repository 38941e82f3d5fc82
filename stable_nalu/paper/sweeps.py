"""Ranges and other values that published experiments sweep, each written once.

They are the points of one command, or variants of several.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stable_nalu.options.name_fields import AMPERSAND

from .experiment import Flags, Variant, flags


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

    def label(self, sign: str = AMPERSAND) -> str:
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


def argument(tested: ExtrapolationRange) -> str:
    """Return a range as the value of a flag: `[2,6]`, mirrored `[[-6,-2],[2,6]]`."""
    given = f"[{plain(tested.a)},{plain(tested.b)}]"
    if not tested.mirror:
        return given
    parts = sorted([(tested.a, tested.b), (-tested.b, -tested.a)])
    return "[" + ",".join(f"[{plain(low)},{plain(high)}]" for low, high in parts) + "]"


def range_point(trained: str, tested: str) -> Flags:
    """Return the training and test range of one run."""
    return {"--interpolation-range": (trained,), "--extrapolation-range": (tested,)}


def _pairs(trained: str, tested: Sequence[ExtrapolationRange]) -> tuple[Flags, ...]:
    together = zip(trained.split(), tested, strict=True)
    return tuple(range_point(text, argument(interval)) for text, interval in together)


def values(flag: str, texts: str) -> tuple[Flags, ...]:
    """Return a point for every value of one flag."""
    return tuple({flag: (text,)} for text in texts.split())


def variants(flag: str, texts: str, common: str = "") -> tuple[Variant, ...]:
    """Return a variant for every value of one flag that a command holds once."""
    return tuple(Variant(text, flags(f"{common} {flag} {text}")) for text in texts.split())


def operations(names: str) -> tuple[Variant, ...]:
    """Return a variant for every operation."""
    return variants("--operation", names)


SINGLE_MODULE_RANGES = _pairs(
    "[-20,-10] [-2,-1] [-1.2,-1.1] [-0.2,-0.1] [-2,2] [0.1,0.2] [1,2] [1.1,1.2] [10,20]",
    EXTRAPOLATION_RANGES,
)
"""The nine pairs of single modules."""

_DATA_SET_ORDER = (7, 5, 2, 3, 6, 8, 0, 1, 4)
DATA_SET_RANGES = tuple(SINGLE_MODULE_RANGES[index] for index in _DATA_SET_ORDER)
"""The same pairs, in the order of the arithmetic data set of the robustness paper."""

ONE_TO_TWO = tuple(p for p in SINGLE_MODULE_RANGES if p["--interpolation-range"] == ("[1,2]",))

MULTIPLICATION_PAIRS = _pairs(
    "[-2,-1] [-2,2] [0,1] [0.1,0.2] [1,2] [1.1,1.2] [10,20]", MULTIPLICATION_RANGES
)
"""The seven pairs of the first study of multiplication."""

MIXED_SIGNS = (
    range_point("[-2,2]", argument(MIRRORED)),
    range_point("[[-2,-0.1],[0.1,2],[]]", "[[-6,-2],[2,6],[]]"),
    range_point("[[0.1,2],[-2,-0.1],[]]", "[[2,6],[-6,-2],[]]"),
    range_point("[[-2,-1],[1,2],[]]", "[[-6,-2],[2,6],[]]"),
    range_point("[[1,2],[-2,-1],[]]", "[[2,6],[-6,-2],[]]"),
)
"""Signs per element, then signs per half of the vector."""

NEAR_ZERO = tuple(
    range_point(f"[0,{plain(bound)}]", f"[0,{plain(bound)}]") for bound in SMALL_DIVISOR_BOUNDS
)
"""Intervals from zero, the same in training and test."""

_BENFORD, _BELOW, _ABOVE, _FIFTY, _HUNDRED = (argument(tested) for tested in DISTRIBUTION_RANGES)
DISTRIBUTIONS = tuple(
    Variant(name, {"--sample-distribution": tuple(words.split()), **range_point(trained, tested)})
    for name, words, trained, tested in (
        ("benford", "benford", "[10,100]", _BENFORD),
        ("normal-below", "truncated-normal -1 3 -10 3", "[-5,10]", _BELOW),
        ("normal-above", "truncated-normal 1 3 10 3", "[-10,5]", _ABOVE),
        ("normal-centred", "truncated-normal 0 1 10 1", "[-5,5]", _ABOVE),
        ("uniform-50", "uniform", "[-50,50]", _FIFTY),
        ("uniform-100", "uniform", "[-100,100]", _HUNDRED),
    )
)
"""Each distribution with its ranges; a command holds one, as ranges are paired among themselves."""

_SIZES = (
    ("4 10 25", 5_000_000, 10),
    ("50 75 100", 5_000_000, 15),
    ("125 150", 10_000_000, 30),
    ("175 200", 10_000_000, 45),
    ("225 250", 15_000_000, 60),
    ("275 300", 15_000_000, 75),
)
INPUT_SIZES = tuple(
    Variant(size, flags(f"--input-size {size} --max-iterations {iterations}"), 60 * hours)
    for sizes, iterations, hours in _SIZES
    for size in sizes.split()
)
"""Lengths of the input vector; longer ones train longer."""
