"""Block draws against a batch-by-batch reference that calls `RandomState` and scipy directly."""

import numpy as np
import pytest
import torch
from scipy.stats import truncnorm

from stable_nalu.dataset import SimpleFunctionRecurrentDataset, SimpleFunctionStaticDataset
from stable_nalu.dataset.distribution import Benford
from stable_nalu.dataset.legacy_random import LegacyRandom

SEED = 2357136044
NORMAL = ("truncated-normal", -1.0, 3.0, -10.0, 4.0)


def uniform(random, low, high, shape, extrapolation):
    return random.uniform(low, high, shape)


def truncated_normal(random, low, high, shape, extrapolation):
    mean, deviation = NORMAL[3:] if extrapolation else NORMAL[1:3]
    a, b = (low - mean) / deviation, (high - mean) / deviation
    return truncnorm.rvs(a, b, loc=mean, scale=deviation, random_state=random, size=shape)


def exponential(random, low, high, shape, extrapolation):
    return random.exponential(0.5, shape)


def benford(random, low, high, shape, extrapolation):
    p = [0, 0.301, 0.176, 0.125, 0.097, 0.079, 0.067, 0.058, 0.051, 0.046]
    first = random.choice(10, shape, p=p).flatten()
    others = random.randint(int(low * 10**-1), int(high * 10**-1), shape).flatten()
    values = [int(f"{d}{q}") for d, q in zip(first, others, strict=True)]
    return np.array(values).reshape(shape)


FAMILIES = {
    "uniform": (("uniform",), uniform),
    "truncated-normal": (NORMAL, truncated_normal),
    "exponential": (("exponential", 0.5), exponential),
    "benford": (("benford",), benford),
}
RANGES = {
    "single": [-2, 3],
    "mixture": [[-6, -2], [2, 6]],
    "halves": [[-2, -0.1], [0.1, 2], []],
}
BENFORD_RANGES = {
    "single": [10, 1000],
    "mixture": [[10, 100], [10, 100]],
    "halves": [[10, 100], [10, 100], []],
}


def reference_batch(random, draw, sample_range, shape, extrapolation):
    if not isinstance(sample_range[0], list):
        return draw(random, *sample_range, shape, extrapolation)
    first = draw(random, *sample_range[0], shape, extrapolation)
    second = draw(random, *sample_range[1], shape, extrapolation)
    if len(sample_range) == 2:
        return np.where(random.randint(2, size=shape) == 1, first, second)
    half = shape[1] // 2
    return np.concatenate((first[:, :half], second[:, half:]), axis=1)


@pytest.fixture
def double_precision():
    """Float64 as torch's default dtype, for one test."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


@pytest.mark.parametrize("extrapolation", [False, True])
@pytest.mark.parametrize("form", RANGES)
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("size", [2, 9, 50])
def test_blocks_equal_successive_batches(double_precision, family, form, size, extrapolation):
    dist_params, draw = FAMILIES[family]
    sample_range = (BENFORD_RANGES if family == "benford" else RANGES)[form]
    dataset = SimpleFunctionStaticDataset(
        "div", size, subset_ratio=0.5, overlap_ratio=0, dist_params=dist_params, seed=1
    )
    stream = dataset.fork(sample_range, SEED, extrapolation)
    x, t = stream.draw(5, 7)
    random = np.random.RandomState(SEED)
    for i in range(5):
        expected = reference_batch(random, draw, sample_range, (7, size), extrapolation)
        assert x[i].numpy().tobytes() == expected.astype(np.float64).tobytes()
        (a, b), (c, d) = dataset.subset_ranges
        quotient = expected[:, a:b].sum(1) / expected[:, c:d].sum(1)
        assert t[i, :, 0].numpy().tobytes() == quotient.tobytes()
    # The stream stands where the reference stands.
    x, _ = stream[0:3]
    expected = reference_batch(random, draw, sample_range, (3, size), extrapolation)
    assert x.numpy().tobytes() == expected.astype(np.float64).tobytes()


@pytest.mark.parametrize("form", RANGES)
def test_sequences_split_and_mix_along_time(double_precision, form):
    dataset = SimpleFunctionRecurrentDataset("add", 9, seed=0)
    stream = dataset.fork(5, RANGES[form], SEED)
    x, t = stream.draw(3, 4)
    random = np.random.RandomState(SEED)
    for i in range(3):
        expected = reference_batch(random, uniform, RANGES[form], (4, 5, 9), False)
        assert x[i].numpy().tobytes() == expected.tobytes()
        sums = [expected[..., a:b].sum((1, 2)) for a, b in dataset.subset_ranges]
        assert t[i, :, 0].numpy().tobytes() == (sums[0] + sums[1]).tobytes()


def test_benford_digits():
    values = Benford().draw(LegacyRandom(0), (100_000,), (100, 1000))
    assert values.min() >= 110
    assert values.max() <= 999
    assert not (values // 10 % 10 == 0).any()
    shares = np.bincount(values // 100, minlength=10) / len(values)
    published = [0, 0.301, 0.176, 0.125, 0.097, 0.079, 0.067, 0.058, 0.051, 0.046]
    np.testing.assert_allclose(shares, published, atol=0.005)


def test_words_of_the_generator():
    random, reference = LegacyRandom(7), np.random.RandomState(7)
    assert random.words(3).tolist() == reference.randint(0, 2**32, 3, dtype=np.uint32).tolist()
    assert random.doubles((2, 2)).tolist() == reference.random_sample((2, 2)).tolist()
    assert random.exponential(2.0, (4,)).tolist() == reference.exponential(2.0, 4).tolist()
    assert random.integers(0, 63) == reference.randint(0, 63)
    assert random.permutation(9).tolist() == reference.permutation(9).tolist()
