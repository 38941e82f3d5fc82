"""Pictures of several digits: how many, where, what they add up to, and streams of them."""

import os
from pathlib import Path

import numpy as np
import pytest
import torch

from stable_nalu.dataset.images import (
    EvenDigitPictures,
    ImageCorpus,
    Placement,
    TrainingStream,
    load_subset,
)
from tests.digit_images import images

MNIST = os.environ.get("STABLE_NALU_MNIST")


def made_up(placement=None, count=50):
    """Pictures of random bytes that are labelled in turn."""
    corpus = ImageCorpus(images(count, 28, 28), np.arange(count) % 10)
    return EvenDigitPictures(corpus, placement or Placement())


def theory(most=5):
    """The sum over equally likely numbers of digits, each even with probability 1/2."""
    k = np.arange(most + 1)
    binomial = np.array([[float(np.prod((n - np.arange(e)) / (1 + np.arange(e)))) for e in k]
                         for n in k])  # fmt: skip
    return (binomial / 2.0 ** k[:, None]).mean(0)


def test_numbers_of_even_digits_are_as_likely_as_they_should_be():
    assert theory()[0] == pytest.approx(0.328, abs=5e-4)
    assert theory().sum() == pytest.approx(1)
    pictures = made_up()
    labels = pictures.labels(pictures.draw(np.random.default_rng(0), 20_000))
    np.testing.assert_allclose(np.bincount(labels) / 20_000, theory(), atol=0.01)


@pytest.mark.skipif(MNIST is None, reason="STABLE_NALU_MNIST names no folder of MNIST")
def test_so_they_are_of_mnist():
    pictures = EvenDigitPictures(
        load_subset("mnist", "mnist", "test", Path(MNIST or "")), Placement()
    )
    labels = pictures.labels(pictures.draw(np.random.default_rng(0), 20_000))
    np.testing.assert_allclose(np.bincount(labels) / 20_000, theory(), atol=0.02)


@pytest.mark.parametrize("placement", [Placement(), Placement(60, 3, 14), Placement(29, 2, 0)])
def test_where_digits_lie(placement):
    layouts = placement.draw(np.random.default_rng(1), 3000, 7)
    shares = np.bincount(layouts.count, minlength=placement.most + 1) / 3000
    np.testing.assert_allclose(shares, 1 / (placement.most + 1), atol=0.04)
    assert set(layouts.digit.ravel()) == set(range(7))
    there = np.arange(placement.most) < layouts.count[:, None]
    corners = layouts.corner[there]
    assert (corners.min(), corners.max()) == (0, placement.size - 29)
    for k in range(2, placement.most + 1):
        sets = layouts.corner[layouts.count == k, :k]
        apart = np.sqrt(((sets[:, None] - sets[:, :, None]) ** 2).sum(-1))
        apart[:, range(k), range(k)] = np.inf
        assert apart.min() >= placement.apart


def test_pictures_are_those_of_a_plain_loop():
    placement = Placement(60, 4, 10)
    pictures = made_up(placement)
    layouts = pictures.draw(np.random.default_rng(2), 40)
    painted, labels = pictures.paint(layouts), pictures.labels(layouts)
    corpus = images(50, 28, 28).astype(int)
    for n in range(40):
        canvas, even = np.zeros((60, 60), int), 0
        for j in range(layouts.count[n]):
            (y, x), digit = layouts.corner[n, j], layouts.digit[n, j]
            canvas[y : y + 28, x : x + 28] += corpus[digit]
            even += digit % 10 % 2 == 0
        assert np.array_equal(painted[n], canvas.clip(0, 255))
        assert labels[n] == even
    x, t = pictures.batch(layouts)
    assert (x.dtype, t.dtype) == (torch.float32, torch.int64)
    assert np.array_equal(x.numpy(), painted.astype(np.float32) / np.float32(127.5) - 1)
    assert (float(x.min()), float(x.max())) == (-1, 1)


def test_where_no_digits_fit():
    assert Placement(100, 5, 28).fits()
    assert Placement(29, 1, 1000).fits()
    assert not Placement(28, 1, 0).fits()
    assert not Placement(100, 5, 60).fits()
    with pytest.raises(ValueError, match="no 2 digits 2 pixels apart"):
        Placement(29, 2, 2).draw(np.random.default_rng(0), 9, 1)


def test_a_stream_is_found_from_the_number_of_an_update():
    pictures = made_up()
    stream = TrainingStream(pictures, 3, 2)
    in_order = [stream.batch(update) for update in range(130)]
    for update in (129, 64, 63, 0):
        x, t = TrainingStream(pictures, 3, 2).batch(update)
        assert torch.equal(x, in_order[update][0])
        assert torch.equal(t, in_order[update][1])
    # The second block is drawn by NumPy's generator of (seed, 1).
    drawn = pictures.draw(np.random.default_rng((3, 1)), 2 * 64)
    assert torch.equal(in_order[64][0], pictures.batch(drawn.rows(slice(0, 2)))[0])
    other = TrainingStream(pictures, 4, 2).batch(0)
    assert not torch.equal(other[0], in_order[0][0])
    assert len({x.numpy().tobytes() for x, _ in in_order}) > 125


@pytest.mark.parametrize("count", [3, 7])
def test_pictures_that_are_shown_again(count):
    """Batches of 4 of so many pictures: every epoch has each once, in an order of its own."""
    stream = TrainingStream(made_up(), 5, 4, train_images=count)
    rows = [row.numpy().tobytes() for update in range(21) for row in stream.batch(update)[0]]
    epochs = [rows[k : k + count] for k in range(0, len(rows) - count + 1, count)]
    assert len({tuple(epoch) for epoch in epochs}) > 1
    for epoch in epochs:
        assert sorted(epoch) == sorted(epochs[0])
    # By NumPy's generators of (seed, 0), and of (seed, 1 + epoch).
    drawn = made_up().draw(np.random.default_rng((5, 0)), count)
    second = np.random.default_rng((5, 2)).permutation(count)
    painted = made_up().batch(drawn.rows(second))[0]
    assert [row.numpy().tobytes() for row in painted] == epochs[1]
    again = TrainingStream(made_up(), 5, 4, train_images=count)
    assert torch.equal(again.batch(20)[0], stream.batch(20)[0])
