"""Tests of pairs: worked values."""

from math import comb

import pytest

from stable_nalu.statistics.paired import holm, sign_test


def test_the_sign_test_is_that_of_fair_coins():
    assert sign_test(26, 24) == pytest.approx(1 - comb(50, 25) / 2**50)
    assert sign_test(3, 0) == sign_test(0, 3) == 0.25
    assert sign_test(0, 0) == 1


def test_p_values_are_adjusted_by_holms_method():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.9, 0.4]) == pytest.approx([0.9, 0.8])
    assert holm([]) == []
