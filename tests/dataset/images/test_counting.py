"""Sequences of digits to be counted or added up: targets and orders."""

import numpy as np
import pytest
import torch

from stable_nalu.dataset.images.counting import TASKS, fixed_places, training_places

LABELS = [[3, 0, 3], [9, 9, 1]]


def test_counts_and_sums_after_each_digit():
    counts = TASKS["count"](torch.tensor(LABELS))
    sums = TASKS["sum"](torch.tensor(LABELS))
    assert (counts.shape, sums.tolist()) == ((2, 3, 10), [[[3], [3], [6]], [[9], [18], [19]]])
    for row, labels in enumerate(LABELS):
        for step in range(3):
            seen = [labels[: step + 1].count(digit) for digit in range(10)]
            assert counts[row, step].tolist() == seen


def test_an_epoch_sees_each_image_once_in_an_order_of_its_own():
    first, second = (training_places(103, 10, 4, epoch) for epoch in (0, 1))
    assert first.shape == (10, 10)
    assert len(set(first.flatten())) == 100
    assert not np.array_equal(first, second)
    assert np.array_equal(first, training_places(103, 10, 4, 0))
    assert not np.array_equal(first, training_places(103, 10, 5, 0))


def test_tests_of_all_lengths_are_cut_from_one_order():
    ten, single = fixed_places(40, 10, 7, repeats=3), fixed_places(40, 1, 7, repeats=3)
    assert (ten.shape, single.shape) == ((12, 10), (120, 1))
    assert np.array_equal(ten.flatten(), single.flatten())
    assert all(len(set(part)) == 40 for part in ten.reshape(3, 40))
    assert np.array_equal(fixed_places(40, 100, 7, repeats=3)[0], ten.flatten()[:100])


def test_too_few_images():
    with pytest.raises(ValueError, match="40 images make no sequence of 41"):
        fixed_places(40, 41, 0)
