"""Products of powers through sums of logarithms."""

import math

import pytest
import torch

from stable_nalu.functional import LOG_SPACE_MODES, in_log_space

X = torch.tensor([[2.0, -3.0], [0.5, 4.0]], dtype=torch.float64)
W = torch.tensor([[1.0, 2.0], [-1.0, 0.5]], dtype=torch.float64)


def linear(x):
    return x @ W.T


@pytest.mark.parametrize("mode", ["normal", "golden-ratio"])
def test_normal_and_golden_ratio_are_products_of_powers(mode):
    y = in_log_space(linear, X, mode, 0.0)
    expected = [[2 * 9, 3**0.5 / 2], [0.5 * 16, 2 * 2.0]]
    torch.testing.assert_close(y, torch.tensor(expected, dtype=torch.float64))


def test_eps_keeps_a_zero_finite():
    y = in_log_space(linear, torch.zeros(1, 2, dtype=torch.float64), "normal", 1e-2)
    expected = torch.tensor([[1e-6, 1e2 * 1e-1]], dtype=torch.float64)
    torch.testing.assert_close(y, expected)


def test_safe_measures_from_one():
    y = in_log_space(linear, X, "safe", 0.0)
    expected = [[2 * 5**2, 5**0.5 / 2], [1.5 * 4**2, 4**0.5 / 1.5]]
    torch.testing.assert_close(y, torch.tensor(expected, dtype=torch.float64))


def test_max_safe_takes_inputs_below_one_as_one():
    y = in_log_space(linear, X, "max-safe", 0.0)
    expected = [[2.0, 0.5], [4.0**2, 4**0.5]]
    torch.testing.assert_close(y, torch.tensor(expected, dtype=torch.float64))


def test_trig_of_one_weight_returns_the_signed_input():
    y = in_log_space(lambda z: z, X, "trig", 0.0)
    torch.testing.assert_close(y, X)
    half = in_log_space(lambda z: z / 2, X, "trig", 0.0)
    assert half[0, 1].item() == pytest.approx(math.sinh(math.asinh(-3.0) / 2), rel=1e-12)


def test_unknown_mode_names_the_known_ones():
    with pytest.raises(ValueError, match="golden-ratio") as error:
        in_log_space(linear, X, "log", 0.0)
    assert all(mode in str(error.value) for mode in LOG_SPACE_MODES)
