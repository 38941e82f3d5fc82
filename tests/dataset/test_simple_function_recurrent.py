import math

import numpy as np
import pytest
import torch

from stable_nalu.dataset import SampleStream, SimpleFunctionRecurrentDataset
from stable_nalu.dataset.distribution import SampleRange, Uniform
from stable_nalu.dataset.legacy_random import LegacyRandom
from stable_nalu.dataset.sampling import Sampler
from stable_nalu.dataset.simple_function import FunctionTargets, draw_offset, get_operation


def test_slices_follow_four_parent_draws():
    for seed in range(200):
        dataset = SimpleFunctionRecurrentDataset("mul", seed=seed)
        parent = np.random.RandomState(seed)
        overlap, a, b = parent.randint(1, 3), parent.randint(1, 6), parent.randint(1, 6)
        overlap = min(overlap, a, b)
        start = parent.randint(0, 10 - (a + b - overlap) + 1)
        middle = start + a - overlap
        assert dataset.subset_ranges == [(start, start + a), (middle, middle + b)]
        seeds = [parent.randint(0, 2**32 - 1) for _ in range(3)]
        assert [dataset.fork(length).seed for length in (10, 10, 1000)] == seeds


def test_sums_over_time_and_slice():
    dataset = SimpleFunctionRecurrentDataset("mul", seed=2)
    x, t = dataset.fork(seq_length=6)[0:9]
    assert x.shape == (9, 6, 10)
    assert t.shape == (9, 1)
    assert x.min() >= 1
    assert x.max() <= 2
    (a, b), (c, d) = dataset.subset_ranges
    for sample, target in zip(x.double().numpy(), t.flatten().tolist(), strict=True):
        first, second = (math.fsum(sample[:, i:j].flatten()) for i, j in ((a, b), (c, d)))
        assert target == pytest.approx(first * second, rel=1e-6)


def test_published_sums_of_sequences():
    parent = LegacyRandom(0)
    subsets = draw_offset(parent, [(0, 5), (3, 8)], 10)
    assert subsets == [(0, 5), (3, 8)]
    seed = int(parent.integers(0, 2**32 - 1))
    sampler = Sampler(Uniform(), SampleRange.parse([0, 1]), (3, 10))
    stream = SampleStream(seed, sampler, FunctionTargets(get_operation("mul"), subsets), 100)
    x, t = stream[0:2]
    assert x.shape == (2, 3, 10)
    assert [f"{value:.9g}" for value in t.flatten().tolist()] == ["55.7404404", "63.7358246"]


def test_blocks_equal_successive_batches():
    def stream():
        return SimpleFunctionRecurrentDataset("add", seed=1).fork(seq_length=7)

    x, t = stream().draw(4, 5)
    one_by_one = stream()
    for i in range(4):
        batch_x, batch_t = one_by_one[0:5]
        assert torch.equal(batch_x, x[i])
        assert torch.equal(batch_t, t[i])


def test_simple_task():
    dataset = SimpleFunctionRecurrentDataset("add", simple=True, seed=0)
    assert dataset.get_input_size() == 4
    assert dataset.print_operation() == "sum(v[0:4]) + sum(v[0:2])"
    assert dataset.fork().seed == 2357136044


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"vector_size": 8}, "can take 9 inputs, but there are 8"),
        ({"min_subset_length": 0}, "lengths of at least 1"),
        ({"max_subset_length": 0}, "lengths of at least 1"),
        ({"min_subset_overlap": 3}, "minimum and maximum"),
    ],
)
def test_bad_sizes(arguments, message):
    with pytest.raises(ValueError, match=message):
        SimpleFunctionRecurrentDataset("add", seed=0, **arguments)


def test_bad_length():
    with pytest.raises(ValueError, match="at least one step"):
        SimpleFunctionRecurrentDataset("add", seed=0).fork(seq_length=0)
