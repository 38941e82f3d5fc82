"""Intervals in closed form: Wilson's for a proportion, Student's for a mean."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.stats import norm, t

_QUANTILE = 0.975


@dataclass(frozen=True)
class Estimate:
    """A figure and the ends of its 95 % interval; NaN where there is none."""

    mean: float
    lower: float
    upper: float


def wilson(successes: int, runs: int) -> Estimate:
    """Proportion k/n with Wilson's score interval.

    (p + z²/2n ± z sqrt(p(1-p)/n + z²/4n²)) / (1 + z²/n)
    """
    if runs == 0:
        return Estimate(math.nan, math.nan, math.nan)
    z = float(norm.ppf(_QUANTILE))
    p = successes / runs
    scale = 1 + z * z / runs
    center = (p + z * z / (2 * runs)) / scale
    half = z * math.sqrt(p * (1 - p) / runs + z * z / (4 * runs * runs)) / scale
    lower = 0.0 if successes == 0 else center - half
    upper = 1.0 if successes == runs else center + half
    return Estimate(p, lower, upper)


def difference(one: Estimate, other: Estimate) -> Estimate:
    """one - other of two independent proportions with Wilson intervals: Newcombe's interval."""
    lower = math.hypot(one.mean - one.lower, other.upper - other.mean)
    upper = math.hypot(one.upper - one.mean, other.mean - other.lower)
    mean = one.mean - other.mean
    return Estimate(mean, mean - lower, mean + upper)


def student(values: np.ndarray, lowest: float, highest: float) -> Estimate:
    """Arithmetic mean with Student's interval, cut to [lowest, highest]; needs two values."""
    n = len(values)
    if n == 0:
        return Estimate(math.nan, math.nan, math.nan)
    mean = float(np.mean(values))
    if n == 1:
        return Estimate(mean, math.nan, math.nan)
    half = float(t.ppf(_QUANTILE, n - 1)) * float(np.std(values, ddof=1)) / math.sqrt(n)
    return Estimate(mean, max(mean - half, lowest), min(mean + half, highest))


def sample_variance(values: np.ndarray) -> float:
    """Variance with n - 1; NaN below two values."""
    return float(np.var(values, ddof=1)) if len(values) > 1 else math.nan
