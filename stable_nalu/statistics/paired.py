"""Tests of pairs, and what many tests at once leave of their p values."""

from __future__ import annotations

from collections.abc import Sequence

LEVEL = 0.05
"""The p value below which a test decides."""


def sign_test(more: int, fewer: int) -> float:
    """Return the exact two-sided p of pairs that differ; of binary outcomes it is McNemar's."""
    from scipy.stats import binomtest

    return float(binomtest(more, more + fewer).pvalue) if more + fewer else 1.0


def holm(values: Sequence[float]) -> list[float]:
    """Return p values adjusted for their number by Holm's step-down method (1979)."""
    order = sorted(range(len(values)), key=values.__getitem__)
    adjusted, largest = [0.0] * len(values), 0.0
    for place, index in enumerate(order):
        largest = max(largest, min(1.0, (len(values) - place) * values[index]))
        adjusted[index] = largest
    return adjusted
