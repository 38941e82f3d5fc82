"""Thresholds of single modules that are simulated in the benchmark: here in closed form.

All |x| of the inputs enter, relevant or not, with every weight eps off:

    add, sub   eps² (n var|x| + n² (E|x|)²)
    mul        ((1 - eps)² - 1)² (E x²)²                                   two inputs
    div        ((1 - eps)/(1 + eps) - 1)² E x² / (lo hi)                   two inputs
"""

from __future__ import annotations

from stable_nalu.catalogue.ranges import ExtrapolationRange

FLAT = 1e-5
"""Threshold of single modules in all figures but those of the first benchmark."""


def closed_form(
    operation: str, inputs: int, tested_on: ExtrapolationRange, epsilon: float
) -> float:
    """Mean squared error of a module that is epsilon off."""
    low, high = sorted((abs(tested_on.a), abs(tested_on.b)))
    square = (low**2 + low * high + high**2) / 3
    if operation in ("add", "sub"):
        mean, variance = (low + high) / 2, (high - low) ** 2 / 12
        return epsilon**2 * (inputs * variance + inputs**2 * mean**2)
    if inputs != 2:
        raise ValueError(f"operation {operation} has a closed form for two inputs only")
    if operation == "mul":
        return ((1 - epsilon) ** 2 - 1) ** 2 * square**2
    if operation == "div":
        return ((1 - epsilon) / (1 + epsilon) - 1) ** 2 * square / (low * high)
    raise ValueError(f"operation {operation} has no closed form")
