"""Labels of ranges."""

import pytest

from stable_nalu.options.name_fields import canonical
from stable_nalu.paper.ranges import (
    DISTRIBUTION_RANGES,
    EXTRA_DIVISION_RANGES,
    EXTRAPOLATION_RANGES,
    SMALL_DIVISOR_BOUNDS,
    ExtrapolationRange,
)


def labels(ranges):
    return [r.label() for r in ranges]


def test_labels_of_the_published_ranges():
    assert labels(EXTRAPOLATION_RANGES) == [
        "U[-40,-20]",
        "U[-6,-2]",
        "U[-6.1,-1.2]",
        "U[-2,-0.2]",
        "U[-6,-2] & U[2,6]",
        "U[0.2,2]",
        "U[2,6]",
        "U[1.2,6]",
        "U[20,40]",
    ]
    assert labels(EXTRA_DIVISION_RANGES) == ["U[100,1000]", "U[2,6] & U[-6,-2]"]
    assert labels(DISTRIBUTION_RANGES[3:]) == [
        "U[-100,-50] & U[50,100]",
        "U[-200,-100] & U[100,200]",
    ]
    assert labels(ExtrapolationRange(0, bound) for bound in SMALL_DIVISOR_BOUNDS) == [
        "U[0,0.0001]",
        "U[0,0.001]",
        "U[0,0.01]",
        "U[0,0.1]",
        "U[0,1]",
    ]


@pytest.mark.parametrize("sign", ["u", "&", "∪"])
def test_any_sign_between_two_parts_becomes_one(sign):
    assert canonical(f"U[-6,-2] {sign} U[2,6]") == "U[-6,-2] & U[2,6]"
    assert canonical(f"U[-6,-2] {sign} U[2,6]", "∪") == "U[-6,-2] ∪ U[2,6]"
    assert canonical("U[2,6]") == "U[2,6]"
