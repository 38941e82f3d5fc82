"""Bounds of initial weights, evaluated in the order that reproduces the published draws."""

import functools
import math
import sys


def xavier_bound(in_features: int, out_features: int, gain: float = 1.0) -> float:
    """Return the bound of Xavier-uniform; sqrt(6 / (I + O)) may differ in the last bit."""
    return math.sqrt(3.0) * (gain * math.sqrt(2.0 / (in_features + out_features)))


def kaiming_bound(in_features: int, out_features: int) -> float:
    """Return the bound of Kaiming-uniform for ReLU, sqrt(6 / I) for any O."""
    return math.sqrt(3.0) * (math.sqrt(2.0) / math.sqrt(in_features))


def nau_bound(in_features: int, out_features: int) -> float:
    """Return min(0.5, Xavier bound), for NAU, NRU and the constrained NPU."""
    return min(0.5, math.sqrt(3.0) * math.sqrt(2.0 / (in_features + out_features)))


MNAC_BOUND = math.sqrt(3.0) / 2.0
NMU_BOUND = min(0.25, math.sqrt(3.0) / 2.0)


_BISECTION_ACCURACY = 2e-12
_BISECTION_RELATIVE_ACCURACY = 4 * sys.float_info.epsilon


@functools.cache
def nac_bound(in_features: int, out_features: int) -> float:
    """Return the root r of max(I + O, 5) v(r) = 2, where v is the variance of a NAC weight.

    It is found by bisecting [0, 10]. The accuracy at which that stops is part of the published
    float64 figures.
    """
    fan = max(in_features + out_features, 5)

    def is_below_root(r: float) -> bool:
        variance = (1 - math.tanh(r) / r) * (r - math.tanh(r / 2)) / (2 * r)
        return fan * variance < 2

    low, step = 0.0, 10.0
    while True:
        step /= 2
        middle = low + step
        if step < _BISECTION_ACCURACY + _BISECTION_RELATIVE_ACCURACY * middle:
            return middle
        if is_below_root(middle):
            low = middle
