"""Whole seeds are what is drawn: rates, differences and tests of several runs of each."""

import itertools
from statistics import variance

import numpy as np
import pytest
from scipy.stats import sem, t

from stable_nalu.statistics import intervals as by_seed
from stable_nalu.statistics.intervals import paired_difference, sign_test, student, wilson

NINE = [seed for _ in range(9) for seed in range(25)]


def test_one_run_for_each_seed_is_the_usual_case():
    pairs = [(k < 14, k % 3 == 0) for k in range(25)]
    won, lost = pairs.count((True, False)), pairs.count((False, True))
    seeds = range(25)
    assert by_seed.rate(seeds, [one for one, _ in pairs]) == wilson(14, 25)
    assert by_seed.gap(seeds, pairs) == paired_difference(pairs)
    assert by_seed.p_value(seeds, pairs) == pytest.approx(sign_test(won, lost), rel=1e-12)


def test_runs_that_share_their_outcome_count_as_one():
    """Nine copies of 25 runs tell as much as 25."""
    one = [seed < 15 for seed in range(25)]
    copies = by_seed.rate(NINE, one * 9)
    assert by_seed.effect(NINE, one * 9) == pytest.approx(9 * 25 / 24)
    alone = wilson(15, 25)
    assert copies.upper - copies.lower == pytest.approx(alone.upper - alone.lower, rel=0.03)


def test_the_effect_is_a_ratio_of_variances():
    solved = np.random.default_rng(0).random((9, 25)) < np.linspace(0.1, 0.9, 25)
    per_seed = solved.sum(0).tolist()
    share = solved.mean()
    wanted = variance(per_seed) / (9 * share * (1 - share))
    assert by_seed.effect(NINE, solved.ravel().tolist()) == pytest.approx(wanted)
    assert by_seed.effect(NINE, [True] * 225) == 1
    assert by_seed.effect(NINE, [True] * 100 + [False] * 125) == 1


def test_differences_are_those_of_seeds():
    rng = np.random.default_rng(1)
    pairs = [(bool(a), bool(b)) for a, b in rng.random((225, 2)) < (0.8, 0.6)]
    means = [
        np.mean([a - b for (a, b), s in zip(pairs, NINE, strict=True) if s == seed])
        for seed in range(25)
    ]
    found, half = by_seed.gap(NINE, pairs), t.ppf(0.975, 24) * sem(means)
    assert (found.mean, found.upper) == pytest.approx((np.mean(means), np.mean(means) + half))
    assert student(np.array(means)).lower == pytest.approx(found.lower)


def test_p_exchanges_the_sides_of_whole_seeds():
    """Against all 32 exchanges of five seeds; eight that all gain give 2/256."""
    gains = (3, -1, 2, 0, 2)
    seeds = [seed for seed, gain in enumerate(gains) for _ in range(abs(gain))]
    pairs = [(gains[seed] > 0, gains[seed] < 0) for seed in seeds]
    sums = [
        sum(s * g for s, g in zip(signs, gains, strict=True))
        for signs in itertools.product((1, -1), repeat=5)
    ]
    wanted = np.mean([abs(one) >= abs(sum(gains)) for one in sums])
    assert by_seed.p_value(seeds, pairs) == pytest.approx(wanted)
    assert by_seed.p_value(range(8), [(True, False)] * 8) == 2 / 256
    assert by_seed.p_value([0] * 13, [(True, False)] * 13) == 1
