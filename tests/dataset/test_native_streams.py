"""Samples written by compiled code are those of each stream alone, to the last bit."""

import shutil

import numpy as np
import pytest
import torch

from stable_nalu import native
from stable_nalu.dataset import (
    SimpleFunctionRecurrentDataset,
    SimpleFunctionStaticDataset,
    joint_streams,
)
from stable_nalu.dataset.joint_streams import NativeStreams, by_compiled_code, join

BATCHES, BATCH = 3, 37
RANGES = ([1, 2], [-20, -10], [-2, 2], [0.1, 0.2], [1.1, 1.2])


@pytest.fixture(autouse=True)
def _loaded(monkeypatch):
    monkeypatch.setattr(native, "_library", None)
    if not shutil.which("g++"):
        pytest.skip("no C++ compiler")
    assert native.load()


def fork(seed, sample_range, operation, inputs=10, **keywords):
    keywords = {"subset_ratio": 0.1, "overlap_ratio": 0.0, **keywords}
    return SimpleFunctionStaticDataset(operation, inputs, seed=seed, **keywords).fork(sample_range)


def plan(operation, **keywords):
    return [fork(seed, r, operation, **keywords) for seed in range(3) for r in RANGES]


def buffers(runs, inputs, *, batch_last=False, dtype=torch.float32):
    last = (inputs, BATCH) if batch_last else (BATCH, inputs)
    x = torch.full((BATCHES, runs, *last), -1.0, dtype=dtype)
    t = torch.full((BATCHES, runs, BATCH, 1), -1.0, dtype=dtype)
    return (x.mT if batch_last else x).numpy(), t.numpy()


def quick(streams, inputs, **keywords):
    return by_compiled_code(join(streams), *buffers(len(streams), inputs, **keywords))


def assert_as_alone(streams, alone, inputs, *, steps=(), **keywords):
    for _ in range(2):
        x, t = buffers(len(alone), inputs, **keywords)
        x = x.reshape(*x.shape[:-1], *steps, -1)
        for group in streams:
            group.draw_into(x, t)
        for run, stream in enumerate(alone):
            expected_x, expected_t = stream.draw(BATCHES, BATCH)
            assert x[:, run].tobytes() == expected_x.numpy().tobytes()
            assert t[:, run].tobytes() == expected_t.numpy().tobytes()


@pytest.mark.parametrize("batch_last", [False, True])
@pytest.mark.parametrize("operation", ["add", "sub", "mul", "div"])
@pytest.mark.parametrize(
    ("inputs", "shape"),
    [
        (2, {"subset_ratio": 0.5}),
        (10, {}),
        (10, {"subset_ratio": 0.3, "overlap_ratio": 0.5}),
        (4, {"simple": True}),
        (100, {"subset_ratio": 0.25, "overlap_ratio": 0.5}),
    ],
)
def test_numbers_are_those_of_each_stream_alone(operation, inputs, shape, batch_last):
    def streams():
        return plan(operation, inputs=inputs, **shape)

    drawn = quick(streams(), inputs, batch_last=batch_last)
    assert [type(group) for group in drawn] == [NativeStreams]
    assert_as_alone(drawn, streams(), inputs, batch_last=batch_last)


@pytest.mark.parametrize("operation", ["add", "mul"])
def test_three_operands(operation):
    drawn = quick(plan(operation, num_subsets=3), 10)
    assert [type(group) for group in drawn] == [NativeStreams]
    assert_as_alone(drawn, plan(operation, num_subsets=3), 10)


@pytest.mark.parametrize("length", [1, 2, 10, 25])
def test_sequences_are_those_of_each_stream_alone(length):
    def streams():
        datasets = [SimpleFunctionRecurrentDataset("mul", seed=seed) for seed in range(3)]
        return [dataset.fork(length, [-1, 2]) for dataset in datasets]

    x, t = buffers(3, length * 10)
    drawn = by_compiled_code(join(streams()), x.reshape(BATCHES, 3, BATCH, length, 10), t)
    assert [type(group) for group in drawn] == [NativeStreams]
    assert_as_alone(drawn, streams(), length * 10, steps=(length,))


def test_sums_are_numpys_to_the_last_bit_of_float64():
    library = native.library()
    values = np.random.RandomState(5).random_sample((1000, 128))
    for length in (1, 7, 8, 9, 15, 16, 25, 127, 128):
        sums = np.empty(1000)
        library.sum_inputs(values.ctypes.data, 1000, 128, 0, length, sums.ctypes.data)
        assert np.array_equal(sums, values[:, :length].sum(axis=1))


def test_what_does_not_suit_is_left_to_numpy():
    def streams():
        return [
            fork(0, [1, 2], "mul"),
            fork(0, [[-6, -2], [2, 6]], "mul"),
            fork(1, [-5, 10], "mul", dist_params=("truncated-normal", -1.0, 3.0, -10.0, 3.0)),
            fork(1, [1, 2], "mul"),
            fork(2, [1, 2], "mul", dist_params=("exponential", 0.5)),
            fork(3, [1, 2], "squared"),
            fork(4, [1, 2], "add"),
        ]

    drawn = quick(streams(), 10)
    native_one, *others = drawn
    assert isinstance(native_one, NativeStreams)
    assert [group.places for group in native_one.groups] == [[0]]
    assert sorted(place for group in others for place in group.places) == [1, 2, 3, 4, 5, 6]
    assert_as_alone(drawn, streams(), 10)


def test_sums_longer_than_checked_are_left_to_numpy():
    streams = [fork(0, [1, 2], "add", inputs=300, subset_ratio=0.5)]
    assert not any(isinstance(group, NativeStreams) for group in quick(streams, 300))


def test_double_precision_is_left_to_numpy():
    groups = join(plan("mul"))
    assert by_compiled_code(groups, *buffers(15, 10, dtype=torch.float64)) is groups


def test_other_numbers_are_left_to_numpy(monkeypatch):
    # As if the compiled code mistook one operation for another.
    monkeypatch.setattr(joint_streams, "OPERATIONS", ("add", "mul", "sub", "div"))
    drawn = quick(plan("mul"), 10)
    assert not any(isinstance(group, NativeStreams) for group in drawn)
    assert_as_alone(drawn, plan("mul"), 10)


def test_the_check_draws_from_copies():
    streams = plan("mul")
    quick(streams, 10)
    expected = plan("mul")[0].draw(1, BATCH)
    assert torch.equal(streams[0].draw(1, BATCH)[0], expected[0])


def test_skipping_moves_all():
    drawn, alone = quick(plan("div"), 10), plan("div")
    for stream in (*drawn, *alone):
        stream.skip(7, BATCH)
    assert_as_alone(drawn, alone, 10)
