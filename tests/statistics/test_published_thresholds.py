"""The thresholds of the DMU's repository follow from their definition."""

import numpy as np
import pytest

from stable_nalu.paper.ranges import EXTRAPOLATION_RANGES
from stable_nalu.statistics.setups import DMU, SHIPPED, Thresholds, read_setups

OPERANDS = {"add": (1, 1), "mul": (1, 1), "sub": (1, -1), "div": (1, -1)}
POINTS, REPEATS = 10_000, 40


def unit(x, operands, g):
    """The formula of the unit, in float64."""
    R = x @ operands
    A = np.sqrt(R * R + 1e-8)
    Q = np.log(np.maximum(np.abs(x), 1e-11)) @ operands
    negative = (x < 0) @ np.abs(operands)
    s = g * np.tanh(R / 1e-4) + (1 - g) * np.cos(np.pi * negative)
    return s * np.exp(g * np.log(A) + (1 - g) * Q)


@pytest.mark.parametrize("operation", OPERANDS)
@pytest.mark.parametrize("tested_on", EXTRAPOLATION_RANGES, ids=lambda r: r.label())
def test_a_threshold_is_the_error_of_a_gate_that_is_almost_decided(operation, tested_on):
    """A repository's threshold is one draw of 10,000 points; it lies among 40 of ours.

    Of mirrored ranges, both operands have one sign.
    """
    run = {"operation": operation, "extrapolation.range": tested_on.label(), "model_code": "dmu"}
    run |= {"input.size": 2, "subset.ratio": 0.5, "overlap.ratio": 0.0, "reinit": False}
    stored = Thresholds(read_setups(SHIPPED), DMU).of(run).threshold
    operands, rng = np.array(OPERANDS[operation], float), np.random.default_rng(0)
    is_sum = operation in ("add", "sub")
    near, exact = (1 - 1e-4, 1.0) if is_sum else (1e-4, 0.0)
    drawn = []
    for _ in range(REPEATS):
        x = rng.uniform(tested_on.a, tested_on.b, (POINTS, 2))
        if tested_on.mirror:
            x *= rng.choice([-1.0, 1.0], (POINTS, 1))
        error = unit(x, operands, near) - unit(x, operands, exact)
        drawn.append(float((error**2).mean()))
    spread = 4 * np.std(drawn) + 0.01 * np.mean(drawn)
    assert abs(stored - np.mean(drawn)) < spread


def test_they_count_only_where_they_are_asked_for():
    run = {"operation": "mul", "extrapolation.range": "U[20,40]", "model_code": "dmu"}
    run |= {"input.size": 2, "subset.ratio": 0.5, "overlap.ratio": 0.0}
    tables = read_setups(SHIPPED)
    assert Thresholds(tables).of(run).threshold == 1e-5
    assert Thresholds(tables, DMU).of(run).threshold == 6.67e-2
