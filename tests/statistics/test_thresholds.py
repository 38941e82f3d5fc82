"""Thresholds against the published values and against simulation written independently.

The thresholds of the DMU's repository."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from stable_nalu.dataset.distribution import (
    EXTRAPOLATION_RANGES,
    MIRRORED,
    SMALL_DIVISOR_BOUNDS,
    ExtrapolationRange,
)
from stable_nalu.statistics import thresholds
from stable_nalu.statistics.setups import DMU, SHIPPED, Thresholds, read_setups
from stable_nalu.statistics.thresholds import ArithmeticTask, closed_form, residual, simulate

STORED_MUL = (
    *(505.3839, 0.1600194, 0.1112738, 0.000920367, 0.000230716),
    *(0.00091998426, 0.1600531, 0.1052692, 505.3424),
)
STORED_DIV = {
    ExtrapolationRange(-40, -20): 2.1472895311973e-12,
    ExtrapolationRange(-2, -0.2): 1.43001898659735e-11,
    ExtrapolationRange(1.2, 6): 9.08144244272903e-12,
}


@pytest.mark.parametrize(
    ("tested_on", "stored"), list(zip(EXTRAPOLATION_RANGES, STORED_MUL, strict=True))
)
def test_multiplication_agrees_with_the_published_simulation(tested_on, stored):
    found = closed_form(ArithmeticTask("mul", tested_on))
    assert found == pytest.approx(stored, rel=2e-3 if tested_on.mirror else 5e-4)


@pytest.mark.parametrize(("tested_on", "stored"), STORED_DIV.items())
def test_division_is_simulated_within_its_error(tested_on, stored):
    found, error = simulate(ArithmeticTask("div", tested_on), samples=100_000)
    assert found == pytest.approx(stored, abs=4 * error + 6e-3 * stored)
    assert error < 0.01 * stored


@pytest.mark.parametrize(
    "task",
    [
        ArithmeticTask("add"),
        ArithmeticTask("sub", MIRRORED),
        ArithmeticTask("mul", MIRRORED, 10),
        ArithmeticTask("mul", ExtrapolationRange(-2, -0.2), 4),
        ArithmeticTask("squared", input_size=25),
        ArithmeticTask("squared", MIRRORED, 8),
        ArithmeticTask("mul", input_size=4, simple=True),
        ArithmeticTask("mul", ExtrapolationRange(1, 2), 10, steps=3),
    ],
    ids=lambda task: f"{task.operation}-{task.input_size}-{task.extrapolation_range.label()}",
)
@pytest.mark.parametrize("published", [True, False])
def test_closed_forms_agree_with_simulation(task, published):
    task = replace(task, published=published)
    found, error = simulate(task, 1e-2, samples=60_000)
    assert closed_form(task, 1e-2) == pytest.approx(found, abs=5 * error)


def test_a_threshold_by_hand():
    """(x1 + x2 - eps(x1 + x2)) ... : two inputs, A = B = {x1, x2}, error 2 eps (x1 + x2)."""
    task = ArithmeticTask("add", ExtrapolationRange(0, 1), 2, 1.0, 1.0, published=False)
    np.testing.assert_array_equal(task.selections(), [[1, 1], [1, 1]])
    mean_square = 4 * 1e-4**2 * (2 / 12 + 1)
    assert closed_form(task, 1e-4) == pytest.approx(mean_square, rel=1e-12)


def test_published_subsets_are_one_longer_than_the_data_sets():
    default = ArithmeticTask("mul")
    a, b = default.selections()
    assert (a.sum(), b.sum(), (a * b).sum()) == (26, 26, 13)
    a, b = replace(default, published=False).selections()
    assert (a.sum(), b.sum(), (a * b).sum()) == (25, 25, 12)
    assert np.flatnonzero(b)[0] == 13
    # Default sum: 12 inputs in both subsets are 2 eps low, 62 in none 2 eps high: (4 * 100 eps)²
    # + 16/12 * 74 * (2 eps)², where the inclusive end gives 1.4785e-5.
    by_hand = (4 * 100e-5) ** 2 + 16 / 12 * 74 * 4e-10
    found = closed_form(ArithmeticTask("add", published=False))
    assert found == pytest.approx(by_hand, rel=1e-9)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, 0.1605),
        ({"subset_ratio": 0.05}, 0.0210),
        ({"subset_ratio": 0.5}, 0.00107),
        ({"input_size": 4}, 4.8e-7),
    ],
)
def test_products_over_the_data_sets_subsets(options, expected):
    """Simulated values, known to three digits."""
    found = closed_form(ArithmeticTask("mul", published=False, **options))
    assert found == pytest.approx(expected, rel=1e-3)


def test_a_simulation_is_seeded_and_knows_its_error():
    task = ArithmeticTask("root", input_size=10)
    first = simulate(task, samples=30_000, seed=1)
    assert first == simulate(task, samples=30_000, seed=1)
    others = [simulate(task, samples=30_000, seed=seed)[0] for seed in range(2, 10)]
    assert np.std(others, ddof=1) == pytest.approx(first[1], rel=0.8)


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        ((-40, -20), (3.66667e-05, 9.03333e-04, 0.0900333, 0.0348410, 4.66573e-08)),
        ((-6, -2), (6.66667e-07, 1.61333e-05, 1.60133e-03, 1.20166e-05, 5.77662e-08)),
        ((-6.1, -1.2), (5.72917e-07, 1.35226e-05, 1.33425e-03, 9.39124e-06, 8.37173e-08)),
        ((0.2, 2), (5.38e-08, 1.237e-06, 1.2127e-04, 8.76072e-08, 1.47970e-07)),
        ((1.2, 6), (5.568e-07, 1.3152e-05, 1.29792e-03, 8.85569e-06, 8.26501e-08)),
    ],
)
def test_single_modules(bounds, expected):
    x = ExtrapolationRange(*bounds)
    found = [thresholds.single_module("add", n, x, 1e-4) for n in (2, 10, 100)]
    found += [thresholds.single_module(operation, 2, x, 1e-4) for operation in ("mul", "div")]
    assert found == pytest.approx(expected, rel=1e-5)
    assert found[0] == thresholds.single_module("sub", 2, x, 1e-4)


def test_the_benchmark_takes_the_published_epsilon():
    """The table for figures; the steps it gives are compared in docs/reproduction."""
    rows = thresholds.collect(("benchmark",), thresholds.ThresholdSettings())
    assert {row["epsilon"] for row in rows} == {1e-5}
    smaller = [row["threshold"] for row in rows]
    shipped = thresholds.collect(("benchmark",), thresholds.ThresholdSettings(epsilon=1e-4))
    for threshold, row in zip(smaller, shipped, strict=True):
        assert row["threshold"] == pytest.approx(100 * threshold, rel=3e-4)


def test_sequences():
    known = "0.125 4.02865 128.528 4089.29 129963 4.12814e6 1.31085e8 4.16169e9 1.32108e11"
    expected = list(map(float, known.split()))
    found = [thresholds.of_sequence("cumprod", length) for length in range(1, 10)]
    assert found == pytest.approx(expected, rel=1e-5)
    assert thresholds.of_sequence("cumsum", 3) == 0.25


def test_a_reference_network_gives_an_upper_bound_on_its_mean_error():
    """mean 2, sd 1, m = 3, t(0.99, 8) = 2.896459."""
    errors = [1.0, 2.0, 3.0]
    expected = 2 + 2.896459 / math.sqrt(3)
    assert thresholds.from_reference(errors) == pytest.approx(expected, rel=1e-6)
    # As the published script for the outputs of the digit network has it; t(0.999, 8) = 4.500791.
    bound = thresholds.from_reference(errors, level=0.999, of_one_run=True)
    assert bound == pytest.approx(2 + 4.500791, rel=1e-6)


ROWS = """
NRU hard 1.192188e-07 1.192417e-07 1.192301e-07 1.1923e-07 1.192308e-07
RealNPU hard 2531.388 401.3344 8.685083 0.09694124 0.0009814719
NMRU hard 0.03272902 8.967732e-05 5.591544e-07 1.37356e-07 1.192278e-07
NRU easy 0.0008673844 4.256203e-05 3.636781e-07 1.206475e-07 1.19255e-07
RealNPU easy 1.152671e+12 2.046349e+09 490999.3 55.24534 0.005590016
NMRU easy 0.00366919 4.197092e-05 3.635247e-07 1.206476e-07 1.192546e-07
NRU medium 0.0008080074 9.268072e-06 1.759751e-07 1.262983e-07 1.192429e-07
RealNPU medium 1.310328e+12 3.463409e+09 1115022 132.1857 0.01345053
NMRU medium 0.002808002 9.268088e-06 1.759752e-07 1.262986e-07 1.192429e-07
"""
SMALL_DIVISORS = {
    (module, task): list(map(float, found))
    for module, task, *found in map(str.split, ROWS.strip().splitlines())
}
"""Residual error plus machine epsilon at the upper bounds 1e-4, 1e-3, 1e-2, 0.1 and 1."""


@pytest.mark.parametrize("key", SMALL_DIVISORS, ids="-".join)
def test_thresholds_agree_with_the_published_ones(key):
    found = [thresholds.threshold(*key, bound) for bound in SMALL_DIVISOR_BOUNDS]
    # Errors of the NRU are rounding alone, which differs where torch has no vector instructions.
    vectors = torch.backends.cpu.get_cpu_capability() != "DEFAULT"
    assert found == pytest.approx(SMALL_DIVISORS[key], rel=1e-4 if vectors else 0.02)


def test_without_its_epsilon_the_real_npu_only_rounds():
    """Rounding of exp and log: far below the error with epsilon, and not zero."""
    for task in ("easy", "medium", "hard"):
        with_epsilon = residual("RealNPU", task, 1e-4)
        without = residual("RealNPU (eps=0)", task, 1e-4)
        assert 0 < without < 1e-6 * with_epsilon


def test_the_reciprocal_is_only_rounded_in_the_nmru():
    """1/a of a float32 a against the float32 of 1/a in float64: by hand, element by element."""
    x = np.random.RandomState(8689336).uniform(0, 0.1, size=(10_000, 1))[:, 0]
    squares = [float((np.float32(1) / np.float32(a) - np.float32(1 / a)) ** 2) for a in x]
    found = residual("NMRU", "easy", 0.1)
    assert found == pytest.approx(np.mean(squares), rel=1e-4)


def test_they_count_only_where_they_are_asked_for():
    run = {"operation": "mul", "extrapolation.range": "U[20,40]", "model_code": "dmu"}
    run |= {"input.size": 2, "subset.ratio": 0.5, "overlap.ratio": 0.0}
    tables = read_setups(SHIPPED)
    assert Thresholds(tables).of(run).threshold == 1e-5
    assert Thresholds(tables, DMU).of(run).threshold == 6.67e-2
