"""Data sets against published numbers, loops and definitions, and samples that exceed training."""

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch

from stable_nalu.dataset.distribution import SampleRange, Uniform
from stable_nalu.dataset.simple_function import (
    TRAINING_SEED,
    ExceedingStream,
    FunctionTargets,
    SampleStream,
    SimpleFunctionRecurrentDataset,
    SimpleFunctionStaticDataset,
    draw_into,
    get_operation,
)

VALIDATION_SEED, TEST_SEED = 43953907, 8689336
IN1 = {"input_size": 1, "subset_ratio": 1, "overlap_ratio": 0, "num_subsets": 1}
IN2 = {"input_size": 2, "subset_ratio": 0.5, "overlap_ratio": 0}
IN10 = {"input_size": 10, "subset_ratio": 0.1, "overlap_ratio": 0}
IN100 = {}


def test_only_unseeded_forks_draw_from_the_dataset():
    found = []
    for seed in range(2):
        dataset = SimpleFunctionStaticDataset("add", **IN100, seed=seed)
        found.append(dataset.fork([1, 2]).seed)
        assert dataset.fork([1, 2], seed=VALIDATION_SEED).seed == VALIDATION_SEED
        with pytest.raises(ValueError, match="from low to high"):
            dataset.fork([2, 1])
        found.append(dataset.fork([1, 2]).seed)
    assert found == [2546248239, 3071714933, 4282876139, 3093770124]
    first, second = (SimpleFunctionStaticDataset("add", **IN2) for _ in range(2))
    assert first.fork([1, 2]).seed != second.fork([1, 2]).seed


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
    assert np.diff([start for start, _ in ranges]).tolist() == [stride] * (subsets - 1)
    assert 0 <= ranges[0][0] < ranges[-1][1] <= size


TARGETS = {
    "add": (lambda a: a[0] + a[1] + a[2], "sum(v[44:69]) + sum(v[57:82])"),
    "sub": (lambda a: a[0] - a[1], "sum(v[44:69]) - sum(v[57:82])"),
    "mul": (lambda a: a[0] * a[1] * a[2], "sum(v[44:69]) * sum(v[57:82])"),
    "div": (lambda a: a[0] / a[1], "sum(v[44:69]) / sum(v[57:82])"),
    "squared": (lambda a: a[0] ** 2, "sum(v[44:69])**2"),
    "root": (lambda a: math.sqrt(a[0]) if a[0] >= 0 else math.nan, "sqrt(sum(v[44:69]))"),
    "reciprocal": (lambda a: 1 / a[0], "1/(sum(v[44:69]))"),
}


@pytest.mark.parametrize("operation", TARGETS)
def test_targets_against_a_loop(operation):
    combined, text = TARGETS[operation]
    assert SimpleFunctionStaticDataset(operation, seed=0).print_operation() == text
    dataset = SimpleFunctionStaticDataset(
        operation, 20, subset_ratio=0.25, overlap_ratio=0.4, num_subsets=3, seed=1
    )
    # A third slice counts, and is named, where the operation takes any number.
    named = 3 if operation in ("add", "mul") else text.count("sum")
    assert dataset.print_operation().count("sum") == named
    x, t = np.empty((1, 50, 20)), np.empty((1, 50, 1))
    draw_into([dataset.fork([-3, 2])], x[:, None], t[:, None])
    for row, target in zip(x[0].tolist(), t.flatten().tolist(), strict=True):
        sums = [math.fsum(row[start:end]) for start, end in dataset.subset_ranges]
        assert target == pytest.approx(combined(sums), rel=1e-12, nan_ok=True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"operation": "pow"}, "operation 'pow' is not one of add, sub"),
        ({"num_subsets": 7}, "take 103 inputs, but there are 100"),
        ({"subset_ratio": 0.3, "input_size": 2}, "leaves no element of 2 inputs"),
        ({"operation": "div", "num_subsets": 1}, "operation div needs 2 subsets, got 1"),
    ],
)
def test_bad_datasets_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        SimpleFunctionStaticDataset(**{"operation": "add", "seed": 0} | arguments)


