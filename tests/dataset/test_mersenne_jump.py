"""Jumps against NumPy's generator, drawn word by word."""

import numpy as np
import pytest

from stable_nalu.dataset import legacy_random
from stable_nalu.dataset.legacy_random import LegacyRandom
from stable_nalu.dataset.mersenne_jump import DEGREE, WORDS, jumped


def state(generator):
    inner = generator.state["state"]
    return inner["key"].copy(), inner["pos"]


def drawn(seed, words):
    generator = np.random.MT19937(0)
    np.random.RandomState(generator).seed(seed)
    generator.random_raw(words, output=False)
    return generator


def same(one, other):
    return np.array_equal(one[0], other[0]) and one[1] == other[1]


@pytest.mark.parametrize("before", [0, 5, WORDS])
@pytest.mark.parametrize(
    "words", [0, 1, WORDS - 5, WORDS, WORDS + 1, 2 * WORDS, DEGREE, 31 * WORDS + 400, 1_000_003]
)
def test_a_jump_is_as_many_draws(before, words):
    assert same(jumped(*state(drawn(3, before)), words), state(drawn(3, before + words)))


def test_two_jumps_are_one_of_their_sum():
    start = state(drawn(8, 0))
    there = jumped(*jumped(*start, 10**11 + 7), 3 * 10**11)
    assert same(there, jumped(*start, 4 * 10**11 + 7))
    assert not same(there, start)


def test_a_jump_leaves_the_state_it_starts_from():
    key, position = state(drawn(1, 9))
    kept = key.copy()
    jumped(key, position, 10**6)
    assert np.array_equal(key, kept)


def test_a_generator_skips_near_and_far_alike(monkeypatch):
    near, far = LegacyRandom(4), LegacyRandom(4)
    near.words(11), far.words(11)
    near.skip_words(70_000)
    monkeypatch.setattr(legacy_random, "FAR", 70_000)
    far.skip_words(70_000)
    assert near.position() == far.position()
    assert near.doubles((700,)).tolist() == far.doubles((700,)).tolist()
    assert near.permutation(9).tolist() == far.permutation(9).tolist()
