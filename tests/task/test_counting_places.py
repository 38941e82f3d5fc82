"""Orders in which digits are counted or added up."""

import numpy as np
import pytest

from stable_nalu.task.mnist_counting import fixed_places, training_places


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
