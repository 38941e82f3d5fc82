"""Scores: errors in percent of what untrained networks err by, as table 1 of the NALU paper."""

from __future__ import annotations

import math

SCORES = ("mse", "rmse", "mae")
"""What scores compare: mean squared errors, their square roots, or mean absolute errors."""

_ERRORS = {
    "interpolation": "metric.valid.interpolation",
    "extrapolation": "metric.test.extrapolation",
}


def with_scores(columns: dict[str, list], base: str) -> dict[str, list]:
    """Return the columns of a run, with its scores where it has logged untrained networks.

    A model whose error is no number, which an overflow has left, has the score infinity. There is
    no score where the untrained networks' error is 0 or not finite.
    """
    suffix = "" if base == "mse" else f".{base}"
    scored = dict(columns)
    for split, error in _ERRORS.items():
        errors = columns.get(error + (suffix if base == "mae" else ""))
        untrained = columns.get(f"metric.random.{split}{suffix}")
        if errors is not None and untrained is not None:
            power = 0.5 if base == "rmse" else 1
            pairs = zip(errors, untrained, strict=True)
            scored[f"score.{split}"] = [_score(e**power, u) for e, u in pairs]
    return scored


def _score(error: float, untrained: float) -> float:
    if not untrained or not math.isfinite(untrained):
        return math.nan
    return math.inf if math.isnan(error) else 100 * error / untrained
