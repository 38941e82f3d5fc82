import math

import numpy as np
import pytest
import torch

from stable_nalu.dataset import SimpleFunctionStaticDataset

IN2 = {"input_size": 2, "subset_ratio": 0.5, "overlap_ratio": 0}
IN10 = {"input_size": 10, "subset_ratio": 0.1, "overlap_ratio": 0}
OFFSETS_IN10 = [5, 5, 8, 8, 7, 3, 3, 4, 3, 5, 4, 0, 6, 2, 8, 8, 5, 1, 3, 5, 3, 8, 5, 3, 2]
OFFSETS_IN100 = [44, 37, 40, 42, 58, 35, 10, 47, 3, 62, 9, 25, 11, 18, 43, 8, 41, 47, 42, 29]
OFFSETS_IN100 += [35, 9, 53, 19, 34]
FORK_SEEDS = {
    "in2": [
        (2357136044, 2546248239),
        (1791095845, 4282876139),
        (1872583848, 794921487),
        (2365658986, 303761048),
        (4153361530, 3868139694),
        (953453411, 236996814),
    ],
    "in10": [
        (3626093760, 2588848963),
        (4282876139, 3093770124),
        (794921487, 111352301),
        (3041471737, 3607553667),
        (741720773, 4177647489),
        (236996814, 3739766767),
    ],
    "in100": [
        (2546248239, 3071714933),
        (4282876139, 3093770124),
        (794921487, 111352301),
        (303761048, 3041471737),
        (3868139694, 2350344631),
        (236996814, 3739766767),
    ],
}
SIZES = {"in2": IN2, "in10": IN10, "in100": {}}


@pytest.mark.parametrize(
    ("sizes", "offsets", "width", "stride"),
    [(IN10, OFFSETS_IN10, 1, 1), ({}, OFFSETS_IN100, 25, 13), (IN2, [0] * 25, 1, 1)],
)
def test_offsets(sizes, offsets, width, stride):
    for seed, offset in enumerate(offsets):
        dataset = SimpleFunctionStaticDataset("add", **sizes, seed=seed)
        first, second = offset, offset + stride
        assert dataset.subset_ranges == [(first, first + width), (second, second + width)]


@pytest.mark.parametrize("name", SIZES)
def test_seeds_of_unseeded_forks(name):
    for seed, expected in enumerate(FORK_SEEDS[name]):
        dataset = SimpleFunctionStaticDataset("add", **SIZES[name], seed=seed)
        first = dataset.fork([1, 2])
        assert dataset.fork([1, 2], seed=43953907).seed == 43953907
        second = dataset.fork([1, 2])
        assert (first.seed, second.seed) == expected


@pytest.mark.parametrize(
    ("size", "ratio", "overlap", "subsets", "expected"),
    [
        (100, 0.29, 0.5, 1, (28, 0)),
        (100, 0.57, 0.5, 1, (56, 0)),
        (100, 0.25, 0.5, 2, (25, 13)),
        (100, 0.25, 1.0, 2, (25, 0)),
        (100, 0.25, 0.75, 5, (25, 7)),
        (4, 0.25, 0.5, 2, (1, 1)),
        (300, 0.25, 0.5, 2, (75, 38)),
    ],
)
def test_sizes_are_floors_of_binary_products(size, ratio, overlap, subsets, expected):
    ranges = SimpleFunctionStaticDataset(
        "add", size, subset_ratio=ratio, overlap_ratio=overlap, num_subsets=subsets, seed=3
    ).subset_ranges
    width, stride = expected
    assert [end - start for start, end in ranges] == [width] * subsets
    assert [b[0] - a[0] for a, b in zip(ranges, ranges[1:], strict=False)] == [stride] * (
        subsets - 1
    )
    assert ranges[0][0] >= 0
    assert ranges[-1][1] <= size


@pytest.mark.parametrize(
    ("operation", "subsets", "text"),
    [
        ("add", 2, "sum(v[44:69]) + sum(v[57:82])"),
        ("sub", 2, "sum(v[44:69]) - sum(v[57:82])"),
        ("mul", 2, "sum(v[44:69]) * sum(v[57:82])"),
        ("div", 2, "sum(v[44:69]) / sum(v[57:82])"),
        ("squared", 2, "sum(v[44:69])**2"),
        ("root", 2, "sqrt(sum(v[44:69]))"),
        ("reciprocal", 2, "1/(sum(v[44:69]))"),
    ],
)
def test_print_operation(operation, subsets, text):
    dataset = SimpleFunctionStaticDataset(operation, num_subsets=subsets, seed=0)
    assert dataset.print_operation() == text


