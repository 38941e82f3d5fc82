"""Samples beyond training: each exceeds it, none that does is left out, the work has a bound."""

import numpy as np
import pytest
import torch

from stable_nalu.dataset import exceeding
from stable_nalu.dataset.exceeding import ExceedingStream
from stable_nalu.dataset.simple_function import SimpleFunctionStaticDataset

SIZES = {"input_size": 10, "subset_ratio": 0.3}
COMBINED = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "squared": lambda a: a * a,
    "root": np.sqrt,
}


def values(dataset, operation, x):
    """Operands and target, one column each, from their definition."""
    sums = [x[:, start:end].sum(1) for start, end in dataset.subset_ranges]
    sums = sums[:1] if operation in ("squared", "root") else sums
    return np.stack([*sums, COMBINED[operation](*sums)], 1)


@pytest.mark.parametrize("operation", COMBINED)
def test_kept_are_those_samples_that_exceed_training(operation):
    dataset = SimpleFunctionStaticDataset(operation, seed=3, **SIZES)
    subject = ExceedingStream(dataset, [1, 2], [1, 2.5], seed=5)
    x, t = subject[0:3000]
    training, _ = dataset.fork([1, 2], seed=exceeding.TRAINING_SEED)[0:100_000]
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


def test_a_stream_goes_on_where_it_stood():
    dataset = SimpleFunctionStaticDataset("add", seed=0, **SIZES)
    subject = ExceedingStream(dataset, [1, 2], [2, 6], seed=5)
    plain = dataset.fork([2, 6], seed=5)
    first, second = subject[0:100][0], subject[0:100][0]
    assert torch.equal(first, plain[0:10_000][0][:100])
    assert not torch.equal(first, second)


def test_ranges_within_training_are_given_up_after_a_bounded_number_of_draws():
    dataset = SimpleFunctionStaticDataset("add", seed=0, **SIZES)
    subject = ExceedingStream(dataset, [1, 2], [1, 1.5], seed=5)
    with pytest.raises(ValueError, match="of 5,000 samples from the extrapolation range, 0 have"):
        subject[0:50]


def test_streams_share_rows_only_where_the_same_are_kept():
    keys = []
    for operation, training in (("add", [1, 2]), ("mul", [1, 2]), ("add", [1, 3]), ("add", [1, 2])):
        dataset = SimpleFunctionStaticDataset(operation, seed=0, **SIZES)
        subject = ExceedingStream(dataset, training, [2, 6], seed=5)
        keys.append((subject.inputs_key(), subject.targets_key()))
    assert keys[0] == keys[3]
    assert len({inputs for inputs, _ in keys}) == 3


def test_what_is_not_a_number_exceeds_nothing():
    dataset = SimpleFunctionStaticDataset("root", seed=0, **SIZES)
    subject = ExceedingStream(dataset, [-1, 1], [-1, 3], seed=5)
    x, t = subject[0:2000]
    (start, end), _ = dataset.subset_ranges
    assert bool((x[:, start:end].sum(1) > 2).all())
    assert bool(t.isfinite().all())
