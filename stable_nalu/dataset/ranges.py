"""The ranges of published experiments, each written once."""

from dataclasses import dataclass


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
