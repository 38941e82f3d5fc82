"""Ramps, the growth of beta and the temperature, against their closed forms."""

import math
from decimal import Decimal

import pytest

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.training.loss import BetaGrowth, PenaltyRamp, saturation


@pytest.mark.parametrize("iteration", [0, 1, 1000, 69_314, 69_315, 10**7])
def test_temperature(iteration):
    assert ExtendedTorchModule("unit").tau_at(iteration) == max(0.5, math.exp(-1e-5 * iteration))


def test_saturation():
    assert saturation(0) == 0
    assert saturation(100_000) == pytest.approx(1 - 1 / math.e)


@pytest.mark.parametrize(
    ("iteration", "expected"),
    [(0, 0), (200, 0), (201, 1 / 150), (275, 0.5), (350, 1), (351, 1), (10**6, 1)],
)
def test_linear_ramp(iteration, expected):
    assert PenaltyRamp("linear", [200], [350]).at(iteration).tolist() == [pytest.approx(expected)]


@pytest.mark.parametrize(("iteration", "expected"), [(0, 1), (100, 1), (150, 0.5), (200, 0)])
def test_a_ramp_that_ends_before_it_starts_falls(iteration, expected):
    assert PenaltyRamp("linear", [200], [100]).at(iteration).tolist() == [expected]


def test_exponential_ramp_ignores_its_ends():
    ramp = PenaltyRamp("exp", [200, 300], [350, 400])
    assert ramp.at(1000).tolist() == [saturation(1000)] * 2


@pytest.mark.parametrize(
    ("scaling", "starts", "ends"),
    [
        ("linear", [20], [35]),
        ("linear", [35], [20]),
        ("linear", [10, 30], [20, 40]),
        ("exp", [20], [35]),
    ],
)
def test_a_ramp_never_changes_without_saying_so(scaling, starts, ends):
    ramp = PenaltyRamp(scaling, starts, ends)
    for iteration in range(1, 60):
        changed = (ramp.at(iteration) != ramp.at(iteration - 1)).any()
        assert ramp.moves(iteration) or not changed, iteration
        later = (i for i in range(iteration + 1, 61) if ramp.moves(i))
        assert min(ramp.next_move(iteration), 61) == next(later, 61)


def test_a_ramp_rests_outside_of_its_ends():
    ramp = PenaltyRamp("linear", [200], [350])
    assert [i for i in range(1, 400) if ramp.moves(i)] == list(range(201, 351))


def betas(growth, iterations):
    """Beta as used in each iteration."""
    values = []
    for iteration in range(iterations):
        growth.advance(iteration)
        values.append(float(growth))
    return values


def test_beta_reaches_its_end_exactly():
    values = betas(BetaGrowth(1e-9, 1e-7, 10, 10), 60)
    assert values == [1e-9] * 10 + [1e-8] * 10 + [1e-7] * 40


def test_beta_decreases_from_a_larger_start():
    values = betas(BetaGrowth(1e-5, 1e-7, 10, 10), 40)
    assert values == [1e-5] * 10 + [1e-6] * 10 + [1e-7] * 20


def test_beta_that_overshoots_oscillates():
    values = betas(BetaGrowth(1e-5, 5e-5, 10, 10), 50)
    assert values == ([1e-5] * 10 + [1e-4] * 10) * 2 + [1e-5] * 10


def test_beta_that_only_grows_stays_above_its_end():
    growth = BetaGrowth(1e-5, 5e-5, 10, 10)
    growth.only_grows = True
    assert betas(growth, 50) == [1e-5] * 10 + [1e-4] * 40
    falling = BetaGrowth(1e-3, 1e-5, 10, 10)
    falling.only_grows = True
    assert set(betas(falling, 50)) == {1e-3}


def test_beta_does_not_drift():
    growth = BetaGrowth(1e-30, 1, 1, 10)
    betas(growth, 31)
    assert growth.value == Decimal(1)
    assert float(growth) == 1.0


def test_beta_says_when_it_may_have_changed():
    growth = BetaGrowth(1e-9, 1e-7, 10, 10)
    assert [i for i in range(35) if growth.advance(i)] == [10, 20, 30]
