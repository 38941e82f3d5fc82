"""Penalties: which terms, weights and order, never more work than needed; ramps and growth."""

import math
from decimal import Decimal

import numpy as np
import pytest
import torch

from stable_nalu.training.step import BetaGrowth, Penalties, PenaltyRamp, saturation
from tests.training.configurations import Penalised, configuration, configurations

KEYS = ("W", "g", "z", "W-OOB", "W-NPU", "g-NPU")
NUMBERS = dict(zip(KEYS, (1.0, 2.0, 3.0, 5.0, 7.0, 11.0), strict=True))
RAMP = ("--regualizer-scaling-start", "100", "--regualizer-scaling-end", "200")
ALL = (
    *("--regualizer", "4", "--regualizer-z", "0.5", "--regualizer-oob", "2"),
    *("--regualizer-npu-w", "3", "--regualizer-gate", "6", "--regualizer-l1", *RAMP),
)


def build(*words, model=None, script="single_layer"):
    model = Penalised(NUMBERS) if model is None else model
    return model, Penalties([configuration(script, *words)], model)


def at(penalties, iteration):
    """Key -> weight at an iteration."""
    return dict(penalties.weights(iteration))


def test_defaults():
    _, penalties = build()
    assert at(penalties, 0) == {"g": 1, "W-OOB": 1}
    assert at(penalties, 1_500_000) == {"W": 5, "g": 1, "W-OOB": 1}


def test_all_terms_in_the_published_order():
    _, penalties = build(*ALL)
    beta = 1e-5
    assert penalties.weights(150) == [
        ("W", 2.0),
        ("g", 1.0),
        ("z", 0.5),
        ("W-OOB", 2.0),
        ("L1", beta),
        ("W-NPU", 3 * beta),
        ("g-NPU", 6 * beta),
    ]


def test_heim_and_madsen():
    words = ("--regualizer-npu-w", "3", "--regualizer-gate", "6", *RAMP)
    _, heim = build(*words)
    _, madsen = build(*words, "--reg-scale-type", "madsen")
    assert at(heim, 150)["W-NPU"] == pytest.approx(3e-5)
    assert at(madsen, 150)["W-NPU"] == 1.5
    assert at(madsen, 200)["g-NPU"] == 6
    assert heim.betas
    assert not madsen.betas
    assert madsen.beta_values().tolist() == [0]


@pytest.mark.parametrize(
    ("words", "on"),
    [
        ((), False),
        (("--regualizer-l1",), True),
        (("--regualizer-gate", "1"), True),
        (("--regualizer-npu-w", "1"), True),
        (("--regualizer-gate", "1", "--reg-scale-type", "madsen"), False),
        (("--regualizer-l1", "--reg-scale-type", "madsen"), True),
    ],
)
def test_beta_runs_only_when_something_uses_it(words, on):
    _, penalties = build(*words)
    assert bool(penalties.betas) == on


def test_beta_moves_before_it_is_used():
    _, penalties = build("--regualizer-l1", "--regualizer-beta-step", "3")
    used = [at(penalties, iteration)["L1"] for iteration in range(8)]
    assert used == [1e-5] * 3 + [1e-4] * 5


@pytest.mark.parametrize("order", [1, 2])
def test_l1_sums_a_norm_per_parameter(order):
    model = Penalised(NUMBERS)
    model.fixed = torch.nn.Parameter(torch.tensor([-3.0, 4.0]), requires_grad=False)
    _, penalties = build("--regualizer-l1", "--lp-norm", str(order), model=model)
    expected = {1: 3 + 7, 2: 5**0.5 + 5}[order]
    assert penalties.l1().item() == pytest.approx(expected)


def test_inalu_acts_late_and_below_a_validation_error_of_one():
    _, penalties = build(model=Penalised({"inalu": 1.0}), script="single_layer_benchmark")
    for iteration, error, on in (
        (10_000, 0.5, False),
        (10_001, 0.5, True),
        (10_001, 1.0, False),
        (20_000, np.inf, False),
        (20_001, 0.99, True),
    ):
        penalties.validation = np.array([error])
        assert at(penalties, iteration) == ({"inalu": 0.05} if on else {}), iteration


