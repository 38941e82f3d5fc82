"""Streams against a batch-by-batch reference that calls `RandomState` and scipy directly."""

import numpy as np
import pytest
import torch
from scipy.stats import truncnorm

from stable_nalu.dataset.distribution import LegacyRandom
from stable_nalu.dataset.simple_function import (
    OrderedStream,
    SimpleFunctionRecurrentDataset,
    SimpleFunctionStaticDataset,
    draw_into,
)

SEED = 2357136044
SMALL = {"input_size": 4, "subset_ratio": 0.5, "overlap_ratio": 0}
NORMAL = ("truncated-normal", -1.0, 3.0, -10.0, 4.0)
FIRST_DIGIT = [0, 0.301, 0.176, 0.125, 0.097, 0.079, 0.067, 0.058, 0.051, 0.046]


def uniform(random, low, high, shape, _):
    return random.uniform(low, high, shape)


def truncated_normal(random, low, high, shape, extrapolation):
    mean, deviation = NORMAL[3:] if extrapolation else NORMAL[1:3]
    a, b = (low - mean) / deviation, (high - mean) / deviation
    return truncnorm.rvs(a, b, loc=mean, scale=deviation, random_state=random, size=shape)


def benford(random, low, high, shape, extrapolation):
    first = random.choice(10, shape, p=FIRST_DIGIT).flatten()
    others = random.randint(int(low * 10**-1), int(high * 10**-1), shape).flatten()
    values = [int(f"{d}{q}") for d, q in zip(first, others, strict=True)]
    return np.array(values).reshape(shape)


FAMILIES = {
    "uniform": (("uniform",), uniform),
    "truncated-normal": (NORMAL, truncated_normal),
    "exponential": (
        ("exponential", 0.5),
        lambda random, low, high, shape, _: random.exponential(0.5, shape),
    ),
    "benford": (("benford",), benford),
}
RANGES = {"single": [-2, 3], "mixture": [[-6, -2], [2, 6]], "halves": [[-2, -0.1], [0.1, 2], []]}
DIGITS = [10, 100]
OF_BENFORD = {"single": [10, 1000], "mixture": [DIGITS] * 2, "halves": [DIGITS, DIGITS, []]}
KINDS = [(family, form) for family in FAMILIES for form in RANGES]


def range_of(family, form):
    return (OF_BENFORD if family == "benford" else RANGES)[form]


def make_stream(kind, seed=5):
    family, form = kind
    dataset = SimpleFunctionStaticDataset(
        "mul", **SMALL, dist_params=FAMILIES[family][0], seed=seed
    )
    return dataset.fork(range_of(family, form))


def same(first, second):
    return all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


def reference_batch(random, draw, sample_range, shape, extrapolation):
    if not isinstance(sample_range[0], list):
        return draw(random, *sample_range, shape, extrapolation)
    first = draw(random, *sample_range[0], shape, extrapolation)
    second = draw(random, *sample_range[1], shape, extrapolation)
    if len(sample_range) == 2:
        return np.where(random.randint(2, size=shape) == 1, first, second)
    half = shape[1] // 2
    return np.concatenate((first[:, :half], second[:, half:]), axis=1)


@pytest.mark.parametrize(
    ("kind", "extrapolation"),
    [(kind, further) for kind in KINDS for further in (False, *[True][: kind[0] == NORMAL[0]])],
)
@pytest.mark.parametrize("size", [9, 50])
def test_blocks_equal_successive_batches(double_precision, kind, size, extrapolation):
    (dist_params, draw), sample_range = FAMILIES[kind[0]], range_of(*kind)
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
    # The stream is where the reference is.
    x, _ = stream[0:3]
    expected = reference_batch(random, draw, sample_range, (3, size), extrapolation)
    assert x.numpy().tobytes() == expected.astype(np.float64).tobytes()


@pytest.mark.parametrize("form", RANGES)
def test_sequences_split_and_mix_along_time(double_precision, form):
    dataset = SimpleFunctionRecurrentDataset("add", 9, seed=0)
    x, t = dataset.fork(5, RANGES[form], SEED).draw(3, 4)
    random = np.random.RandomState(SEED)
    for i in range(3):
        expected = reference_batch(random, uniform, RANGES[form], (4, 5, 9), False)
        assert x[i].numpy().tobytes() == expected.tobytes()
        sums = [expected[..., a:b].sum((1, 2)) for a, b in dataset.subset_ranges]
        assert t[i, :, 0].numpy().tobytes() == (sums[0] + sums[1]).tobytes()


def test_words_of_the_generator():
    random, reference = LegacyRandom(7), np.random.RandomState(7)
    assert random.words(3).tolist() == reference.randint(0, 2**32, 3, dtype=np.uint32).tolist()
    assert random.doubles((2, 2)).tolist() == reference.random_sample((2, 2)).tolist()
    assert random.exponential(2.0, (4,)).tolist() == reference.exponential(2.0, 4).tolist()
    assert random.integers(0, 63) == reference.randint(0, 63)
    assert random.permutation(9).tolist() == reference.permutation(9).tolist()


@pytest.mark.parametrize("form", RANGES)
def test_blocks_and_batches_longer_than_the_internal_block(form):
    x, t = make_stream(("uniform", form)).draw(70, 500)
    pieces = make_stream(("uniform", form))
    for start in range(0, 70, 10):
        assert same(pieces.draw(10, 500), (x[start : start + 10], t[start : start + 10]))
    x, _ = SimpleFunctionStaticDataset("add", 100, seed=0).fork([1, 2], seed=1).draw(2, 1000)
    expected = np.random.RandomState(1).uniform(1, 2, (2, 1000, 100)).astype(np.float32)
    assert (x.numpy() == expected).all()


def members():
    def fork(seed, sample_range, operation="mul", dist_params=("uniform",)):
        sizes = {**SMALL, "seed": seed, "dist_params": dist_params}
        return SimpleFunctionStaticDataset(operation, **sizes).fork(sample_range)

    return [
        fork(0, [1, 2]),
        fork(1, [1, 2]),
        fork(0, [-20, -10]),
        fork(0, [[-6, -2], [2, 6]]),
        fork(1, [0.1, 0.2], operation="div"),
        fork(0, [0.5, 4], dist_params=("truncated-normal", 1.0, 3.0, 10.0, 3.0)),
        fork(0, [1, 2], dist_params=("exponential", 0.5)),
    ]


@pytest.mark.parametrize("block", [1, 2 * 5 * 4, 2**16])
def test_joint_numbers_are_those_of_each_stream_alone(monkeypatch, block):
    monkeypatch.setattr("stable_nalu.dataset.simple_function.BLOCK_ELEMENTS", block)
    joint, alone = members(), members()
    for _ in range(2):
        x = np.empty((3, len(alone), 5, 4), np.float32)
        t = np.empty((3, len(alone), 5, 1), np.float32)
        draw_into(joint, x, t)
        for place, stream in enumerate(alone):
            expected = stream.draw(3, 5)
            assert same(expected, (torch.from_numpy(x[:, place]), torch.from_numpy(t[:, place])))


def test_ordered_rows_begin_again_behind_the_last_one():
    rows = np.arange(10.0)[:, None]
    stream = OrderedStream(0, rows, -rows)
    for first in (0, 12):
        x, t = stream.draw(3, 4)
        assert x.flatten().tolist() == [place % 10 for place in range(first, first + 12)]
        assert torch.equal(t, -x)