@dataclass
class Case:
    """A dataset, its two ranges, the input columns that are listed, and expected facts."""

    operation: str
    seed: int
    sizes: dict
    train_range: list
    test_range: list
    columns: list
    subsets: list
    child: int
    dist_params: tuple = ("uniform",)

    def batches(self):
        """First and second training batch, validation and test."""
        dataset = SimpleFunctionStaticDataset(
            self.operation, **self.sizes, seed=self.seed, dist_params=self.dist_params
        )
        train = dataset.fork(self.train_range)
        assert (dataset.subset_ranges, train.seed) == (self.subsets, self.child)
        valid = dataset.fork(self.train_range, seed=VALIDATION_SEED)
        further = self.dist_params == NORMAL
        test = dataset.fork(self.test_range, seed=TEST_SEED, use_extrapolation=further)
        yield from (("train1", train[0:128]), ("train2", train[128:256]))
        yield from (("valid", valid[0:10000]), ("test", test[0:10000]))


TWO = [(0, 1), (1, 2)]
MIRRORED = [[-6, -2], [2, 6]]
NORMAL = ("truncated-normal", -1.0, 3.0, -10.0, 3.0)
WIDE = [[-100, -50], [50, 100]]
HALVES = [[-2, -0.1], [0.1, 2], []]
CASES = {
    "A": Case("add", 0, IN100, [1, 2], [2, 6], [0, 1, 2], [(44, 69), (57, 82)], 2546248239),
    "B": Case("mul", 1, IN100, [-2, 2], MIRRORED, [0, 1, 2], [(37, 62), (50, 75)], 4282876139),
    "C": Case("mul", 0, IN2, [-2, 2], MIRRORED, [0, 1], TWO, 2357136044),
    "D": Case("div", 2, IN2, HALVES, [*MIRRORED, []], [0, 1], TWO, 1872583848),
    "E": Case(
        "div", 3, IN10, [-5, 10], [-15, -5], [0, 8, 9], [(8, 9), (9, 10)], 3041471737, NORMAL
    ),
    "F": Case(
        "div", 0, IN2, [10, 100], [100, 1000], [0, 1], TWO, 2357136044, dist_params=("benford",)
    ),
    "G": Case(
        "sub", 4, IN2, [1, 2], [2, 6], [0, 1], TWO, 4153361530, dist_params=("exponential", 0.5)
    ),
    "H": Case("reciprocal", 5, IN1, [0, 1e-4], [0, 1e-4], [0], [(0, 1)], 953453411),
    "I": Case("sub", 7, IN10, [-50, 50], WIDE, [0, 4, 5], [(4, 5), (5, 6)], 3349725721),
}


@pytest.mark.parametrize("name", CASES)
def test_published_rows_and_sums(name):
    """Numbers of the published generators, to the nine digits that identify a float32."""
    lines = (Path(__file__).parent / "worked_examples.csv").read_text().splitlines()
    examples = [line.split(",") for line in lines if line.startswith(f"{name},")]
    # The inverse of the normal distribution function differs between scipy versions.
    inexact = {"rtol": 1e-6, "atol": 0} if name == "E" else None
    for key, (x, t) in CASES[name].batches():
        assert x.dtype == t.dtype == torch.float32
        own = [(kind, [*map(float, numbers)]) for _, k, kind, *numbers in examples if k == key]
        *rows, sums = [numbers for _, numbers in own]
        assert [kind for kind, _ in own] == ["row"] * len(rows) + ["sums"]
        listed = torch.cat((x[:, CASES[name].columns], t), 1)[: len(rows)].numpy()
        np.testing.assert_allclose(listed, np.float32(rows), **inexact or {"rtol": 0})
        found = [x.double().sum().item(), t.double().sum().item()]
        np.testing.assert_allclose(found, sums, **inexact or {"rtol": 6e-9})


