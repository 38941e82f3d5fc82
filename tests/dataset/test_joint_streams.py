"""Streams drawn together give what each gives alone."""

import numpy as np
import pytest
import torch

from stable_nalu.dataset import SimpleFunctionStaticDataset
from stable_nalu.dataset.joint_streams import JointStreams, join

NORMAL = ("truncated-normal", 1.0, 3.0, 10.0, 3.0)
BATCHES, BATCH, INPUTS = 3, 5, 4


def fork(seed, sample_range, operation="mul", dist_params=("uniform",)):
    dataset = SimpleFunctionStaticDataset(
        operation, INPUTS, subset_ratio=0.5, overlap_ratio=0, seed=seed, dist_params=dist_params
    )
    return dataset.fork(sample_range)


def members():
    return [
        fork(0, [1, 2]),
        fork(1, [1, 2]),
        fork(0, [-20, -10]),
        fork(0, [[-6, -2], [2, 6]]),
        fork(1, [0.1, 0.2], operation="div"),
        fork(0, [0.5, 4], dist_params=NORMAL),
        fork(0, [1, 2], dist_params=("exponential", 0.5)),
    ]


def buffers(count):
    shape = (BATCHES, count, BATCH, INPUTS)
    return np.empty(shape, np.float32), np.empty((*shape[:3], 1), np.float32)


def draw_jointly(groups, count):
    x, t = buffers(count)
    for streams in groups:
        streams.draw_into(x, t)
    return x, t


def draw_alone(streams):
    x, t = buffers(len(streams))
    for k, stream in enumerate(streams):
        stream.draw_into(x[:, k], t[:, k])
    return x, t


def test_streams_of_one_seed_are_joined():
    assert [group.places for group in join(members())] == [[0, 2, 5], [1, 4], [3], [6]]


def test_streams_at_different_places_are_not():
    first, second = fork(0, [1, 2]), fork(0, [1, 2])
    second.draw(1, BATCH)
    assert [group.places for group in join([first, second])] == [[0], [1]]


@pytest.mark.parametrize("block", [1, 2 * BATCH * INPUTS, 2**16])
def test_numbers_are_those_of_each_stream_alone(monkeypatch, block):
    monkeypatch.setattr("stable_nalu.dataset.stream.BLOCK_ELEMENTS", block)
    groups, alone = join(members()), members()
    for _ in range(2):
        joint = draw_jointly(groups, len(alone))
        for actual, expected in zip(joint, draw_alone(alone), strict=True):
            np.testing.assert_array_equal(actual, expected)


def test_one_stream_alone():
    x, t = buffers(1)
    JointStreams([fork(3, [1, 2])], [0]).draw_into(x, t)
    expected = fork(3, [1, 2]).draw(BATCHES, BATCH)
    assert torch.equal(torch.from_numpy(x[:, 0]), expected[0])
    assert torch.equal(torch.from_numpy(t[:, 0]), expected[1])
