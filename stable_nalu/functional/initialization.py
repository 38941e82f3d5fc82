"""Bounds of initial weights, evaluated in the order that reproduces the published draws."""

import functools
import math


def xavier_bound(in_features: int, out_features: int, gain: float = 1.0) -> float:
    """Bound of Xavier-uniform; sqrt(6 / (I + O)) may differ by one ulp."""
    return math.sqrt(3.0) * (gain * math.sqrt(2.0 / (in_features + out_features)))


def nau_bound(in_features: int, out_features: int) -> float:
    """min(0.5, Xavier bound): NAU, NRU and the constrained NPU initialisation."""
    return min(0.5, math.sqrt(3.0) * math.sqrt(2.0 / (in_features + out_features)))


NMU_BOUND = min(0.25, math.sqrt(3.0) / 2.0)


@functools.cache
def nac_bound(in_features: int, out_features: int) -> float:
    """Root r in [0, 10] of max(I + O, 5) v(r) = 2, v the variance of a NAC weight."""
    fan = max(in_features + out_features, 5)

    def excess(r: float) -> float:
        if r == 0:
            return -2.0
        variance = (1 - math.tanh(r) / r) * (r - math.tanh(r / 2)) / (2 * r)
        return fan * variance - 2

    low, high = 0.0, 10.0
    while True:
        middle = (low + high) / 2
        if middle in (low, high):
            return middle
        if excess(middle) < 0:
            low = middle
        else:
            high = middle