def test_runs_have_their_own_weights_and_ramps():
    words = ("--regualizer", "1", "10", "--regualizer-scaling-start", "0", "100")
    configs = configurations("single_layer", *words, "--regualizer-scaling-end", "200")
    weight = at(Penalties(configs, Penalised(NUMBERS)), 100)["W"]
    expected = [0 if c.regualizer_scaling_start else 0.5 * c.regualizer for c in configs]
    assert expected == [0.5, 0, 5, 0]
    assert weight.tolist() == expected


def test_weights_equal_a_fresh_computation_at_every_iteration():
    words = (*ALL, "--regualizer-beta-step", "7", "--regualizer-beta-end", "1e-2")
    _, going = build(*words)
    for iteration in range(260):
        ramp = min(1.0, max(0.0, (iteration - 100) / 100))
        beta = min(1e-2, 1e-5 * 10 ** (iteration // 7))
        weights = dict(going.weights(iteration))
        assert weights.get("W", 0) == pytest.approx(4 * ramp), iteration
        assert weights["g-NPU"] == pytest.approx(6 * beta), iteration


def test_saturation():
    assert saturation(0) == 0
    assert saturation(100_000) == pytest.approx(1 - 1 / math.e)


@pytest.mark.parametrize(
    ("scaling", "ends", "expected"),
    [
        ("linear", (200, 350), {0: 0, 200: 0, 201: 1 / 150, 275: 0.5, 350: 1, 351: 1, 10**6: 1}),
        ("linear", (200, 100), {0: 1, 100: 1, 150: 0.5, 200: 0}),  # falls
        ("exp", (200, 350), {1000: saturation(1000)}),  # ignores its ends
    ],
)
def test_a_ramp(scaling, ends, expected):
    ramp = PenaltyRamp(scaling, *([end] for end in ends))
    for iteration, value in expected.items():
        assert ramp.at(iteration).tolist() == [pytest.approx(value)], iteration


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
        assert ramp.next_move(iteration - 1) == iteration or not changed, iteration
        later = (i for i in range(iteration + 1, 61) if ramp.next_move(i - 1) == i)
        assert min(ramp.next_move(iteration), 61) == next(later, 61)


def betas(growth, iterations):
    """Beta as used in each iteration."""
    values = []
    for iteration in range(iterations):
        growth.advance(iteration)
        values.append(float(growth))
    return values


@pytest.mark.parametrize(
    ("start", "end", "grows", "expected"),
    [
        (1e-9, 1e-7, False, [1e-9, 1e-8, 1e-7, 1e-7, 1e-7]),  # which it reaches exactly
        (1e-5, 1e-7, False, [1e-5, 1e-6, 1e-7, 1e-7, 1e-7]),
        (1e-5, 5e-5, False, [1e-5, 1e-4, 1e-5, 1e-4, 1e-5]),  # overshoots, and oscillates
        (1e-5, 5e-5, True, [1e-5, 1e-4, 1e-4, 1e-4, 1e-4]),
        (1e-3, 1e-5, True, [1e-3] * 5),
    ],
)
def test_beta_moves_towards_its_end_by_factors_of_ten(start, end, grows, expected):
    values = betas(BetaGrowth(start, end, 10, 10, only_grows=grows), 50)
    assert values == [value for value in expected for _ in range(10)]


def test_beta_does_not_drift_and_says_when_it_may_have_changed():
    growth = BetaGrowth(1e-30, 1, 1, 10)
    betas(growth, 31)
    assert (growth.value, float(growth)) == (Decimal(1), 1.0)
    growth = BetaGrowth(1e-9, 1e-7, 10, 10)
    assert [i for i in range(35) if growth.advance(i)] == [10, 20, 30]