def test_further_subsets_are_printed_only_where_they_count():
    def text(operation):
        sizes = {"subset_ratio": 0.1, "overlap_ratio": 0, "num_subsets": 3}
        return SimpleFunctionStaticDataset(operation, 30, **sizes, seed=0).print_operation()

    assert text("mul") == "sum(v[12:15]) * sum(v[15:18]) * sum(v[18:21])"
    assert text("div") == "sum(v[12:15]) / sum(v[15:18])"


TARGETS = {
    "add": lambda a: a[0] + a[1] + a[2],
    "sub": lambda a: a[0] - a[1],
    "mul": lambda a: a[0] * a[1] * a[2],
    "div": lambda a: a[0] / a[1],
    "squared": lambda a: a[0] ** 2,
    "root": lambda a: math.sqrt(a[0]) if a[0] >= 0 else math.nan,
    "reciprocal": lambda a: 1 / a[0],
}


@pytest.mark.parametrize("operation", TARGETS)
def test_targets_against_a_loop(operation):
    dataset = SimpleFunctionStaticDataset(
        operation, 20, subset_ratio=0.25, overlap_ratio=0.4, num_subsets=3, seed=1
    )
    x, t = np.empty((1, 50, 20)), np.empty((1, 50, 1))
    dataset.fork([-3, 2]).draw_into(x, t)
    for row, target in zip(x[0].tolist(), t.flatten().tolist(), strict=True):
        sums = [math.fsum(row[start:end]) for start, end in dataset.subset_ranges]
        assert target == pytest.approx(TARGETS[operation](sums), rel=1e-12, nan_ok=True)


def test_targets_without_guard():
    sizes = {"input_size": 1, "subset_ratio": 1, "overlap_ratio": 0, "num_subsets": 1}

    def target(operation, value):
        dataset = SimpleFunctionStaticDataset(operation, **sizes, seed=0)
        return dataset.fork([value, value])[0][1]

    assert torch.equal(target("reciprocal", 0), torch.tensor([math.inf]))
    assert torch.equal(target("reciprocal", 1e-40), torch.tensor([math.inf]))
    assert torch.isnan(target("root", -1)).all()


def test_targets_come_from_unrounded_inputs():
    x, t = SimpleFunctionStaticDataset("sub", **IN2, seed=0).fork([1.1, 1.2])[0:1000]
    assert not torch.equal(x[:, :1] - x[:, 1:], t)
    torch.testing.assert_close(x[:, :1] - x[:, 1:], t, atol=2.5e-7, rtol=0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"operation": "pow"}, "operation 'pow' is not one of add, sub"),
        ({"num_subsets": 7}, "take 103 inputs, but there are 100"),
        ({"subset_ratio": 0.3, "input_size": 2}, "leaves no element of 2 inputs"),
        ({"subset_ratio": 1.5}, "subset ratio must be in"),
        ({"subset_ratio": math.nan}, "subset ratio must be in"),
        ({"overlap_ratio": -0.1}, "overlap ratio in"),
        ({"overlap_ratio": 1.1}, "overlap ratio in"),
        ({"num_subsets": 0}, "must be at least 1"),
        ({"input_size": 0}, "must be at least 1"),
        ({"operation": "div", "num_subsets": 1}, "operation div needs 2 subsets, got 1"),
        ({"operation": "sub", "num_subsets": 1}, "operation sub needs 2 subsets, got 1"),
        ({"max_size": -1}, "size of a dataset"),
        ({"dist_params": ("cauchy", 1.0)}, "'cauchy' is not one of uniform, truncated-normal"),
        ({"dist_params": ("truncated-normal", 0.0, 1.0)}, "needs 4 numbers"),
        ({"dist_params": ("truncated-normal", 0.0, 0.0, 1.0, 1.0)}, "std of truncated-normal"),
        ({"dist_params": ("truncated-normal", math.inf, 1.0, 1.0, 1.0)}, "mean of truncated"),
        ({"dist_params": ("exponential",)}, "exponential needs 1 numbers"),
        ({"dist_params": ("exponential", -1.0)}, "scale of exponential cannot be -1.0"),
        ({"dist_params": ("benford", 1.0)}, "benford needs no numbers"),
    ],
)
def test_bad_datasets_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        SimpleFunctionStaticDataset(**{"operation": "add", "seed": 0} | arguments)


def test_a_refused_fork_does_not_move_the_parent():
    dataset = SimpleFunctionStaticDataset("add", **IN2, seed=0)
    with pytest.raises(ValueError, match="from low to high"):
        dataset.fork([2, 1])
    assert dataset.fork([1, 2]).seed == 2357136044


def test_without_a_seed_two_datasets_differ():
    first, second = (SimpleFunctionStaticDataset("add", **IN2) for _ in range(2))
    assert first.fork([1, 2]).seed != second.fork([1, 2]).seed