def test_simple_task():
    dataset = SimpleFunctionStaticDataset("mul", 100, simple=True, seed=0)
    stream = dataset.fork([1, 2])
    assert (dataset.get_input_size(), dataset.subset_ranges) == (4, [(0, 4), (0, 2)])
    assert stream.seed == 2357136044
    x, t = stream[0:2]
    rows = [
        [1.79416001, 1.15982461, 1.39078724, 1.93648517],
        [1.65650725, 1.55914998, 1.69575465, 1.11133242],
    ]
    assert torch.equal(x, torch.tensor(rows))
    assert torch.equal(t, torch.tensor([[18.5547371], [19.3670807]]))


def test_slices_of_sequences_follow_four_parent_draws():
    for seed in range(20):
        dataset = SimpleFunctionRecurrentDataset("mul", seed=seed)
        parent = np.random.RandomState(seed)
        overlap, a, b = parent.randint(1, 3), parent.randint(1, 6), parent.randint(1, 6)
        overlap = min(overlap, a, b)
        start = parent.randint(0, 10 - (a + b - overlap) + 1)
        middle = start + a - overlap
        assert dataset.subset_ranges == [(start, start + a), (middle, middle + b)]
        seeds = [parent.randint(0, 2**32 - 1) for _ in range(3)]
        assert [dataset.fork(length).seed for length in (10, 10, 1000)] == seeds


def test_published_sums_of_sequences():
    targets = FunctionTargets(get_operation("mul"), [(0, 5), (3, 8)])
    # The second draw of the parent; its first is the position.
    parent = np.random.RandomState(0)
    assert parent.randint(0, 3) == 0
    seed, span = int(parent.randint(0, 2**32 - 1)), SampleRange.parse([0, 1])
    x, t = SampleStream(seed, Uniform(), span, (3, 10), targets)[0:2]
    assert x.shape == (2, 3, 10)
    assert [f"{value:.9g}" for value in t.flatten().tolist()] == ["55.7404404", "63.7358246"]


SIZES = {"input_size": 10, "subset_ratio": 0.3}
COMBINED = {"div": np.divide, "squared": np.square}


def values(dataset, operation, x):
    """Operands and target, one column each, from their definition."""
    sums = [x[:, start:end].sum(1) for start, end in dataset.subset_ranges]
    sums = sums[:1] if operation == "squared" else sums
    return np.stack([*sums, COMBINED[operation](*sums)], 1)


@pytest.mark.parametrize("operation", COMBINED)
def test_kept_are_those_samples_that_exceed_training(operation):
    dataset = SimpleFunctionStaticDataset(operation, seed=3, **SIZES)
    subject = ExceedingStream(dataset, [1, 2], [1, 2.5], seed=5)
    x, t = subject[0:3000]
    training, _ = dataset.fork([1, 2], seed=TRAINING_SEED)[0:100_000]
    largest = values(dataset, operation, training.numpy().astype(float)).max(0)
    # In single precision, as the samples are handed out.
    tolerance = 1e-5 * np.maximum(1, np.abs(largest))
    kept = values(dataset, operation, x.numpy().astype(float))
    assert (kept > largest - tolerance).any(1).all()
    assert t.shape == (3000, 1)
    np.testing.assert_allclose(t[:, 0], kept[:, -1], rtol=1e-5, atol=1e-5)
    drawn, _ = dataset.fork([1, 2.5], seed=5)[0:10_000]
    exceeds = values(dataset, operation, drawn.numpy().astype(float)) > largest + tolerance
    expected = drawn[torch.from_numpy(exceeds.any(1))]
    kept_rows = {row.numpy().tobytes() for row in x}
    fitting = [row for row in expected[:1000] if row.numpy().tobytes() in kept_rows]
    assert len(fitting) == len(expected[:1000])
    assert 0.02 < len(expected) / 10_000 < 0.98
