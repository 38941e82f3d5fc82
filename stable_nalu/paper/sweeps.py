"""Pairs of ranges and other values that published experiments sweep, each written once.

They are the points of one command, or variants of several.
"""

from collections.abc import Sequence

from stable_nalu.dataset.distribution import (
    DISTRIBUTION_RANGES,
    EXTRAPOLATION_RANGES,
    MIRRORED,
    MULTIPLICATION_RANGES,
    SMALL_DIVISOR_BOUNDS,
    ExtrapolationRange,
    plain,
)

from .experiment import Flags, Variant, flags


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
    ("4 10 25", 5_000_000, 10), ("50 75 100", 5_000_000, 15), ("125 150", 10_000_000, 30),
    ("175 200", 10_000_000, 45), ("225 250", 15_000_000, 60), ("275 300", 15_000_000, 75),
)  # fmt: skip
INPUT_SIZES = tuple(
    Variant(size, flags(f"--input-size {size} --max-iterations {iterations}"), 60 * hours)
    for sizes, iterations, hours in _SIZES
    for size in sizes.split()
)
"""Lengths of the input vector; longer ones train longer."""
